// The host clock: a counter read in one instruction on the hot path, nanoseconds of CLOCK_MONOTONIC on the cold one.
#pragma once

#include <compare>
#include <cstdint>

#include "lapwing/units.hpp"

namespace lapwing {

/// A raw reading of the host clock.
/// Units:   ticks of what `host_clock().source` names; convert with to_host(). Not device ticks, and not ns.
struct HostTicks {
    uint64_t value = 0;
    friend constexpr auto operator<=>(const HostTicks&, const HostTicks&) = default;
};

/// What tick() reads.
enum class HostClockSource : uint8_t {
    kTsc = 0,           ///< x86-64 time-stamp counter, constant and non-stop
    kVirtualCounter,    ///< AArch64 cntvct_el0
    kClockMonotonic,    ///< clock_gettime(CLOCK_MONOTONIC): this machine has no counter that can be trusted
};

/// The source's name in reports and files ("tsc", ...). Static string.
[[nodiscard]] const char* to_text(HostClockSource source) noexcept;

/// Ticks to CLOCK_MONOTONIC, as of one calibration. Plain data: take one per batch and convert with it.
/// Shape:   ns = base_ns + (tick - base_tick) * multiplier / 2^48, rounded down; ticks before the base are fine.
/// Cost:    one 64 x 64 bit multiplication a conversion.
struct HostScale {
    uint64_t base_tick = 0;
    int64_t base_ns = 0;
    uint64_t multiplier = uint64_t{1} << 48;
    int64_t uncertainty_ns = 0;    ///< half-width of the pair behind `base`; grows with the distance from it

    /// Ticks of a difference to ns. Shape: any sign; exact up to the calibration's rate.
    [[nodiscard]] constexpr int64_t to_ns(int64_t ticks) const noexcept {
        __extension__ typedef __int128 Wide;
        return static_cast<int64_t>((static_cast<Wide>(ticks) * static_cast<Wide>(multiplier)) >> 48);
    }
    [[nodiscard]] constexpr HostNs to_host(HostTicks tick) const noexcept {
        return HostNs{base_ns + to_ns(static_cast<int64_t>(tick.value - base_tick))};
    }
};

/// What the host clock is, and why.
struct HostClockInfo {
    HostClockSource source = HostClockSource::kClockMonotonic;
    const char* reason = "";       ///< static: why this source and no better one
    double ns_per_tick = 1;        ///< of the latest calibration
    int64_t uncertainty_ns = 0;    ///< half-width of the latest calibration's pair
    uint64_t calibrations = 0;     ///< how often the counter was paired with CLOCK_MONOTONIC
};

/// The choice and the state of its calibration.
/// Cost:    cold.
/// Threads: any.
[[nodiscard]] HostClockInfo host_clock() noexcept;

/// CLOCK_MONOTONIC now.
/// Cost:    cold: one vDSO call.
/// Threads: any.
[[nodiscard]] HostNs host_now() noexcept;

/// The newest conversion. Pairs the counter with CLOCK_MONOTONIC again when the last pair is older than 100 ms (sooner
/// while the process is young), so a conversion follows the kernel's steering of its clock.
/// Cost:    cold: at most some 20 clock reads; no lock: a second caller takes the last pair.
/// Threads: any.
[[nodiscard]] HostScale host_scale() noexcept;

/// A tick as a moment of CLOCK_MONOTONIC, by host_scale().
/// Cost:    cold. For many ticks take one host_scale().
/// Threads: any.
[[nodiscard]] HostNs to_host(HostTicks tick) noexcept;

namespace detail {
// Whether tick() reads the counter. Settled before any other static initialiser of the program's own image runs, never
// changed after, so that the ticks of one process are all of one kind. A plain bool, since it has no second writer and
// no thread exists yet: compilers test it in memory, which for an atomic takes them one instruction more.
extern constinit bool g_tick_by_counter;
[[nodiscard]] HostTicks tick_by_clock() noexcept;
}    // namespace detail

/// Reads the host clock.
/// Units:   see HostTicks. The counter is not ordered against the loads around it: a span around a missing load may
///          read as short as an empty one (about 10 ns). tick_ordered() waits for them.
/// Cost:    hot: one load, one branch, one rdtsc (AArch64: one mrs).
/// Threads: any.
[[nodiscard]] inline HostTicks tick() noexcept {
    if (!detail::g_tick_by_counter) [[unlikely]]
        return detail::tick_by_clock();
#if defined(__x86_64__)
    return HostTicks{__builtin_ia32_rdtsc()};
#elif defined(__aarch64__)
    uint64_t value;
    asm volatile("mrs %0, cntvct_el0" : "=r"(value));
    return HostTicks{value};
#else
    return detail::tick_by_clock();
#endif
}

/// As tick(), after every earlier instruction has completed. Costs about 1.6 times as much on x86-64.
[[nodiscard]] inline HostTicks tick_ordered() noexcept {
#if defined(__x86_64__)
    asm volatile("lfence" ::: "memory");
#elif defined(__aarch64__)
    asm volatile("isb" ::: "memory");
#endif
    return tick();
}

}    // namespace lapwing
