// CPU cycles, and a clock that is read without reading a clock.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "lapwing/clock.hpp"
#include "lapwing/result.hpp"

namespace lapwing {

/// The CPU's counter behind all earlier instructions: for the cycles of a BrickSample.
/// Units:   cycles of the time-stamp counter, which is not the core's clock where the core is throttled or boosted;
///          AArch64: ticks of cntvct. 0 where there is no counter: cycles are then "not known".
/// Cost:    about 1.6 times tick().
/// Threads: any.
[[nodiscard]] inline uint64_t cpu_cycles() noexcept {
#if defined(__x86_64__) || defined(__aarch64__)
    return tick_ordered().value;
#else
    return 0;
#endif
}

/// CLOCK_MONOTONIC as of at most a period ago, by one load.
/// Shape:   no thread until start(); one a clock, named "lapwing-clock", with all signals blocked.
/// Threads: reading: any. start and stop: one at a time.
class CachedClock {
public:
    CachedClock();
    ~CachedClock();
    CachedClock(const CachedClock&) = delete;
    CachedClock& operator=(const CachedClock&) = delete;

    /// Starts the thread. `period_ns`: 10 us to 1 s. A running clock goes on.
    /// Errors:  kInvalidArgument for another period; kExhausted where no thread can be had.
    Status start(int64_t period_ns = 100'000);
    /// Ends the thread; from now on there is no cached time.
    void stop() noexcept;

    /// The last reading; 0 while the thread does not run. Units: ns.
    [[nodiscard]] int64_t cached_nanos() const noexcept { return nanos_.load(std::memory_order_relaxed); }
    /// The last reading, or a fresh one while the thread does not run.
    [[nodiscard]] int64_t cached_nanos_or_now() const noexcept {
        const int64_t cached = cached_nanos();
        return cached != 0 ? cached : host_now().value;
    }

private:
    struct Worker;
    std::atomic<int64_t> nanos_{0};
    std::unique_ptr<Worker> worker_;
};

}    // namespace lapwing
