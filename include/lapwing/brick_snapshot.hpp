// What a BrickProfiler knows at one moment, as plain data.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "lapwing/brick_stats.hpp"
#include "lapwing/result.hpp"

namespace lapwing {

/// A layer as SyncMode::kPerLayer sees it: from begin_layer() to the end of the wait in end_layer().
struct LayerStats {
    int32_t layer = 0;
    uint64_t count = 0;
    uint64_t total_ns = 0;
    uint64_t wait_ns = 0;    ///< of total_ns: spent in the sync function
};

/// Figures of a profiler.
/// Shape:   sums over bricks are those of `bricks`, so that the categories add up to total_ns by construction.
struct BrickSnapshot {
    bool enabled = false;
    SyncMode sync_mode = SyncMode::kDeferred;
    uint32_t warmup_samples = 0;
    /// Bricks with samples of any sort, by total time descending, then name, then clock.
    std::vector<BrickStats> bricks;
    std::vector<CategoryStats> categories;    ///< all, by number: the seven, then the user's
    std::vector<LayerStats> layers;           ///< by layer
    std::optional<uint64_t> total_tokens;     ///< absent until add_tokens() was called
    uint64_t total_elements = 0;
    uint64_t total_ns = 0;    ///< of samples, nested ones counted in both
    /// Time in any brick, summed over threads and devices, warm-up included: what total_ns is without nesting.
    int64_t exclusive_ns = 0;
    std::size_t pending = 0;                            ///< deferred records that wait for finalize()
    std::array<uint64_t, kBrickFaultCount> faults{};    ///< refused samples, by BrickFault
    uint64_t overlapping = 0;                           ///< stops out of order: exclusive times are off by these
    std::optional<double> l2_cache_hit_rate;
    bool zero_copy = false;

    /// Elements of all bricks a second of total_ns; 0 without time.
    [[nodiscard]] double total_throughput() const noexcept;
    /// Tokens a second in bricks; absent where the tokens or the time are not known.
    [[nodiscard]] std::optional<double> tokens_per_sec() const noexcept;
    /// The brick of a name or of another spelling of it. Where both clocks have samples, the device's.
    /// Errors:  kNotFound saying what to do.
    [[nodiscard]] Result<const BrickStats*> stats(std::string_view name) const;
    [[nodiscard]] Result<const BrickStats*> stats(std::string_view name, BrickClock clock) const;
};

}    // namespace lapwing
