// The host clock.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "core/counter_calibration.hpp"
#include "lapwing/clock.hpp"
#include "lapwing/own_cost.hpp"

namespace lapwing {
namespace {

// A counter of `hz` that runs along with a clock in ns.
detail::ClockPair pair_at(int64_t ns, double hz, uint64_t width = 20) {
    return {static_cast<uint64_t>(static_cast<long double>(ns) * static_cast<long double>(hz) / 1e9L), ns, width};
}

TEST(CounterCalibration, RateIsFoundToAFewPartsInABillionAfterASecond) {
    for (const double hz : {1e6, 19.2e6, 62.5e6, 2.1e9, 5.7e9}) {
        detail::CounterCalibration calibration;
        for (int64_t ms = 0; ms <= 3000; ms += 100) calibration.add(pair_at(1'000'000'000 + ms * 1'000'000, hz));
        const HostScale scale = calibration.scale();
        const double tick_ns = 1e9 / hz;
        for (const int64_t ns : {900'000'000LL, 2'000'000'000LL, 4'000'000'000LL, 10'000'000'000LL}) {
            const int64_t found = scale.to_host(HostTicks{pair_at(ns, hz).tick}).value;
            EXPECT_NEAR(static_cast<double>(found - ns), 0.0, 2 * tick_ns + 30) << hz << " Hz at " << ns;
        }
    }
}

TEST(CounterCalibration, RateFollowsAClockThatIsSteered) {
    detail::CounterCalibration calibration;
    int64_t ns = 0;
    for (; ns < 5'000'000'000; ns += 100'000'000) calibration.add(pair_at(ns, 2e9));
    // The kernel now runs its clock 500 ppm slower against the counter.
    const uint64_t tick = pair_at(ns, 2e9).tick;
    for (int64_t passed = 0; passed <= 3'000'000'000; passed += 100'000'000)
        calibration.add({tick + static_cast<uint64_t>(static_cast<double>(passed) * 2 * 1.0005), ns + passed, 20});
    const double ns_per_tick = static_cast<double>(calibration.scale().multiplier) / 281'474'976'710'656.0;
    EXPECT_NEAR(ns_per_tick, 0.5 / 1.0005, 1e-7);
}

TEST(CounterCalibration, CounterThatWentBackStartsAnew) {
    detail::CounterCalibration calibration;
    calibration.add({1000, 1000, 5});
    calibration.add({2000, 2000, 5});
    calibration.add({500, 3000, 5});
    EXPECT_EQ(calibration.pairs(), 1u);
    calibration.add({1500, 5000, 5});
    EXPECT_EQ(calibration.scale().to_ns(1000), 2000);
}

TEST(CounterCalibration, YoungProcessIsPairedAgainSoonAndAnOldOneTenTimesASecond) {
    detail::CounterCalibration calibration;
    EXPECT_TRUE(calibration.wants_pair(0));
    calibration.add({1000, 1000, 5});
    calibration.add({2000, 2000, 5});
    EXPECT_FALSE(calibration.wants_pair(2500));
    EXPECT_TRUE(calibration.wants_pair(3000));
    calibration.add({2'000'000'000, 2'000'000'000, 5});
    EXPECT_FALSE(calibration.wants_pair(2'050'000'000));
    EXPECT_TRUE(calibration.wants_pair(2'100'000'000));
}

TEST(HostClock, TicksLieBetweenTheMomentsAroundThem) {
    for (int i = 0; i < 100; ++i) {
        const HostNs before = host_now();
        const HostTicks now = tick();
        const HostNs after = host_now();
        const HostNs found = to_host(now);
        // A pair's own error and a rate from a young process: loose, and far below any mistake of scale.
        EXPECT_GE(found.value, before.value - 1'000'000);
        EXPECT_LE(found.value, after.value + 1'000'000);
    }
}

TEST(HostClock, DurationsAreThoseOfClockMonotonic) {
    const HostTicks begin = tick();
    const HostNs host_begin = host_now();
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    const HostNs host_end = host_now();
    const HostTicks end = tick();
    const int64_t found = host_scale().to_ns(static_cast<int64_t>(end.value - begin.value));
    EXPECT_GE(found + 1'000, host_end.value - host_begin.value) << "the ticks are around the clock readings";
    EXPECT_LE(found, 2 * (host_end.value - host_begin.value) + 100'000'000);
}

TEST(HostClock, ChoiceAndItsReasonAreVisible) {
    const HostClockInfo info = host_clock();
    EXPECT_STRNE(info.reason, "");
    EXPECT_STRNE(to_text(info.source), "unknown");
    EXPECT_GT(info.ns_per_tick, 0);
    if (info.source == HostClockSource::kClockMonotonic) {
        EXPECT_EQ(info.ns_per_tick, 1.0);
    } else {
        EXPECT_GE(info.calibrations, 2u);
    }
}

TEST(HostClock, TicksOfOneThreadDoNotGoBack) {
    uint64_t last = tick_ordered().value;
    for (int i = 0; i < 100'000; ++i) {
        const uint64_t now = tick_ordered().value;
        ASSERT_GE(now, last);
        last = now;
    }
}

TEST(OwnCost, SampledCallsStandForAll) {
    OwnCostMeter meter(4);
    for (int i = 0; i < 10; ++i) const OwnCostMeter::Scope scope(meter);
    const OwnCost cost = meter.snapshot();
    EXPECT_EQ(cost.calls, 10u);
    EXPECT_EQ(cost.sampled_calls, 3u) << "calls 0, 4 and 8";
    const OwnCost made_up{.calls = 100, .sampled_calls = 10, .sampled_ticks = 500};
    EXPECT_DOUBLE_EQ(made_up.ns_per_call(HostScale{}), 50.0);
    EXPECT_EQ(made_up.total_ns(HostScale{}), 5'000);
    EXPECT_EQ(OwnCost{}.total_ns(HostScale{}), 0);
}

}    // namespace
}    // namespace lapwing
