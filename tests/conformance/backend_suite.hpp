// What every backend must do under a DeviceRing, as one typed suite.
//
// To run it on a backend, write a harness and instantiate the suite with it:
//
//     struct MyHarness {
//         using BackendType = MyBackend;
//         MyHarness();                            // makes a device and the backend on it
//         std::string why_not() const;            // "" or why there is no such device here: every test is then skipped
//         BackendType& backend();
//         BackendType::Queue queue();             // a queue with timestamps; always the same one
//         DeviceRingOptions options();            // what its rings need, `now` above all where host time is scripted
//         HostNs now();                           // the host clock that `options()` names
//
//         void begin(uint32_t max_marks);         // marks may be made from here on (a command buffer is opened) ...
//         void work();                            // a little device work between two marks
//         void submit();                          // ... until here; what was marked is now on its way
//         void finish();                          // returns when all that was submitted is complete
//
//         static constexpr bool kCanWithhold;     // whether stamps are certain to be pending before finish()
//         static constexpr uint32_t kMaxMarks;    // marks that fit between begin() and submit(); >= 32
//         uint64_t blocking_calls() const;        // calls that wait for the device, made by the backend so far
//     };
//     INSTANTIATE_TYPED_TEST_SUITE_P(Mine, BackendSuite, MyHarness);
//
// Where kCanWithhold is true, submit() alone must not let stamps become ready: hold the device, or submit in finish().
// A backend without some ability skips the tests of it and says why; what it has is never skipped.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "lapwing/device_ring.hpp"
#include "lapwing/level.hpp"

namespace lapwing::testing {

template <class Harness>
class BackendSuite : public ::testing::Test {
protected:
    using BackendType = typename Harness::BackendType;
    static constexpr TrackId kTrack = 5;
    static_assert(Backend<BackendType>);
    static_assert(Harness::kMaxMarks >= 32, "the tests mark up to 24 times between begin() and submit()");

    void SetUp() override {
        set_level(Level::kKernel);
        if (!harness.why_not().empty()) GTEST_SKIP() << harness.why_not();
        make_ring(harness.options());
    }
    void TearDown() override {
        if (ring != nullptr) {
            harness.finish();
            ring->abandon_all();
            const DeviceRingStats stats = ring->stats();
            EXPECT_EQ(stats.begun, stats.recorded + stats.lost.total()) << "spans lost in silence";
            EXPECT_EQ(harness.blocking_calls(), 0u) << "the backend waited for the device";
        }
        ring.reset();
        set_level(Level::kOff);
    }

    void make_ring(const DeviceRingOptions& options) {
        ring.reset();
        ring = std::make_unique<DeviceRing<BackendType>>(harness.backend(), options);
        const Result<uint32_t> queue = ring->add_queue(harness.queue(), kTrack);
        ASSERT_TRUE(queue.ok()) << queue.error().message;
        ASSERT_EQ(*queue, 0u);
    }
    // A ring that is full after eight spans.
    void make_small_ring() {
        DeviceRingOptions options = harness.options();
        options.initial_spans = options.max_spans = 8;
        make_ring(options);
    }
    void span(SiteId site) {
        const DeviceToken token = ring->begin(0, site);
        harness.work();
        ring->end(0, token);
    }
    std::vector<SpanRecord> harvest() {
        std::vector<SpanRecord> out(256);
        out.resize(ring->harvest(out));
        return out;
    }
    std::vector<SpanRecord> complete() {
        harness.submit();
        harness.finish();
        return harvest();
    }

