// Lanes: one span a lane and step, whatever the scheduler does.
#include <gtest/gtest.h>

#include "lapwing/host_spans.hpp"
#include "lapwing/lanes.hpp"
#include "unit/host_span_sink.hpp"
#include "unit/sim_ring.hpp"

namespace lapwing {
namespace {

constexpr std::array<SiteId, kBuiltInLanes> kSites{11, 12, 13};

class DeviceLanes : public testing::SimRing {
protected:
    void SetUp() override {
        set_level(Level::kLane);
        start();
        lanes = std::make_unique<Lanes<DeviceLaneSpans<SimBackend>>>(DeviceLaneSpans<SimBackend>(*ring, 0), kSites);
        lanes->begin_step(0);
    }
    void TearDown() override {
        const LaneStats stats = lanes->stats();
        EXPECT_EQ(stats.begun, stats.ended + stats.begun_twice + stats.left_open + stats.open);
        testing::SimRing::TearDown();
    }
    std::unique_ptr<Lanes<DeviceLaneSpans<SimBackend>>> lanes;
};

TEST_F(DeviceLanes, EachLaneOfEachStepIsASpan) {
    for (uint32_t step = 0; step < 3; ++step) {
        lanes->begin_step(step);
        for (const uint32_t lane : {kAdmit, kPrefill, kDecode}) {
            lanes->begin(lane);
            sim->advance(1000 * (lane + 1));
            lanes->end(lane);
        }
    }
    const std::vector<SpanRecord> spans = harvest();
    ASSERT_EQ(spans.size(), 9u);
    for (uint32_t i = 0; i < 9; ++i) {
        EXPECT_EQ(spans[i].site, kSites[i % 3]);
        EXPECT_EQ(spans[i].step, i / 3);
        EXPECT_EQ(spans[i].duration_ns, 1000 * (i % 3 + 1) + 100);
    }
    EXPECT_EQ(lanes->stats().ended, 9u);
    EXPECT_EQ(lanes->stats().open, 0u);
}

TEST_F(DeviceLanes, LanesMayOverlap) {
    lanes->begin(kPrefill);
    lanes->begin(kDecode);
    lanes->end(kPrefill);
    lanes->end(kDecode);
    EXPECT_EQ(harvest().size(), 2u);
}

TEST_F(DeviceLanes, ALaneBegunTwiceEndsItsFirstSpanAndCountsIt) {
    lanes->begin(kDecode);
    sim->advance(1000);
    lanes->begin(kDecode);
    sim->advance(5000);
    lanes->end(kDecode);
    const std::vector<SpanRecord> spans = harvest();
    ASSERT_EQ(spans.size(), 2u) << "the first slot must not stay open for ever";
    EXPECT_EQ(spans[0].duration_ns, 1100);
    EXPECT_EQ(spans[1].duration_ns, 5100);
    EXPECT_EQ(lanes->stats().begun_twice, 1u);
    EXPECT_EQ(ring->stats().in_flight, 0u);
}

TEST_F(DeviceLanes, AnEndWithoutABeginIsIgnoredAndCounted) {
    lanes->end(kDecode);
    lanes->begin(kDecode);
    lanes->end(kDecode);
    lanes->end(kDecode);
    EXPECT_EQ(harvest().size(), 1u);
    EXPECT_EQ(lanes->stats().ended_without_begin, 2u);
    EXPECT_EQ(ring->stats().refused_tokens, 0u);
}

TEST_F(DeviceLanes, LanesThatDoNotExistAreIgnoredAndCounted) {
    for (const uint32_t lane : {3u, 31u, 32u, 33u, 0xffff'ffffu}) {
        lanes->begin(lane);
        lanes->end(lane);
    }
    EXPECT_EQ(sim->marks(), 0u);
    EXPECT_EQ(lanes->stats().out_of_range, 10u);
}

TEST_F(DeviceLanes, ALaneThatIsOpenWhenItsStepEndsEndsWithIt) {
    lanes->begin(kPrefill);
    lanes->begin(kDecode);
    sim->advance(1000);
    lanes->begin_step(1);
    lanes->end(kPrefill);
    const std::vector<SpanRecord> spans = harvest();
    ASSERT_EQ(spans.size(), 2u);
    EXPECT_EQ(spans[0].step, 0u);
    EXPECT_EQ(spans[1].step, 0u);
    EXPECT_EQ(lanes->stats().left_open, 2u);
    EXPECT_EQ(lanes->stats().ended_without_begin, 1u);
    EXPECT_EQ(ring->stats().in_flight, 0u);
}

TEST_F(DeviceLanes, LanesOfOnesOwnUpToTheBound) {
    for (uint32_t lane = kBuiltInLanes; lane < kMaxLanes; ++lane) EXPECT_EQ(lanes->add(100 + lane).value(), lane);
    EXPECT_EQ(lanes->add(1).error().code, Errc::kExhausted);
    lanes->begin(kMaxLanes - 1);
    lanes->end(kMaxLanes - 1);
    EXPECT_EQ(harvest().at(0).site, 100 + kMaxLanes - 1);
}

TEST_F(DeviceLanes, BelowLevelLaneNothingHappens) {
    for (const Level low : {Level::kOff, Level::kBasic}) {
        set_level(low);
        lanes->begin(kDecode);
        lanes->end(kDecode);
        lanes->end(99);
        lanes->begin_step(1);
    }
    EXPECT_EQ(sim->marks(), 0u);
    const LaneStats stats = lanes->stats();
    EXPECT_EQ(stats.begun + stats.ended_without_begin + stats.out_of_range, 0u);
}

TEST_F(DeviceLanes, ALoweredLevelEndsWhatIsOpenAsItWouldHave) {
    lanes->begin(kDecode);
    sim->advance(1000);
    set_level(Level::kOff);
    lanes->end(kDecode);
    EXPECT_EQ(harvest().size(), 1u);
    lanes->begin(kDecode);
    lanes->end(kDecode);
    EXPECT_EQ(lanes->stats().begun, 1u);
}

TEST_F(DeviceLanes, ALoweredLevelDoesNotKeepALaneOpenBeyondItsStep) {
    lanes->begin(kDecode);
    set_level(Level::kOff);
    lanes->begin_step(1);
    EXPECT_EQ(harvest().size(), 1u);
    EXPECT_EQ(lanes->stats().open, 0u);
}

TEST_F(DeviceLanes, ARaisedLevelTimesALaneFromItsNextBegin) {
    set_level(Level::kOff);
    lanes->begin(kDecode);
    set_level(Level::kKernel);
    lanes->end(kDecode);
    EXPECT_EQ(harvest().size(), 0u);
    lanes->begin(kDecode);
    lanes->end(kDecode);
    EXPECT_EQ(harvest().size(), 1u);
}

TEST_F(DeviceLanes, AFullRingCostsTheSpanNotTheLane) {
    start({}, {.initial_spans = 8, .max_spans = 8});
    Lanes<DeviceLaneSpans<SimBackend>> small(DeviceLaneSpans<SimBackend>(*ring, 0), kSites);
    for (int i = 0; i < 100; ++i) {
        small.begin(kDecode);
        small.end(kDecode);
    }
    EXPECT_EQ(small.stats().ended, 100u);
    EXPECT_EQ(ring->stats().begun, 100u);
    EXPECT_EQ(lost(LossReason::kRingFull), 92u);
}

TEST(HostLanes, EachLaneOfEachStepIsAHostSpan) {
    test::KeepingSink sink;
    HostSpanCollector collector(sink);
    set_level(Level::kLane);
    Lanes<HostLaneSpans> lanes(
        {}, {host_site(lane_name(kAdmit)), host_site(lane_name(kPrefill)), host_site(lane_name(kDecode))});
    for (uint32_t step = 0; step < 4; ++step) {
        lanes.begin_step(step);
        lanes.begin(kDecode);
        lanes.end(kDecode);
    }
    set_level(Level::kOff);
    EXPECT_TRUE(collector.drain().ok());
    EXPECT_EQ(collector.recorded(), 4u);
    EXPECT_EQ(lanes.stats().ended, 4u);
}

}    // namespace
}    // namespace lapwing
