#include "lapwing/round_trip.hpp"

#include <algorithm>
#include <vector>

namespace lapwing {

Result<RoundTrip> measure_round_trip(uint64_t count, const std::function<Status()>& submit_and_wait,
                                     const std::function<HostNs()>& now) {
    if (count == 0)
        return Error{Errc::kInvalidArgument, 0, "a round trip is measured at least once: ask for a count > 0"};
    std::vector<double> times;
    times.reserve(count);
    // The first one may create what the later ones use.
    for (uint64_t i = 0; i <= count; ++i) {
        const HostNs before = now();
        const Status status = submit_and_wait();
        const HostNs after = now();
        if (!status.ok()) return status.error();
        if (i != 0) times.push_back(static_cast<double>(after.value - before.value));
    }
    RoundTrip out;
    out.count = count;
    for (const double time : times) out.mean_ns += time / static_cast<double>(count);
    const Result<double> middle = percentile(times, 50);
    if (!middle.ok()) return middle.error();
    out.p50_ns = middle.value();
    out.min_ns = *std::min_element(times.begin(), times.end());
    return out;
}

const char* to_text(SyncVerdict verdict) noexcept {
    switch (verdict) {
        case SyncVerdict::kUnknown:
            return "unknown";
        case SyncVerdict::kComputeBound:
            return "compute-bound";
        case SyncVerdict::kMixed:
            return "mixed";
        case SyncVerdict::kSyncBound:
            return "sync-bound";
    }
    return "unknown";
}

FenceShare fence_share(const RoundTrip& baseline, uint64_t waits, int64_t wall_ns) noexcept {
    if (baseline.count == 0 || wall_ns <= 0) return {};
    FenceShare out;
    out.share = baseline.mean_ns * static_cast<double>(waits) / static_cast<double>(wall_ns);
    out.verdict = out.share >= 0.60   ? SyncVerdict::kSyncBound
                  : out.share <= 0.25 ? SyncVerdict::kComputeBound
                                      : SyncVerdict::kMixed;
    return out;
}

}    // namespace lapwing
