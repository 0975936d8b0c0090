// Timers on scripted device time, on the host, and where there is no device.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "lapwing/backend_timer.hpp"
#include "lapwing/clock.hpp"
#include "lapwing/cpu_timer.hpp"
#include "lapwing/device_ring.hpp"
#include "lapwing/null_backend.hpp"
#include "lapwing/sim_backend.hpp"

namespace lapwing {
namespace {

// A simulated queue; each mark takes 100 ticks of 1 ns.
struct Sim {
    explicit Sim(const SimOptions& options = {}, TimerPoolOptions pool_options = {})
        : backend(options), pool(backend, {3}, with_clock(pool_options)) {}
    TimerPoolOptions with_clock(TimerPoolOptions options) {
        options.now = SimBackend::host_clock;
        options.now_context = &backend;
        return options;
    }
    // The state in which a measurement of `ticks` of work ends.
    TimerReading measure(BackendTimer<SimBackend>& timer, uint64_t ticks = 1000) {
        timer.record_start();
        backend.advance(ticks);
        timer.record_end();
        backend.advance(1);
        return timer.try_elapsed();
    }
    void expect_all_accounted_for(uint64_t open = 0) {
        const TimerPoolStats stats = pool.stats();
        EXPECT_EQ(stats.begun, stats.measured + stats.lost.total() + open);
    }
    SimBackend backend;
    TimerPool<SimBackend> pool;
};

void expect_error(const Result<TimerReading>& result, Errc code, const char* part) {
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().code, code) << result.error().message;
    EXPECT_NE(result.error().message.find(part), std::string::npos) << result.error().message;
}

TEST(BackendTimer, SaysWhyThereIsNoTimeUntilThereIsOne) {
    Sim sim;
    auto timer = make_timer(sim.pool);
    EXPECT_EQ(timer.try_elapsed().state, TimerState::kIdle);
    expect_error(timer.elapsed(), Errc::kInvalidArgument, "call record_start()");
    EXPECT_EQ(timer.record_start(), TimerMisuse::kNone);
    EXPECT_EQ(timer.try_elapsed().state, TimerState::kRunning);
    expect_error(timer.elapsed(), Errc::kInvalidArgument, "call record_end()");
    sim.backend.advance(2000);
    sim.backend.hold(true);
    EXPECT_EQ(timer.record_end(), TimerMisuse::kNone);
    EXPECT_EQ(timer.try_elapsed().state, TimerState::kPending);
    EXPECT_FALSE(timer.try_elapsed().us());
    expect_error(timer.elapsed(), Errc::kPending, "ask again later");
    sim.backend.hold(false);
    const TimerReading reading = timer.try_elapsed();
    ASSERT_TRUE(reading.ready());
    EXPECT_EQ(reading.duration_ns, 2100);
    EXPECT_DOUBLE_EQ(*reading.us(), 2.1);
    EXPECT_DOUBLE_EQ(*reading.ms(), 0.0021);
    EXPECT_EQ(timer.elapsed()->duration_ns, 2100);
    EXPECT_EQ(reading.timed_by, TimedBy::kStamps);
    EXPECT_FALSE(reading.inflation_ns) << "nothing waited";
    sim.expect_all_accounted_for();
}

TEST(BackendTimer, NeverWaitsUnlessAskedAndThenNotBeyondTheDeadline) {
    Sim sim;
    auto timer = make_timer(sim.pool);
    sim.backend.hold(true);
    sim.measure(timer);
    const uint64_t polls = sim.backend.polls();
    EXPECT_EQ(timer.try_elapsed().state, TimerState::kPending);
    EXPECT_EQ(sim.backend.polls(), polls + 1);
    expect_error(timer.elapsed(), Errc::kPending, "");
    EXPECT_EQ(sim.backend.polls(), polls + 2);
    const auto before = std::chrono::steady_clock::now();
    expect_error(timer.elapsed({.deadline_ns = 5'000'000}), Errc::kPending, "");
    EXPECT_GE(std::chrono::steady_clock::now() - before, std::chrono::milliseconds(5));
    EXPECT_GT(sim.backend.polls(), polls + 4);
}

TEST(BackendTimer, WaitsForAResultThatComesBeforeTheDeadline) {
    Sim sim({.ready_after_polls = 5});
    auto timer = make_timer(sim.pool);
    EXPECT_EQ(sim.measure(timer).state, TimerState::kPending);
    EXPECT_EQ(timer.elapsed({.deadline_ns = 60'000'000'000})->duration_ns, 1100);
}

TEST(BackendTimer, IsUsedAgainAndForgetsTheLastTime) {
    Sim sim;
    auto timer = make_timer(sim.pool);
    for (uint64_t i = 1; i <= 50; ++i) EXPECT_EQ(sim.measure(timer, i * 10).duration_ns, i * 10 + 100);
    timer.record_start();
    EXPECT_EQ(timer.try_elapsed().state, TimerState::kRunning);
    timer.record_end();
    EXPECT_EQ(sim.pool.stats().timers, 1u) << "one pair of stamps for all";
    EXPECT_EQ(sim.pool.stats().measured, 50u);
}

TEST(BackendTimer, MisuseIsAnsweredAndCountedAndHarmsNoMeasurement) {
    Sim sim;
    auto timer = make_timer(sim.pool);
    EXPECT_EQ(timer.record_end(), TimerMisuse::kEndedWithoutStart);
    expect_error(timer.elapsed(), Errc::kInvalidArgument, "not started");
    EXPECT_EQ(sim.measure(timer).duration_ns, 1100);
    EXPECT_EQ(timer.record_end(), TimerMisuse::kEndedTwice);
    EXPECT_EQ(timer.elapsed()->duration_ns, 1100) << "the first end counts";
    timer.record_start();
    sim.backend.advance(5000);
    EXPECT_EQ(timer.record_start(), TimerMisuse::kStartedTwice);
    timer.record_end();
    EXPECT_EQ(timer.try_elapsed().duration_ns, 100) << "from the second start";
    EXPECT_EQ(sim.pool.stats().misused, 3u);
    EXPECT_EQ(sim.pool.stats().lost[LossReason::kAbandoned], 1u);
    sim.expect_all_accounted_for();
    for (const TimerMisuse misuse :
         {TimerMisuse::kEndedWithoutStart, TimerMisuse::kEndedTwice, TimerMisuse::kStartedTwice})
        EXPECT_NE(std::string(describe(misuse)).find("call record_"), std::string::npos) << describe(misuse);
}

TEST(BackendTimer, WithoutAPoolIgnoresItsCalls) {
    BackendTimer<SimBackend> timer;
    EXPECT_EQ(timer.record_start(), TimerMisuse::kNoPool);
    EXPECT_EQ(timer.record_end(), TimerMisuse::kNoPool);
    expect_error(timer.elapsed(), Errc::kInvalidArgument, "not started");
    Sim sim;
    auto made = make_timer(sim.pool);
    const BackendTimer<SimBackend> moved = std::move(made);
    EXPECT_EQ(made.record_start(), TimerMisuse::kNoPool);    // NOLINT(bugprone-use-after-move)
}

TEST(BackendTimer, EveryFaultHasItsReasonAndNoTime) {
    struct Case {
        SimFault fault;
        uint64_t after;
        uint64_t amount;
        LossReason reason;
        Errc code;
    };
    // The first measurement is sound: a stale result needs one.
    for (const Case& one : {Case{SimFault::kZero, 2, 1, LossReason::kZeroStamp, Errc::kDriver},
                            Case{SimFault::kZero, 3, 1, LossReason::kZeroStamp, Errc::kDriver},
                            Case{SimFault::kEarlier, 3, 1150, LossReason::kReversed, Errc::kDriver},
                            Case{SimFault::kLater, 3, uint64_t{1} << 50, LossReason::kImplausible, Errc::kDriver},
                            Case{SimFault::kStale, 3, 1, LossReason::kReversed, Errc::kDriver},
                            Case{SimFault::kStale, 2, 1, LossReason::kStale, Errc::kDriver},
                            Case{SimFault::kMarkFails, 2, 1, LossReason::kDriverError, Errc::kDriver},
                            Case{SimFault::kMarkFails, 3, 1, LossReason::kDriverError, Errc::kDriver},
                            Case{SimFault::kResultFails, 2, 1, LossReason::kDriverError, Errc::kDriver},
                            Case{SimFault::kResultFails, 3, 1, LossReason::kDriverError, Errc::kDriver}}) {
        SCOPED_TRACE(std::string(to_text(one.reason)) + " after " + std::to_string(one.after));
        Sim sim;
        auto timer = make_timer(sim.pool);
        sim.backend.script(one.fault, 1, one.after, one.amount);
        ASSERT_TRUE(sim.measure(timer).ready());
        sim.backend.advance(50);
        const TimerReading reading = sim.measure(timer);
        ASSERT_EQ(reading.state, TimerState::kLost);
        EXPECT_EQ(reading.lost, one.reason) << to_text(reading.lost);
        EXPECT_FALSE(reading.us());
        expect_error(timer.elapsed(), one.code, to_text(one.reason));
        EXPECT_EQ(sim.pool.stats().lost[one.reason], 1u);
        EXPECT_TRUE(sim.measure(timer).ready()) << "the timer itself is sound";
        sim.expect_all_accounted_for();
    }
}

TEST(BackendTimer, CapturingQueueTakesNoStampAndSaysSo) {
    Sim sim;
    auto timer = make_timer(sim.pool);
    for (const bool at_end : {false, true}) {
        sim.backend.set_capturing({3}, !at_end);
        timer.record_start();
        sim.backend.set_capturing({3}, true);
        const uint64_t marks = sim.backend.marks();
        timer.record_end();
        EXPECT_EQ(sim.backend.marks(), marks);
        expect_error(timer.elapsed(), Errc::kUnsupported, "captured into a graph");
        sim.backend.set_capturing({3}, false);
    }
    EXPECT_EQ(sim.pool.stats().lost[LossReason::kCapture], 2u);
    sim.expect_all_accounted_for();
}

TEST(BackendTimer, LostDeviceIsLeftAlone) {
    Sim sim;
    auto timer = make_timer(sim.pool);
    timer.record_start();
    timer.record_end();
    sim.backend.lose_device();
    expect_error(timer.elapsed({.deadline_ns = 1'000'000'000}), Errc::kDeviceLost, "make a new pool");
    const uint64_t polls = sim.backend.polls();
    EXPECT_EQ(sim.measure(timer).lost, LossReason::kDeviceLost);
    EXPECT_EQ(sim.backend.polls(), polls);
    EXPECT_FALSE(sim.pool.info().supported);
    sim.expect_all_accounted_for();
}

TEST(BackendTimer, CounterThatWrapsInBetweenGivesTheRightTime) {
    for (const uint32_t bits : {32u, 36u, 48u}) {
        Sim sim({.valid_bits = bits, .start_ticks = (uint64_t{1} << bits) - 1000});
        auto timer = make_timer(sim.pool);
        EXPECT_EQ(sim.measure(timer, 3000).duration_ns, 3100) << bits;
        EXPECT_EQ(sim.measure(timer, 10).duration_ns, 110) << bits;
    }
}

TEST(BackendTimer, ShortTimesKeepTheirNanoseconds) {
    Sim sim({.ns_per_tick = 52.08, .ticks_per_mark = 1});
    auto timer = make_timer(sim.pool);
    EXPECT_EQ(sim.measure(timer, 2).duration_ns, 156);    // 3 ticks
}

TEST(BackendTimer, BeginIsOnTheHostClock) {
    for (const bool calibrated : {true, false}) {
        Sim sim({.calibrated = calibrated});
        EXPECT_EQ(sim.pool.calibrate().ok(), calibrated);
        auto timer = make_timer(sim.pool);
        sim.backend.advance(1'000'000'000);
        for (int i = 0; i < 20; ++i) sim.measure(timer);
        const int64_t before = sim.backend.host_now().value;
        const TimerReading reading = sim.measure(timer);
        const int64_t uncertainty = *sim.pool.info().clock.uncertainty_ns;
        EXPECT_NEAR(static_cast<double>(reading.begin_ns - before), 100, static_cast<double>(uncertainty))
            << calibrated;
        EXPECT_LE(uncertainty, 250'000) << "a second after the only anchor, at 200 ppm";
    }
}

TEST(BackendTimer, MayBeReadAndDroppedOnAnotherThread) {
    Sim sim;
    auto timer = make_timer(sim.pool);
    timer.record_start();
    timer.record_end();
    std::thread([moved = std::move(timer)]() mutable {
        EXPECT_EQ(moved.elapsed({.deadline_ns = 1'000'000'000})->duration_ns, 100);
    }).join();
    EXPECT_EQ(sim.measure(*std::make_unique<BackendTimer<SimBackend>>(sim.pool)).duration_ns, 1100);
    EXPECT_EQ(sim.pool.stats().timers, 1u);
}

TEST(BackendTimer, ThreadsReadWhileOneMeasures) {
    Sim sim;
    std::vector<std::thread> readers;
    std::vector<BackendTimer<SimBackend>> handed;
    for (int round = 0; round < 200; ++round) {
        auto timer = make_timer(sim.pool);
        timer.record_start();
        timer.record_end();
        readers.emplace_back([moved = std::move(timer)]() mutable {
            EXPECT_EQ(moved.elapsed({.deadline_ns = 60'000'000'000})->duration_ns, 100);
        });
        if (readers.size() < 4) continue;
        for (std::thread& reader : readers) reader.join();
        readers.clear();
    }
    sim.expect_all_accounted_for();
    EXPECT_LE(sim.pool.stats().timers, 4u);
}

TEST(TimerPool, TimersBeyondItsStampsAreLostAsRingFullAndCounted) {
    Sim sim({}, {.max_timers = 2});
    auto first = make_timer(sim.pool);
    {
        auto second = make_timer(sim.pool);
        auto third = make_timer(sim.pool);
        expect_error((sim.measure(third), third.elapsed()), Errc::kExhausted, "max_timers");
        EXPECT_TRUE(sim.measure(second).ready());
    }
    auto fourth = make_timer(sim.pool);
    EXPECT_TRUE(sim.measure(fourth).ready()) << "the second one's stamps are free again";
    EXPECT_TRUE(sim.measure(first).ready());
    EXPECT_EQ(sim.pool.stats().lost[LossReason::kRingFull], 1u);
    sim.expect_all_accounted_for();
}

TEST(TimerPool, BackendWithoutRoomIsTheLimit) {
    Sim sim({.max_stamps = 4}, {.first_stamp = 1});
    auto first = make_timer(sim.pool);
    auto second = make_timer(sim.pool);
    EXPECT_TRUE(sim.measure(first).ready());
    EXPECT_EQ(sim.measure(second).lost, LossReason::kRingFull);
}

TEST(TimerPool, DroppedTimersAreCountedAsAbandoned) {
    Sim sim;
    {
        auto running = make_timer(sim.pool);
        running.record_start();
        auto unread = make_timer(sim.pool);
        unread.record_start();
        unread.record_end();
    }
    EXPECT_EQ(sim.pool.stats().lost[LossReason::kAbandoned], 2u);
    sim.expect_all_accounted_for();
}

TEST(TimerPool, QueueWithoutTimestampsSaysWhyAndWhatToDo) {
    Sim sim({.valid_bits = 0});
    auto timer = make_timer(sim.pool);
    sim.measure(timer);
    expect_error(timer.elapsed(), Errc::kUnsupported, "TimerPoolOptions::wait");
    EXPECT_EQ(sim.backend.marks(), 0u);
    EXPECT_FALSE(sim.pool.info().supported);
    EXPECT_STRNE(sim.pool.info().reason, "");
}

// A wait for the queue takes 700 ns here.
bool wait_700(void* sim) noexcept {
    static_cast<SimBackend*>(sim)->advance(700);
    return true;
}

TEST(TimerPool, TimingByWaitingShowsWhatTheWaitingAdds) {
    SimBackend backend({.valid_bits = 0});
    TimerPool<SimBackend> pool(
        backend, {0},
        {.wait = wait_700, .wait_context = &backend, .now = SimBackend::host_clock, .now_context = &backend});
    EXPECT_TRUE(pool.info().supported);
    EXPECT_EQ(pool.info().timed_by, TimedBy::kWaiting);
    EXPECT_FALSE(pool.info().inflation_ns) << "not measured yet: unknown, not 0";
    auto timer = make_timer(pool);
    timer.record_start();
    backend.advance(2000);
    timer.record_end();
    const TimerReading reading = timer.try_elapsed();
    ASSERT_TRUE(reading.ready());
    EXPECT_EQ(reading.timed_by, TimedBy::kWaiting);
    EXPECT_EQ(reading.duration_ns, 2700) << "the wait is in it";
    EXPECT_EQ(*reading.inflation_ns, 700);
    EXPECT_EQ(*pool.info().inflation_ns, 700);
    EXPECT_EQ(backend.marks(), 0u);
}

TEST(TimerPool, WaitThatFailsIsADriverError) {
    SimBackend backend({.valid_bits = 0});
    TimerPool<SimBackend> pool(backend, {0}, {.wait = [](void*) noexcept { return false; }});
    auto timer = make_timer(pool);
    timer.record_start();
    EXPECT_EQ(timer.try_elapsed().lost, LossReason::kDriverError);
}

TEST(TimerPool, QueueThatDeliversOnlyZerosIsGivenUp) {
    Sim sim({}, {.zeros_to_degrade = 3});
    auto timer = make_timer(sim.pool);
    sim.backend.script(SimFault::kZero, 1000);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(sim.measure(timer).lost, LossReason::kZeroStamp);
    const uint64_t marks = sim.backend.marks();
    const TimerReading after = sim.measure(timer);
    EXPECT_EQ(after.lost, LossReason::kUnsupported);
    EXPECT_NE(std::string(after.reason).find("zeros"), std::string::npos);
    EXPECT_EQ(sim.backend.marks(), marks);
}

TEST(TimerPool, NothingIsUnaccountedForWhateverHappens) {
    std::mt19937 random(5);
    for (int round = 0; round < 20; ++round) {
        Sim sim({.ready_after_polls = static_cast<uint32_t>(random() % 3)}, {.max_timers = 4});
        std::vector<BackendTimer<SimBackend>> timers(6);
        for (int i = 0; i < 500; ++i) {
            BackendTimer<SimBackend>& timer = timers[random() % timers.size()];
            switch (random() % 8) {
                case 0:
                    timer = make_timer(sim.pool);
                    break;
                case 1:
                    timer = {};
                    break;
                case 2:
                    sim.backend.script(static_cast<SimFault>(random() % 8), 1, random() % 4, random() % 5000);
                    break;
                case 3:
                    sim.backend.set_capturing({3}, random() % 2 == 0);
                    break;
                case 4:
                    timer.try_elapsed();
                    break;
                case 5:
                    timer.record_end();
                    break;
                default:
                    timer.record_start();
            }
            sim.backend.advance(random() % 300);
        }
        timers.clear();
        sim.expect_all_accounted_for();
    }
}

TEST(TimerScope, EndsWhicheverWayTheScopeIsLeft) {
    Sim sim;
    auto timer = make_timer(sim.pool);
    const auto leaves_early = [&] {
        const TimerScope<SimBackend> scope(timer);
        sim.backend.advance(400);
        if (sim.backend.marks() > 0) return;
        sim.backend.advance(4000);
    };
    leaves_early();
    EXPECT_EQ(timer.elapsed()->duration_ns, 500);
}

TEST(CpuTimer, ReadsTheHostsTime) {
    auto timer = make_cpu_timer();
    expect_error(timer.elapsed(), Errc::kInvalidArgument, "not started");
    timer.record_start();
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    timer.record_end();
    const TimerReading reading = timer.try_elapsed();
    ASSERT_TRUE(reading.ready()) << "at once";
    EXPECT_GE(*reading.ms(), 1.99);
    EXPECT_LT(*reading.ms(), 10'000);
    const int64_t now = host_now().value;
    EXPECT_LE(reading.begin_ns + reading.duration_ns, now + 100'000);
    EXPECT_GE(reading.begin_ns, now - 10'000'000'000);
}

TEST(NullBackend, EveryCallIsThereAndDoesNothing) {
    NullBackend none;
    TimerPool<NullBackend> pool(none, {});
    auto timer = make_timer(pool);
    EXPECT_EQ(timer.record_start(), TimerMisuse::kNone);
    EXPECT_EQ(timer.record_end(), TimerMisuse::kNone);
    expect_error(timer.elapsed({.deadline_ns = 1'000'000'000}), Errc::kUnsupported, NullBackend::kReason);
    EXPECT_FALSE(pool.calibrate().ok());
    EXPECT_STREQ(pool.info().reason, NullBackend::kReason);
    DeviceRing<NullBackend> ring(none);
    const uint32_t queue = *ring.add_queue({}, 1);
    EXPECT_STREQ(ring.info(queue).reason, NullBackend::kReason);
    std::array<SpanRecord, 1> out;
    EXPECT_EQ(ring.harvest(out), 0u);
    auto cpu = make_cpu_timer();
    cpu.record_start();
    cpu.record_end();
    EXPECT_TRUE(cpu.elapsed().ok()) << "the CPU timer works without a GPU";
}

}    // namespace
}    // namespace lapwing
