// What waiting for the device costs a program: the price of an empty round trip, and whether waits dominate a run.
#pragma once

#include <cstdint>
#include <functional>

#include "lapwing/clock.hpp"
#include "lapwing/result.hpp"
#include "lapwing/statistics.hpp"

namespace lapwing {

/// An empty submission and the wait for it, many times over.
/// Units:   ns of host time.
struct RoundTrip {
    uint64_t count = 0;
    double mean_ns = 0;
    double p50_ns = 0;
    double min_ns = 0;
};

/// Calls `submit_and_wait`, which submits nothing but an empty command buffer (or a fence) and waits for it, `count`
/// times after one that is not counted.
/// Errors:  kInvalidArgument for count 0; the callable's own first error.
/// Cost:    cold, and it waits for the device: a calibration before or after a run, never in it.
[[nodiscard]] Result<RoundTrip> measure_round_trip(uint64_t count, const std::function<Status()>& submit_and_wait,
                                                   const std::function<HostNs()>& now = host_now);

/// Where the time of a run that waits goes.
enum class SyncVerdict : uint8_t {
    kUnknown = 0,     ///< no wall time, or no baseline
    kComputeBound,    ///< waits are at most 25 % of it
    kMixed,
    kSyncBound,    ///< waits are at least 60 % of it: submit more before waiting
};
[[nodiscard]] const char* to_text(SyncVerdict verdict) noexcept;

struct FenceShare {
    double share = 0;    ///< of wall, 0..; above 1 the baseline does not hold for this run
    SyncVerdict verdict = SyncVerdict::kUnknown;
};

/// The share of a run that its waits cost by themselves: `waits` empty round trips over the wall time.
/// Source:  the thresholds of qualia's profiler, see docs/FEATURES.md.
[[nodiscard]] FenceShare fence_share(const RoundTrip& baseline, uint64_t waits, int64_t wall_ns) noexcept;

}    // namespace lapwing
