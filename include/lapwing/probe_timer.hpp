// Optional probes: timers that are there only when asked for, and their results in a trace.
//
// The caller decides once whether probes are on (from its own options, or `level()`), not in the loop. Off, a
// probe is an empty optional: no stamp, no clock, no allocation.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "lapwing/backend_timer.hpp"
#include "lapwing/probe_trace.hpp"

namespace lapwing {

/// A started timer of the pool's, or none where `enabled` is false.
/// Cost:    hot: a branch when off; else a pair of stamps out of the pool (a short lock) and record_start().
template <Backend B>
[[nodiscard]] std::optional<BackendTimer<B>> start_probe_timer_if(bool enabled, TimerPool<B>& pool) noexcept {
    if (!enabled) return std::nullopt;
    std::optional<BackendTimer<B>> timer(std::in_place, pool);
    timer->record_start();
    return timer;
}

/// Ends the probe and says what is known of it by now; none for none. The timer stays with the caller, who asks it
/// again later where the reading is kPending.
/// Shape:   waits for the device only where `wait` says so.
template <Backend B>
std::optional<TimerReading> finish_probe_timer(std::optional<BackendTimer<B>>& timer, TimerWait wait = {}) {
    if (!timer) return std::nullopt;
    timer->record_end();
    if (wait.deadline_ns > 0) static_cast<void>(timer->elapsed(wait));
    return timer->try_elapsed();
}

/// As finish_probe_timer(), and hands the probe to `trace` under a name, a category and a track number: as a span once
/// the device has got there (TimerPool::collect), or as a loss. The timer is taken, so a probe is traced once.
/// Shape:   a null trace (global_trace() while it is off): as finish_probe_timer(). The trace outlives the pool.
/// Cost:    cold: two short locks and a look-up of the name.
template <Backend B>
std::optional<TimerReading> finish_probe_timer_traced(std::optional<BackendTimer<B>>& timer, ProbeTrace* trace,
                                                      std::string_view name, std::string_view category, uint32_t tid,
                                                      TimerWait wait = {}) {
    const std::optional<TimerReading> reading = finish_probe_timer(timer, wait);
    if (!reading || trace == nullptr || timer->pool() == nullptr) return reading;
    TimerPool<B>& pool = *timer->pool();
    pool.trace(timer->release(), *trace, trace->place({pool.book().name(), pool.book().host(), name, category, tid}));
    timer.reset();
    pool.collect();
    return reading;
}

/// A traced probe around a scope, ended whichever way the scope is left.
/// Shape:   `name` and `category` outlive the scope. A null trace or `enabled` = false: nothing is timed.
template <Backend B>
class ProbeScope {
public:
    ProbeScope(bool enabled, TimerPool<B>& pool, ProbeTrace* trace, std::string_view name, std::string_view category,
               uint32_t tid) noexcept
        : timer_(start_probe_timer_if(enabled && trace != nullptr, pool)),
          trace_(trace),
          name_(name),
          category_(category),
          tid_(tid) {}
    ~ProbeScope() { finish(); }
    ProbeScope(const ProbeScope&) = delete;
    ProbeScope& operator=(const ProbeScope&) = delete;

    /// Ends it early; the second time, and by the destructor after it, nothing.
    std::optional<TimerReading> finish(TimerWait wait = {}) {
        return finish_probe_timer_traced(timer_, trace_, name_, category_, tid_, wait);
    }

private:
    std::optional<BackendTimer<B>> timer_;
    ProbeTrace* trace_;
    std::string_view name_;
    std::string_view category_;
    uint32_t tid_;
};

}    // namespace lapwing
