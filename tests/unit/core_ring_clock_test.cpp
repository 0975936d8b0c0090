// Spans of a device whose clock runs at another rate than the host's.
#include <cmath>

#include "unit/sim_ring.hpp"

namespace lapwing {
namespace {

using testing::SimRing;

struct RingClock : SimRing {
    // A second of work: a span of 10 ms, then a pause, now and then a clock pair from the driver. Returns how far the
    // span's end was from where the host clock saw it end.
    int64_t second(bool calibrate) {
        if (calibrate) {
            EXPECT_TRUE(ring->calibrate().ok());
        }
        const DeviceToken token = ring->begin(0, 1);
        sim->advance(10'000'000);
        ring->end(0, token);
        const int64_t ended = sim->host_now().value;
        const auto out = harvest();
        EXPECT_EQ(out.size(), 1u);
        sim->advance(990'000'000);
        return out.empty() ? 0 : out[0].begin_ns + out[0].duration_ns - ended;
    }
    [[nodiscard]] ClockInfo clock() const { return ring->info(0).clock; }
};

// A13: MoltenVK#1713, tracy#1393, #1394 and #1396. Not followed, it would be 30 ms at the end.
TEST_F(RingClock, DeviceClockThatRunsFastStaysWithinTheUncertaintyStatedForTenMinutes) {
    for (const bool calibrated : {true, false}) {
        start({.calibrated = calibrated, .fast_ppm = 50});
        for (int i = 0; i < 600; ++i) {
            const int64_t off = second(calibrated && i % 5 == 0);
            ASSERT_TRUE(clock().uncertainty_ns.has_value());
            ASSERT_LE(std::abs(off), *clock().uncertainty_ns + 2) << "second " << i << ", calibrated " << calibrated;
        }
        EXPECT_EQ(clock().calibrated, calibrated);
        ASSERT_TRUE(clock().drift_ppm.has_value());
        EXPECT_NEAR(*clock().drift_ppm, -50, 1) << "host ns gained a device ns: the device is the fast one";
        ASSERT_TRUE(clock().residual_ns.has_value());
        EXPECT_EQ(clock().clock_steps, 0u);
        if (calibrated) {
            EXPECT_LT(*clock().uncertainty_ns, 10'000);
            EXPECT_LT(std::abs(*clock().residual_ns), 1'000);
        }
    }
}

// A15: nvbench#184. A pair around a kernel of 2 us reads what the stamps take as well.
TEST_F(RingClock, EmptyPairsTellWhatThePairItselfReads) {
    start({.ticks_per_mark = 8'000});
    EXPECT_FALSE(clock().floor_ns.has_value()) << "nothing is made up before it is measured";
    ring->measure_floor(0);
    const DeviceToken token = ring->begin(0, 1);
    sim->advance(2'000);
    ring->end(0, token);
    const auto out = harvest();
    ASSERT_EQ(out.size(), 1u) << "no span comes of an empty pair";
    EXPECT_EQ(out[0].duration_ns, 10'000);
    EXPECT_EQ(clock().floor_ns, 8'000);
    EXPECT_EQ(clock().floor_pairs, 8u);
    EXPECT_EQ(ring->stats().begun, 1u);
    EXPECT_EQ(ring->stats().stamps, 11u);
    EXPECT_EQ(sim->marks(), 11u);
}

TEST_F(RingClock, FloorIsTheMedianSoThatOneDisturbedPairIsNothing) {
    start({.ticks_per_mark = 1'000});
    sim->script(SimFault::kLater, 1, 2, 500'000);
    ring->measure_floor(0);
    EXPECT_TRUE(harvest().empty());
    EXPECT_EQ(clock().floor_ns, 1'000);
}

TEST_F(RingClock, EmptyPairsThatFailAreNoSpansThatAreLost) {
    start({.ticks_per_mark = 1'000});
    sim->script(SimFault::kResultFails, 1, 1);
    sim->script(SimFault::kZero, 1, 4);
    ring->measure_floor(0, 6);
    EXPECT_TRUE(harvest().empty());
    EXPECT_EQ(clock().floor_ns, 1'000);
    EXPECT_EQ(clock().floor_pairs, 2u) << "pairs 1 and 2 share the failed stamp, 4 and 5 the zero one";
    EXPECT_EQ(ring->stats().lost.total(), 0u);
    EXPECT_EQ(ring->stats().in_flight, 0u);

    sim->script(SimFault::kNeverCompletes, 100);
    ring->measure_floor(0);
    EXPECT_EQ(ring->stats().in_flight, 0u) << "they hold slots, and are no spans";
    ring->abandon_all();
    EXPECT_EQ(ring->stats().lost.total(), 0u);
}

TEST_F(RingClock, FloorIsMeasuredWhereStampsAreTakenOnly) {
    start();
    set_level(Level::kBasic);
    ring->measure_floor(0);
    EXPECT_EQ(sim->marks(), 0u);
    set_level(Level::kKernel);
    sim->set_capturing({0}, true);
    ring->measure_floor(0);
    EXPECT_EQ(sim->marks(), 0u);
    sim->set_capturing({0}, false);
    // A chain that was open is over: its next lap would hold the empty pairs.
    const LapChain chain = ring->lap_begin(0);
    ring->measure_floor(0);
    ring->lap(0, chain, 1);
    EXPECT_EQ(lost(LossReason::kStale), 1u);
}

// A16: AMD llama.cpp#33. What lies before an op, while the device waits for its launch, is no part of a pair, and is
// part of a lap: laps add up to the time from the first to the last stamp, pairs leave the gaps to be seen.
TEST_F(RingClock, GapBeforeAnOpIsOutsideOfAPairAndInsideOfALap) {
    constexpr uint64_t kGap = 700'000;
    constexpr uint64_t kOp = 300'000;
    start();
    for (int i = 0; i < 3; ++i) {
        sim->advance(kGap);
        span(1, kOp);
    }
    const auto pairs = harvest();
    ASSERT_EQ(pairs.size(), 3u);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(static_cast<double>(pairs[i].duration_ns), kOp, 1);
    for (std::size_t i = 1; i < 3; ++i)
        EXPECT_NEAR(static_cast<double>(pairs[i].begin_ns - pairs[i - 1].begin_ns - pairs[i - 1].duration_ns), kGap,
                    200);

    const LapChain chain = ring->lap_begin(0);
    for (SiteId site = 1; site <= 3; ++site) {
        sim->advance(kGap + kOp - 100);
        ring->lap(0, chain, site);
    }
    const auto laps = harvest();
    ASSERT_EQ(laps.size(), 3u);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(static_cast<double>(laps[i].duration_ns), kGap + kOp, 1);
    for (std::size_t i = 1; i < 3; ++i) EXPECT_EQ(laps[i].begin_ns, laps[i - 1].begin_ns + laps[i - 1].duration_ns);
}

// A14: OpenCL-CTS#1150.
TEST_F(RingClock, StepOfTheHostClockIsCountedAndNoSpanIsLostByIt) {
    start({.fast_ppm = 20});
    for (int i = 0; i < 60; ++i) {
        if (i == 30) sim->step_host(2'000'000'000);
        const int64_t off = second(true);
        if (i != 30) {
            EXPECT_LE(std::abs(off), *clock().uncertainty_ns + 2) << "second " << i;
        }
    }
    EXPECT_EQ(clock().clock_steps, 1u);
    EXPECT_FALSE(ring->info(0).calibration_refused) << "a step is no lie";
    EXPECT_EQ(ring->stats().lost.total(), 0u);
}

}    // namespace
}    // namespace lapwing
