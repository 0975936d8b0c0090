// Families of device work: calls, time from begin to end, busy time inside, invalid samples, round trips.
#include "lapwing/families.hpp"

#include <gtest/gtest.h>

#include <random>

#include "lapwing/device_spans.hpp"
#include "lapwing/round_trip.hpp"
#include "unit/sim_ring.hpp"

namespace lapwing::testing {
namespace {

struct Families : SimRing {
    void SetUp() override {
        SimRing::SetUp();
        begin({});
    }
    void begin(const SimOptions& options) {
        start(options, {}, 0);
        spans = std::make_unique<DeviceSpanCollector<SimBackend>>(*ring, view,
                                                                  DeviceInfo{.id = 1, .api = "sim", .name = "sim"});
        queue = spans->add_queue({0}, "queue 0").value();
        families = std::make_unique<FamilySpans<SimBackend>>(*ring);
    }
    // The simulation's mark takes 100 ticks of 1 ns.
    void pass(Family family, uint64_t ticks) {
        const FamilyToken token = families->begin(queue, family);
        sim->advance(ticks - 100);
        families->end(token);
    }
    [[nodiscard]] FamilyTiming timing(Family family) const { return view.snapshot()[static_cast<std::size_t>(family)]; }

    FamilyView view;
    std::unique_ptr<DeviceSpanCollector<SimBackend>> spans;
    std::unique_ptr<FamilySpans<SimBackend>> families;
    uint32_t queue = 0;
};

TEST_F(Families, NamesGoThereAndBackAndOthersAreRefused) {
    const std::vector<std::string> expected{"embedding", "gemm", "attention", "fused_block", "output_topk"};
    for (uint32_t family = 0; family < kBuiltInFamilies; ++family) {
        EXPECT_EQ(to_text(static_cast<Family>(family)), expected[family]);
        EXPECT_EQ(parse_family(expected[family]).value(), static_cast<Family>(family));
        EXPECT_EQ(view.snapshot()[family].family, expected[family]);
    }
    for (const char* bad : {"", "Gemm", " gemm", "gemm2", "GEMM"}) {
        ASSERT_FALSE(parse_family(bad).ok()) << bad;
        EXPECT_NE(parse_family(bad).error().message.find("FamilySpans::add"), std::string::npos);
    }
}

TEST_F(Families, AddsUpCallsAndTimeOfSinglePasses) {
    pass(Family::kGemm, 1000);
    pass(Family::kAttention, 300);
    pass(Family::kGemm, 500);
    EXPECT_FALSE(view.any_recorded()) << "nothing is known before it is harvested";
    ASSERT_TRUE(spans->harvest().ok());
    EXPECT_TRUE(view.any_recorded());
    const FamilyTiming gemm = timing(Family::kGemm);
    EXPECT_EQ(gemm.calls, 2u);
    EXPECT_EQ(gemm.total_ns, 1500);
    EXPECT_EQ(gemm.busy_ns, 1500);
    EXPECT_EQ(gemm.min_ns, 500);
    EXPECT_EQ(gemm.max_ns, 1000);
    EXPECT_DOUBLE_EQ(gemm.micros(), 1.5);
    EXPECT_EQ(timing(Family::kAttention).total_ns, 300);
    EXPECT_EQ(timing(Family::kEmbedding).calls, 0u);
}

TEST_F(Families, SeveralPassesAreOneCallWithItsBusyTimeInside) {
    const FamilyToken block = families->begin(queue, Family::kFusedBlock, Passes::kSeveral);
    for (const uint64_t ticks : {400u, 700u}) {
        const FamilyToken one = families->begin_pass(block);
        sim->advance(ticks - 100);
        families->end_pass(one);
        sim->advance(1000);    // a gap: the device has nothing to do
    }
    families->end(block);
    ASSERT_TRUE(spans->harvest().ok());
    const FamilyTiming fused = timing(Family::kFusedBlock);
    EXPECT_EQ(fused.calls, 1u);
    EXPECT_EQ(fused.busy_ns, 1100);
    // Begin and end of the whole, and the marks of the passes, lie between.
    EXPECT_EQ(fused.total_ns, 400 + 700 + 2 * 1000 + 3 * 100);
}

TEST_F(Families, KernelSpansInsideCountAsBusyToo) {
    const FamilyToken whole = families->begin(queue, Family::kAttention, Passes::kSeveral);
    span(process_site(Site{.label = "", .op = "softmax", .kernel = "", .note = ""}), 250, queue);
    families->end(whole);
    ASSERT_TRUE(spans->harvest().ok());
    EXPECT_EQ(timing(Family::kAttention).busy_ns, 250);
}

TEST_F(Families, ManyAreInFlightAtOnce) {
    sim->hold(true);
    for (int i = 0; i < 300; ++i) pass(Family::kGemm, 200);
    ASSERT_TRUE(spans->harvest().ok());
    EXPECT_EQ(timing(Family::kGemm).calls, 0u);
    sim->hold(false);
    ASSERT_TRUE(spans->harvest().ok());
    EXPECT_EQ(timing(Family::kGemm).calls, 300u);
    EXPECT_EQ(timing(Family::kGemm).total_ns, 300 * 200);
    EXPECT_EQ(timing(Family::kGemm).invalid, 0u);
}

// Q counts a reversed pair as a call of 0 ns.
TEST_F(Families, InvalidSamplesStandApartAndAreNoCalls) {
    pass(Family::kGemm, 500);
    sim->script(SimFault::kZero, 2);
    pass(Family::kGemm, 500);
    sim->set_capturing({0}, true);
    pass(Family::kGemm, 500);
    sim->set_capturing({0}, false);
    pass(Family::kGemm, 500);
    ASSERT_TRUE(spans->harvest().ok());
    const FamilyTiming gemm = timing(Family::kGemm);
    EXPECT_EQ(gemm.calls, 2u);
    EXPECT_EQ(gemm.total_ns, 1000);
    EXPECT_EQ(gemm.invalid, 2u);
}

TEST_F(Families, ResetForgetsSamplesAndWhatIsInFlightLandsAfterIt) {
    pass(Family::kGemm, 500);
    ASSERT_TRUE(spans->harvest().ok());
    pass(Family::kGemm, 700);
    view.reset();
    EXPECT_FALSE(view.any_recorded());
    ASSERT_TRUE(spans->harvest().ok());
    EXPECT_EQ(timing(Family::kGemm).calls, 1u);
    EXPECT_EQ(timing(Family::kGemm).min_ns, 700);
    EXPECT_EQ(timing(Family::kGemm).invalid, 0u);
}

TEST_F(Families, DisabledNothingIsMarkedAndASpanThatWasBegunStillEnds) {
    const FamilyToken open = families->begin(queue, Family::kGemm);
    const uint64_t before = sim->marks();
    families->set_enabled(false);
    EXPECT_FALSE(families->enabled());
    pass(Family::kGemm, 500);
    families->end_pass(families->begin_pass(families->begin(queue, Family::kGemm, Passes::kSeveral)));
    EXPECT_EQ(sim->marks(), before);
    families->end(open);
    families->set_enabled(true);
    set_level(Level::kLane);
    EXPECT_FALSE(families->enabled()) << "the level decides as well";
    pass(Family::kGemm, 500);
    ASSERT_TRUE(spans->harvest().ok());
    EXPECT_EQ(timing(Family::kGemm).calls, 1u);
}

TEST_F(Families, FamiliesOfTheProgramsOwnHaveNames) {
    const Result<uint32_t> mine = families->add("speculative");
    ASSERT_TRUE(mine.ok());
    EXPECT_FALSE(families->add("speculative").ok());
    EXPECT_FALSE(families->add("gemm").ok());
    EXPECT_FALSE(families->add("").ok());
    for (uint32_t family = kBuiltInFamilies + 1; family < kMaxFamilies; ++family)
        ASSERT_TRUE(families->add("family " + std::to_string(family)).ok());
    EXPECT_EQ(families->add("one too many").error().code, Errc::kExhausted);
    const FamilyToken token = families->begin(queue, mine.value());
    families->end(token);
    families->end(families->begin(queue, 99));
    EXPECT_EQ(families->unknown_families(), 1u);
    ASSERT_TRUE(spans->harvest().ok());
    ASSERT_EQ(view.snapshot().size(), kBuiltInFamilies + 1);
    EXPECT_EQ(view.snapshot().back().family, "speculative");
    EXPECT_EQ(view.snapshot().back().calls, 1u);
}

TEST_F(Families, EndedTwiceIsRefusedAndCounted) {
    const FamilyToken token = families->begin(queue, Family::kGemm);
    families->end(token);
    families->end(token);
    EXPECT_EQ(ring->stats().refused_tokens, 1u);
    ASSERT_TRUE(spans->harvest().ok());
    EXPECT_EQ(timing(Family::kGemm).calls, 1u);
}

// Against a model that knows every interval.
TEST_F(Families, BusyTimeIsTheUnionOfTheWorkInside) {
    std::mt19937 random(7);
    for (int round = 0; round < 300; ++round) {
        int64_t busy = 0;
        const FamilyToken whole = families->begin(queue, Family::kFusedBlock, Passes::kSeveral);
        const int passes = static_cast<int>(random() % 6);
        for (int i = 0; i < passes; ++i) {
            const uint64_t ticks = 100 + random() % 5000;
            sim->advance(random() % 3000);
            const FamilyToken one = families->begin_pass(whole);
            sim->advance(ticks - 100);
            families->end_pass(one);
            busy += static_cast<int64_t>(ticks);
        }
        families->end(whole);
        const FamilyTiming before = timing(Family::kFusedBlock);
        ASSERT_TRUE(spans->harvest().ok());
        const FamilyTiming after = timing(Family::kFusedBlock);
        ASSERT_EQ(after.calls, before.calls + 1);
        ASSERT_EQ(*after.busy_ns - *before.busy_ns, busy);
    }
}

TEST(FenceShare, VerdictFollowsTheShareOfWaits) {
    const RoundTrip trip{.count = 10, .mean_ns = 100, .p50_ns = 100, .min_ns = 90};
    EXPECT_EQ(fence_share(trip, 6, 1000).verdict, SyncVerdict::kSyncBound);
    EXPECT_EQ(fence_share(trip, 5, 1000).verdict, SyncVerdict::kMixed);
    EXPECT_EQ(fence_share(trip, 5, 2000).verdict, SyncVerdict::kComputeBound);
    EXPECT_DOUBLE_EQ(fence_share(trip, 5, 1000).share, 0.5);
    EXPECT_EQ(fence_share({}, 5, 1000).verdict, SyncVerdict::kUnknown);
    EXPECT_EQ(fence_share(trip, 5, 0).verdict, SyncVerdict::kUnknown);
    EXPECT_STREQ(to_text(SyncVerdict::kSyncBound), "sync-bound");
}

TEST(RoundTripBaseline, LeavesTheFirstOutAndReportsAFailure) {
    int64_t now_ns = 0;
    int calls = 0;
    const auto clock = [&] { return HostNs{now_ns}; };
    const auto trip = [&]() -> Status {
        now_ns += calls++ == 0 ? 1'000'000 : 100 * calls;
        return {};
    };
    const Result<RoundTrip> measured = measure_round_trip(3, trip, clock);
    ASSERT_TRUE(measured.ok());
    EXPECT_EQ(measured.value().count, 3u);
    EXPECT_DOUBLE_EQ(measured.value().mean_ns, 300);
    EXPECT_DOUBLE_EQ(measured.value().p50_ns, 300);
    EXPECT_DOUBLE_EQ(measured.value().min_ns, 200);
    EXPECT_FALSE(measure_round_trip(0, trip, clock).ok());
    const auto fails = []() -> Status { return Error{Errc::kDeviceLost, -4, "vkQueueSubmit: the device is lost"}; };
    EXPECT_EQ(measure_round_trip(3, fails, clock).error().code, Errc::kDeviceLost);
}

}    // namespace
}    // namespace lapwing::testing
