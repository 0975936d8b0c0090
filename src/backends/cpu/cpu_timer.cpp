#include "lapwing/cpu_timer.hpp"

namespace lapwing {

TimerPool<CpuBackend>& cpu_timer_pool() {
    constexpr uint32_t kTimers = 1 << 16;
    static CpuBackend& backend = *new CpuBackend({.max_stamps = 2 * kTimers});
    static auto& pool = *new TimerPool<CpuBackend>(backend, {}, {.name = "host", .host = true, .max_timers = kTimers});
    return pool;
}

CpuTimer make_cpu_timer() {
    return make_timer(cpu_timer_pool());
}

}    // namespace lapwing
