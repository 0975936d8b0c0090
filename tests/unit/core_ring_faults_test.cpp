// What drivers do wrong, and what becomes of the spans: field-cases, parts A and B.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "unit/sim_ring.hpp"

namespace lapwing::testing {
namespace {

struct Faults : SimRing {};

// A1: DiligentCore#791, tracy#642.
TEST_F(Faults, CounterThatWrapsWithinASpanGivesItsTime) {
    start({.valid_bits = 36, .ns_per_tick = 52.08, .start_ticks = (uint64_t{1} << 36) - 500});
    for (SiteId site = 0; site < 3; ++site) span(site, 1000);
    const std::vector<SpanRecord> spans = harvest();
    ASSERT_EQ(spans.size(), 3u);
    for (const SpanRecord& record : spans) EXPECT_NEAR(static_cast<double>(record.duration_ns), 52'080.0, 1.0);
    EXPECT_NEAR(static_cast<double>(spans[2].begin_ns - spans[0].begin_ns), 2 * 1100 * 52.08, 1.0);
}

// A2: intel/llvm#2571, geopm#3615: minutes of idling, several wraps.
TEST_F(Faults, CounterThatWrapsWhileIdleKeepsSpansInTheirPlace) {
    start({.valid_bits = 32, .ns_per_tick = 83.33});
    span(1);
    const std::vector<SpanRecord> first = harvest();
    ASSERT_EQ(first.size(), 1u);
    constexpr uint64_t kIdle = (uint64_t{3} << 32) + 12'345;
    sim->advance(kIdle);
    span(2);
    const std::vector<SpanRecord> second = harvest();
    ASSERT_EQ(second.size(), 1u);
    const auto apart = static_cast<double>(second[0].begin_ns - first[0].begin_ns);
    EXPECT_NEAR(apart, static_cast<double>(kIdle + 1100) * 83.33, 20'000.0);
    EXPECT_EQ(lost(LossReason::kStale), 0u);
}

// A4: Vulkan-Samples#1368.
TEST_F(Faults, QueueWithoutTimestampsSaysSoAndCountsItsSpans) {
    start({.valid_bits = 0});
    span(1);
    ring->lap(0, ring->lap_begin(0), 2);
    EXPECT_EQ(sim->marks(), 0u);
    EXPECT_TRUE(harvest().empty());
    EXPECT_EQ(lost(LossReason::kUnsupported), 2u);
    EXPECT_FALSE(ring->info(0).supported);
    EXPECT_STREQ(ring->info(0).reason, "the simulated queue has no timestamps");
}

// A6: wgpu#1907, MoltenVK#1997 (0/0).
TEST_F(Faults, PeriodThatIsNoPeriodMakesTheQueueUnsupported) {
    for (const double period : {0.0, -1.0, std::nan(""), HUGE_VAL}) {
        start({.ns_per_tick = period});
        span(1);
        EXPECT_EQ(lost(LossReason::kUnsupported), 1u);
        EXPECT_FALSE(ring->info(0).supported);
        EXPECT_NE(std::string(ring->info(0).reason).find("period"), std::string::npos);
    }
}

// A7: wgpu#9414, MoltenVK#2378.
TEST_F(Faults, ZeroStampsAreMissingAndDegradeTheQueueInTheEnd) {
    start({}, {.zeros_to_degrade = 4});
    sim->script(SimFault::kZero, 1, 1);
    span(1);
    span(2);
    EXPECT_EQ(harvest().size(), 1u);
    EXPECT_EQ(lost(LossReason::kZeroStamp), 1u);
    EXPECT_TRUE(ring->info(0).supported) << "one zero is an accident";

    sim->script(SimFault::kZero, 8);
    for (SiteId site = 0; site < 4; ++site) span(site);
    EXPECT_TRUE(harvest().empty());
    EXPECT_EQ(lost(LossReason::kZeroStamp), 5u);
    EXPECT_FALSE(ring->info(0).supported);
    EXPECT_NE(std::string(ring->info(0).reason).find("zero"), std::string::npos);
    const uint64_t marks = sim->marks();
    span(9);
    EXPECT_EQ(sim->marks(), marks) << "a degraded queue is left alone";
    EXPECT_EQ(lost(LossReason::kUnsupported), 1u);
}

TEST_F(Faults, OpenSpanOfAQueueThatDegradesIsCounted) {
    start({}, {.zeros_to_degrade = 1});
    const DeviceToken token = ring->begin(0, 1);
    sim->script(SimFault::kZero, 1);
    span(2);
    EXPECT_TRUE(harvest().empty());
    ring->end(0, token);
    EXPECT_EQ(lost(LossReason::kUnsupported), 1u);
    EXPECT_EQ(ring->stats().in_flight, 0u);
}

// A8: rocm-libraries#6379 (-1.78 ms), wgpu-profiler#64.
TEST_F(Faults, ReversedSpanIsLostAndTheNextOneIsRight) {
    start();
    sim->script(SimFault::kEarlier, 1, 1, 1'780'000);
    sim->advance(5'000'000);
    span(1, 1000);
    span(2, 700);
    const std::vector<SpanRecord> spans = harvest();
    ASSERT_EQ(spans.size(), 1u);
    EXPECT_EQ(spans[0].site, 2u);
    EXPECT_EQ(spans[0].duration_ns, 700);
    EXPECT_EQ(lost(LossReason::kReversed), 1u);
}

// A10: blade#388.
TEST_F(Faults, CalibrationByAnotherClockIsRefused) {
    start({.host_start_ns = 60'000'000'000});
    sim->lie_about_epoch(11'850'000'000);
    ASSERT_TRUE(ring->calibrate().ok());
    for (int i = 0; i < 3; ++i) {
        span(1);
        const std::vector<SpanRecord> spans = harvest();
        ASSERT_EQ(spans.size(), 1u);
        const auto truth = 60'000'000'000 + static_cast<int64_t>(sim->device_ticks()) - 1000 - 1'000'000;
        EXPECT_NEAR(static_cast<double>(spans[0].begin_ns - truth), 0.0, 1000.0);
    }
    EXPECT_TRUE(ring->info(0).calibration_refused);
    EXPECT_FALSE(ring->info(0).clock.calibrated);
}

TEST_F(Faults, CalibrationThatIsTrueIsUsed) {
    start();
    ASSERT_TRUE(ring->calibrate().ok());
    span(1);
    EXPECT_EQ(harvest().size(), 1u);
    EXPECT_TRUE(ring->info(0).clock.calibrated);
    EXPECT_GE(ring->info(0).clock.uncertainty_ns, 10);
    EXPECT_LE(ring->info(0).clock.uncertainty_ns, 11) << "a microsecond later, clocks have parted by less than 1 ns";
}

// A11: tracy#227.
TEST_F(Faults, NoSpanLivesAcrossALostDevice) {
    start({}, {.initial_spans = 8, .max_spans = 8}, 2);
    span(1);
    EXPECT_EQ(harvest().size(), 1u);
    const DeviceToken open = ring->begin(0, 2);
    const DeviceToken elsewhere = ring->begin(1, 3);
    const LapChain chain = ring->lap_begin(1);
    span(4);
    sim->lose_device();
    EXPECT_TRUE(harvest().empty());
    EXPECT_EQ(lost(LossReason::kDeviceLost), 1u);
    const uint64_t marks = sim->marks();
    span(5);
    EXPECT_EQ(sim->marks(), marks) << "a lost device is not touched";
    EXPECT_EQ(lost(LossReason::kDeviceLost), 3u) << "the open one and the new one";
    ring->lap(1, chain, 6);
    EXPECT_EQ(lost(LossReason::kDeviceLost), 5u) << "the one open there, and the lap";

    sim->restore_device(500);
    ring->restart();
    ring->end(0, open);
    ring->end(1, elsewhere);
    EXPECT_EQ(ring->stats().refused_tokens, 2u);
    span(7, 300);
    ring->lap(1, chain, 8);
    ring->lap(1, chain, 9);
    const std::vector<SpanRecord> spans = harvest();
    ASSERT_EQ(spans.size(), 2u) << "the clock that started anew is not taken for stale stamps";
    EXPECT_EQ(spans[0].site, 7u);
    EXPECT_EQ(spans[0].duration_ns, 300);
    EXPECT_EQ(spans[1].site, 9u);
    EXPECT_EQ(lost(LossReason::kDeviceLost), 6u) << "the lap whose begin was on the lost device";
    for (SiteId site = 10; site < 30; ++site) {
        span(site);
        EXPECT_EQ(harvest().size(), 1u) << "slots that serve again remember nothing of the old clock";
    }
    EXPECT_EQ(ring->stats().in_flight, 0u);
}

// A12: pytorch#192021.
TEST_F(Faults, SpanLongerThanTheRingHasLivedIsImplausibleAndCounted) {
    start();
    sim->script(SimFault::kLater, 1, 1, 3'600'000'000'000);
    span(1);
    span(2);
    EXPECT_EQ(harvest().size(), 1u);
    EXPECT_EQ(lost(LossReason::kImplausible), 1u);
}

TEST_F(Faults, SpanLongerThanTheUsersLimitIsImplausible) {
    start({}, {.max_span_ns = 5'000});
    span(1, 5'000);
    span(2, 5'001);
    EXPECT_EQ(harvest().size(), 1u);
    EXPECT_EQ(lost(LossReason::kImplausible), 1u);
}

TEST_F(Faults, ResultOfAnEarlierUseOfTheSlotIsStale) {
    start({}, {.initial_spans = 8, .max_spans = 8});
    for (SiteId site = 0; site < 16; ++site) {
        span(site);
        ASSERT_EQ(harvest().size(), 1u);
    }
    sim->script(SimFault::kStale, 2);
    span(100);
    span(101);
    const std::vector<SpanRecord> spans = harvest();
    ASSERT_EQ(spans.size(), 1u);
    EXPECT_EQ(spans[0].site, 101u);
    EXPECT_EQ(lost(LossReason::kStale), 1u);
}

TEST_F(Faults, DriverErrorsAreCountedWhereverTheyHappen) {
    start();
    sim->script(SimFault::kMarkFails, 1);
    span(1);    // at begin
    sim->script(SimFault::kMarkFails, 1, 1);
    span(2);    // at end
    sim->script(SimFault::kResultFails, 1);
    span(3);    // begin's result
    sim->script(SimFault::kResultFails, 1, 1);
    span(4);    // end's result
    span(5);
    const std::vector<SpanRecord> spans = harvest();
    ASSERT_EQ(spans.size(), 1u);
    EXPECT_EQ(spans[0].site, 5u);
    EXPECT_EQ(lost(LossReason::kDriverError), 4u);
    EXPECT_EQ(ring->stats().in_flight, 0u);
}

TEST_F(Faults, LapWhoseStampFailsTakesTheNextOneWithIt) {
    start();
    const LapChain chain = ring->lap_begin(0);
    sim->script(SimFault::kResultFails, 1, 1);
    for (SiteId site = 1; site <= 4; ++site) ring->lap(0, chain, site);
    const std::vector<SpanRecord> spans = harvest();
    ASSERT_EQ(spans.size(), 2u);
    EXPECT_EQ(spans[0].site, 1u);
    EXPECT_EQ(spans[1].site, 4u);
    EXPECT_EQ(lost(LossReason::kDriverError), 2u);
}

// B17: warp#556, pytorch#146145: by default nothing is recorded into a stream that is being captured.
TEST_F(Faults, CapturingQueueGetsNoStamp) {
    start();
    const DeviceToken open = ring->begin(0, 1);
    sim->set_capturing({0}, true);
    const uint64_t marks = sim->marks();
    span(2);
    ring->end(0, open);
    ring->lap(0, ring->lap_begin(0), 3);
    EXPECT_EQ(sim->marks(), marks);
    EXPECT_EQ(lost(LossReason::kCapture), 3u);
    sim->set_capturing({0}, false);
    span(4);
    EXPECT_EQ(harvest().size(), 1u);
}

TEST_F(Faults, SpanThatNeverCompletesIsAbandonedAtTheEnd) {
    start();
    sim->script(SimFault::kNeverCompletes, 1, 1);
    span(1);
    span(2);
    for (int i = 0; i < 100; ++i) EXPECT_TRUE(harvest().empty());
    ring->abandon_all();
    EXPECT_EQ(lost(LossReason::kAbandoned), 2u);
}

// A9: cubecl#1647: the resolution is what the backend says, and quantised spans stay what they are.
TEST_F(Faults, QuantisedStampsKeepTheirQuantum) {
    start({.start_ticks = 1u << 20, .quantum_ticks = 65'536});
    EXPECT_EQ(ring->info(0).clock.resolution_ns, 65'536.0);
    for (SiteId site = 0; site < 20; ++site) span(site, 10'000);
    const std::vector<SpanRecord> spans = harvest();
    ASSERT_EQ(spans.size(), 20u);
    for (const SpanRecord& record : spans) EXPECT_EQ(record.duration_ns % 65'536, 0);
}

}    // namespace
}    // namespace lapwing::testing