    Harness harness;
    std::unique_ptr<DeviceRing<BackendType>> ring;
};

inline int64_t end_ns(const SpanRecord& span) {
    return span.begin_ns + span.duration_ns;
}

TYPED_TEST_SUITE_P(BackendSuite);

TYPED_TEST_P(BackendSuite, CapsAreConsistent) {
    const Caps caps = this->ring->info(0).caps;
    EXPECT_TRUE(this->ring->info(0).supported) << caps.reason;
    EXPECT_GE(caps.valid_bits, 1u);
    EXPECT_LE(caps.valid_bits, 64u);
    EXPECT_TRUE(std::isfinite(caps.ns_per_tick));
    EXPECT_GT(caps.ns_per_tick, 0);
    EXPECT_GE(caps.resolution_ns, caps.ns_per_tick);
    ASSERT_NE(caps.reason, nullptr);
    if (!caps.calibrated) {
        EXPECT_STRNE(caps.reason, "") << "what is missing is not said";
    }
}

TYPED_TEST_P(BackendSuite, SpansComeInTheOrderInWhichTheyEnded) {
    this->harness.begin(20);
    for (SiteId site = 1; site <= 10; ++site) this->span(site);
    const std::vector<SpanRecord> spans = this->complete();
    ASSERT_EQ(spans.size(), 10u);
    for (SiteId i = 0; i < 10; ++i) {
        EXPECT_EQ(spans[i].site, i + 1);
        EXPECT_EQ(spans[i].track, this->kTrack);
        EXPECT_GE(spans[i].duration_ns, 0);
    }
    // Conversion rounds each moment once.
    for (std::size_t i = 1; i < 10; ++i) EXPECT_GE(spans[i].begin_ns + 1, end_ns(spans[i - 1]));
}

TYPED_TEST_P(BackendSuite, SpansLieWithinTheHostTimeAroundThem) {
    const HostNs before = this->harness.now();
    this->harness.begin(4);
    this->span(1);
    this->span(2);
    const std::vector<SpanRecord> spans = this->complete();
    const HostNs after = this->harness.now();
    ASSERT_EQ(spans.size(), 2u);
    const std::optional<int64_t> uncertainty = this->ring->info(0).clock.uncertainty_ns;
    ASSERT_TRUE(uncertainty.has_value());
    const int64_t slack = *uncertainty + static_cast<int64_t>(this->ring->info(0).caps.resolution_ns) + 2;
    for (const SpanRecord& span : spans) {
        EXPECT_GE(span.begin_ns, before.value - slack);
        EXPECT_LE(end_ns(span), after.value + slack);
        EXPECT_LE(span.duration_ns, after.value - before.value + slack);
    }
}

TYPED_TEST_P(BackendSuite, InnerSpansLieWithinOuterOnes) {
    this->harness.begin(4);
    const DeviceToken outer = this->ring->begin(0, 1);
    this->span(2);
    this->ring->end(0, outer);
    const std::vector<SpanRecord> spans = this->complete();
    ASSERT_EQ(spans.size(), 2u);
    EXPECT_EQ(spans[0].site, 2u) << "the inner one ends first";
    EXPECT_EQ(spans[1].site, 1u);
    EXPECT_LE(spans[1].begin_ns, spans[0].begin_ns);
    EXPECT_GE(end_ns(spans[1]), end_ns(spans[0]));
}

TYPED_TEST_P(BackendSuite, EmptySpansHaveATimeThatIsNotNegative) {
    this->harness.begin(16);
    for (SiteId site = 1; site <= 8; ++site) this->ring->end(0, this->ring->begin(0, site));
    const std::vector<SpanRecord> spans = this->complete();
    ASSERT_EQ(spans.size(), 8u);
    for (const SpanRecord& span : spans) EXPECT_GE(span.duration_ns, 0);
}

// field-cases B6, B20: gapid#3661, dive#329, TornadoVM#1024.
TYPED_TEST_P(BackendSuite, SpansInFlightStayPendingAndLandOnce) {
    if constexpr (!TypeParam::kCanWithhold) {
        GTEST_SKIP() << "the stamps of this backend are there at once";
    } else {
        this->harness.begin(2);
        this->span(1);
        this->harness.submit();
        for (int i = 0; i < 5; ++i) EXPECT_TRUE(this->harvest().empty());
        EXPECT_EQ(this->ring->stats().in_flight, 1u);
        EXPECT_EQ(this->harness.blocking_calls(), 0u);
        this->harness.finish();
        EXPECT_EQ(this->harvest().size(), 1u);
        EXPECT_TRUE(this->harvest().empty());
        EXPECT_EQ(this->ring->stats().in_flight, 0u);
    }
}

TYPED_TEST_P(BackendSuite, FinishedSpansLandOnce) {
    this->harness.begin(6);
    for (SiteId site = 1; site <= 3; ++site) this->span(site);
    EXPECT_EQ(this->complete().size(), 3u);
    EXPECT_TRUE(this->harvest().empty());
    EXPECT_EQ(this->ring->stats().recorded, 3u);
}

// field-cases B1, B16: tracy#620, tenstorrent/tracy#40.
TYPED_TEST_P(BackendSuite, FullRingDropsTheNewestAndCountsIt) {
    this->make_small_ring();
    this->harness.begin(24);
    for (SiteId site = 1; site <= 12; ++site) this->span(site);
    const std::vector<SpanRecord> spans = this->complete();
    ASSERT_EQ(spans.size(), 8u);
    for (SiteId i = 0; i < 8; ++i) EXPECT_EQ(spans[i].site, i + 1);
    EXPECT_EQ(this->ring->stats().lost[LossReason::kRingFull], 4u);
}

TYPED_TEST_P(BackendSuite, SlotsServeManySpansInTurn) {
    this->make_small_ring();
    for (SiteId round = 0; round < 20; ++round) {
        this->harness.begin(12);
        for (SiteId i = 0; i < 6; ++i) this->span(round * 6 + i);
        const std::vector<SpanRecord> spans = this->complete();
        ASSERT_EQ(spans.size(), 6u) << "round " << round;
        EXPECT_EQ(spans[0].site, round * 6);
    }
    EXPECT_EQ(this->ring->stats().recorded, 120u);
    EXPECT_EQ(this->ring->stats().lost.total(), 0u);
}

TYPED_TEST_P(BackendSuite, LapsAbutAndTakeOneStampMoreThanOps) {
    constexpr SiteId kOps = 10;
    const uint64_t stamps_before = this->ring->stats().stamps;
    this->harness.begin(kOps + 1);
    const LapChain chain = this->ring->lap_begin(0);
    for (SiteId site = 1; site <= kOps; ++site) {
        this->harness.work();
        this->ring->lap(0, chain, site);
    }
    EXPECT_EQ(this->ring->stats().stamps - stamps_before, kOps + 1);
    const std::vector<SpanRecord> spans = this->complete();
    ASSERT_EQ(spans.size(), kOps);
    for (SiteId i = 0; i < kOps; ++i) {
        EXPECT_EQ(spans[i].site, i + 1);
        if (i > 0) {
            EXPECT_EQ(spans[i].begin_ns, end_ns(spans[i - 1])) << "a gap or an overlap before lap " << i;
        }
    }
}

TYPED_TEST_P(BackendSuite, CalibrationAgreesWithWhatTheHostSaw) {
    const Status calibrated = this->ring->calibrate();
    if (!this->ring->info(0).caps.calibrated) {
        EXPECT_EQ(calibrated.error().code, Errc::kUnsupported);
        EXPECT_FALSE(calibrated.error().message.empty());
        return;
    }
    ASSERT_TRUE(calibrated.ok()) << calibrated.error().message;
    for (int i = 0; i < 3; ++i) {
        this->harness.begin(2);
        this->span(1);
        EXPECT_EQ(this->complete().size(), 1u);
    }
    EXPECT_TRUE(this->ring->info(0).clock.calibrated);
    EXPECT_FALSE(this->ring->info(0).calibration_refused);
}

TYPED_TEST_P(BackendSuite, NothingIsMarkedBelowTheLevel) {
    this->harness.begin(8);
    set_level(Level::kLane);
    this->span(1);
    EXPECT_EQ(this->ring->lap_begin(0).id, 0u);
    this->ring->end(0, this->ring->begin(0, 2, Level::kLane));
    set_level(Level::kOff);
    this->span(3);
    const std::vector<SpanRecord> spans = this->complete();
    ASSERT_EQ(spans.size(), 1u);
    EXPECT_EQ(spans[0].site, 2u);
    EXPECT_EQ(this->ring->stats().begun, 1u);
    EXPECT_EQ(this->ring->stats().stamps, 2u);
}

TYPED_TEST_P(BackendSuite, TheLevelMayChangeWhileSpansAreOpen) {
    this->harness.begin(8);
    const DeviceToken lowered = this->ring->begin(0, 1);
    set_level(Level::kOff);
    const DeviceToken never = this->ring->begin(0, 2);
    this->harness.work();
    this->ring->end(0, lowered);
    set_level(Level::kKernel);
    this->ring->end(0, never);    // begun while off: nothing to end
    this->span(3);
    const std::vector<SpanRecord> spans = this->complete();
    ASSERT_EQ(spans.size(), 2u);
    EXPECT_EQ(spans[0].site, 1u);
    EXPECT_EQ(spans[1].site, 3u);
    EXPECT_EQ(this->ring->stats().refused_tokens, 0u);
    EXPECT_EQ(this->ring->stats().in_flight, 0u);
}

TYPED_TEST_P(BackendSuite, TokensAreGoodForOneEnd) {
    this->harness.begin(8);
    const DeviceToken token = this->ring->begin(0, 1);
    this->ring->end(0, token);
    this->ring->end(0, token);
    this->ring->end(0, DeviceToken{});
    EXPECT_EQ(this->complete().size(), 1u);
    this->ring->end(0, token);
    EXPECT_EQ(this->ring->stats().refused_tokens, 2u);
    EXPECT_TRUE(this->harvest().empty());
}

TYPED_TEST_P(BackendSuite, SpansThatNeverEndAreAbandonedAndCounted) {
    this->harness.begin(4);
    static_cast<void>(this->ring->begin(0, 1));
    this->span(2);
    EXPECT_EQ(this->complete().size(), 1u);
    this->ring->reclaim(0);
    EXPECT_EQ(this->ring->stats().lost[LossReason::kAbandoned], 1u);
    EXPECT_EQ(this->ring->stats().in_flight, 0u);
}

REGISTER_TYPED_TEST_SUITE_P(BackendSuite, CapsAreConsistent, SpansComeInTheOrderInWhichTheyEnded,
                            SpansLieWithinTheHostTimeAroundThem, InnerSpansLieWithinOuterOnes,
                            EmptySpansHaveATimeThatIsNotNegative, SpansInFlightStayPendingAndLandOnce,
                            FinishedSpansLandOnce, FullRingDropsTheNewestAndCountsIt, SlotsServeManySpansInTurn,
                            LapsAbutAndTakeOneStampMoreThanOps, CalibrationAgreesWithWhatTheHostSaw,
                            NothingIsMarkedBelowTheLevel, TheLevelMayChangeWhileSpansAreOpen, TokensAreGoodForOneEnd,
                            SpansThatNeverEndAreAbandonedAndCounted);

}    // namespace lapwing::testing
