// A timer on the host's clock, without a pool to keep.
#pragma once

#include "lapwing/backend_timer.hpp"
#include "lapwing/cpu_backend.hpp"

namespace lapwing {

/// Times what the calling thread does; its result is there at once.
using CpuTimer = BackendTimer<CpuBackend>;

/// The process's pool of CpuTimers: at most 65 536 at a time.
/// Shape:   never destroyed, so that timers in static objects may end after main().
/// Cost:    the first call as the constructor of CpuBackend: up to 5 ms.
[[nodiscard]] TimerPool<CpuBackend>& cpu_timer_pool();

/// A timer out of it.
[[nodiscard]] CpuTimer make_cpu_timer();

}    // namespace lapwing
