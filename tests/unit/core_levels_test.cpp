// The level raised and lowered at any moment, with spans, laps, lanes and host scopes open.
#include <gtest/gtest.h>

#include <thread>

#include "lapwing/host_spans.hpp"
#include "lapwing/lanes.hpp"
#include "lapwing/span.hpp"
#include "unit/host_span_sink.hpp"
#include "unit/sim_ring.hpp"

namespace lapwing {
namespace {

constexpr std::array<Level, 4> kLevels{Level::kOff, Level::kBasic, Level::kLane, Level::kKernel};

class Levels : public testing::SimRing {
protected:
    void SetUp() override { start(); }
};

// tracy#1027 (a zone begun here and ended there) and M's rows in which a level that flips leaves a lane open: every
// walk of five levels, with something of each kind open across each change.
TEST_F(Levels, EveryWalkThroughTheLevelsFinishesOrCountsWhatWasOpen) {
    Lanes<DeviceLaneSpans<SimBackend>> lanes(DeviceLaneSpans<SimBackend>(*ring, 0), {1, 2, 3});
    uint64_t recorded = 0;
    uint64_t begun_kernel = 0;
    uint64_t begun_lane = 0;
    for (uint32_t walk = 0; walk < 4 * 4 * 4 * 4 * 4; ++walk) {
        DeviceToken kernel;
        DeviceToken lane_span;
        for (uint32_t place = 0; place < 5; ++place) {
            const Level now = kLevels[walk >> (2 * place) & 3];
            set_level(now);
            ring->end(0, kernel);
            kernel = ring->begin(0, 4);
            begun_kernel += now == Level::kKernel ? 1 : 0;
            if (place % 2 == 0) {
                lane_span = ring->begin(0, 5, Level::kLane);
                begun_lane += now >= Level::kLane ? 1 : 0;
                lanes.begin(kDecode);
                begun_lane += now >= Level::kLane ? 1 : 0;
            } else {
                ring->end(0, lane_span);
                lane_span = {};
                lanes.end(kDecode);
            }
        }
        set_level(Level::kOff);
        ring->end(0, kernel);
        ring->end(0, lane_span);
        lanes.end_step();
        recorded += harvest().size();
        ASSERT_EQ(ring->stats().in_flight, 0u) << "walk " << walk;
        ASSERT_EQ(lanes.stats().open, 0u) << "walk " << walk;
    }
    EXPECT_EQ(recorded, begun_kernel + begun_lane) << "all that was begun has a time";
    EXPECT_EQ(ring->stats().begun, recorded);
    EXPECT_EQ(ring->stats().refused_tokens, 0u);
}

TEST_F(Levels, RaisedInsideAnOpenScopeTimesWhatBeginsAfterwards) {
    set_level(Level::kOff);
    const DeviceToken outer = ring->begin(0, 1);
    const LapChain chain = ring->lap_begin(0);
    set_level(Level::kKernel);
    span(2);
    ring->lap(0, chain, 3);
    ring->end(0, outer);
    EXPECT_EQ(harvest().size(), 1u);
    const DeviceRingStats stats = ring->stats();
    EXPECT_EQ(stats.begun, 1u) << "what began while it was off was never begun";
    EXPECT_EQ(stats.refused_tokens, 0u) << "and its end is nobody's mistake";
}

TEST_F(Levels, ATokenFromBeforeIsGoodOnceAfterAnyNumberOfChanges) {
    set_level(Level::kKernel);
    const DeviceToken token = ring->begin(0, 1);
    for (const Level level : {Level::kOff, Level::kKernel, Level::kBasic, Level::kLane}) set_level(level);
    ring->end(0, token);
    ring->end(0, token);
    EXPECT_EQ(harvest().size(), 1u);
    EXPECT_EQ(ring->stats().refused_tokens, 1u);
}

TEST_F(Levels, ALapChainThatSawALowerLevelLosesTheLapThatWouldContainIt) {
    set_level(Level::kKernel);
    const LapChain chain = ring->lap_begin(0);
    ring->lap(0, chain, 1);
    set_level(Level::kLane);
    ring->lap(0, chain, 2);    // not begun
    set_level(Level::kKernel);
    ring->lap(0, chain, 3);    // lost: it would contain the one before
    ring->lap(0, chain, 4);
    EXPECT_EQ(harvest().size(), 2u);
    EXPECT_EQ(lost(LossReason::kAbandoned), 1u);
    EXPECT_EQ(ring->stats().begun, 3u);
}

// tracy#227: the device is reset while spans are open, and the level changes in between.
TEST_F(Levels, NoSpanLivesAcrossAResetThatALevelChangeHides) {
    set_level(Level::kKernel);
    const DeviceToken before = ring->begin(0, 1);
    set_level(Level::kOff);
    sim->lose_device();
    harvest();
    sim->restore_device(5'000'000);
    ring->restart();
    set_level(Level::kKernel);
    const DeviceToken after = ring->begin(0, 2);
    ring->end(0, before);
    ring->end(0, after);
    const std::vector<SpanRecord> spans = harvest();
    ASSERT_EQ(spans.size(), 1u);
    EXPECT_EQ(spans[0].site, 2u);
    EXPECT_EQ(ring->stats().begun, 2u);
    EXPECT_EQ(ring->stats().lost.total(), 1u);
}

TEST_F(Levels, ASpanBegunOnOneQueueDoesNotEndOnAnother) {
    start({}, {}, 2);
    set_level(Level::kKernel);
    const DeviceToken token = ring->begin(0, 1);
    set_level(Level::kOff);
    ring->end(1, token);
    EXPECT_EQ(ring->stats().refused_tokens, 1u);
    ring->end(0, token);
    EXPECT_EQ(harvest().size(), 1u);
}

// A thread's ring is made at its first span, and not for one whose level was lowered meanwhile: that one is counted.
TEST(HostLevels, AThreadsFirstSpanIsCountedWhereTheLevelWasLoweredInIt) {
    test::KeepingSink sink;
    HostSpanCollector collector(sink);
    set_level(Level::kBasic);
    std::thread([] {
        const Span first(host_site("first"));
        set_level(Level::kOff);
    }).join();
    EXPECT_TRUE(collector.drain().ok());
    EXPECT_EQ(collector.recorded(), 0u);
    EXPECT_EQ(collector.lost()[LossReason::kRingFull], 1u);
}

TEST(HostLevels, EveryPairOfLevelsAroundAScope) {
    test::KeepingSink sink;
    HostSpanCollector collector(sink);
    const SiteId site = host_site("scope");
    set_level(Level::kBasic);
    { const Span first(site); }    // makes the thread's ring
    const SiteId lap_site = host_site("lap");
    uint64_t spans = 0;
    for (const Level at_begin : kLevels) {
        for (const Level at_end : kLevels) {
            set_level(at_begin);
            Lap lap;
            {
                const Span scope(site);
                set_level(at_end);
            }
            lap.lap(lap_site);
            spans += at_begin != Level::kOff ? 1 : 0;                             // the scope
            spans += at_begin != Level::kOff && at_end != Level::kOff ? 1 : 0;    // the lap
        }
    }
    set_level(Level::kOff);
    EXPECT_TRUE(collector.drain().ok());
    EXPECT_EQ(collector.recorded(), spans + 1);
    EXPECT_EQ(collector.lost().total(), 0u);
}

}    // namespace
}    // namespace lapwing
