// What a BrickProfiler is made of behind its hot side.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "lapwing/brick_profiler.hpp"
#include "lapwing/clock.hpp"
#include "lapwing/seq_cell.hpp"
#include "views/brick_device_view.hpp"
#include "views/brick_names.hpp"
#include "views/brick_shard.hpp"
#include "views/brick_span_output.hpp"

namespace lapwing {

namespace detail {
/// What elapsed_ns() counts from: `ns` at `tick`, and how it goes on from there.
struct BrickEpoch {
    uint64_t tick = 0;
    uint64_t ns = 0;
    uint64_t multiplier = uint64_t{1} << 48;
};
}    // namespace detail

struct BrickProfiler::State {
    State(BrickProfiler& profiler, const BrickProfilerOptions& options_in);

    const BrickProfilerOptions options;
    detail::BrickNames names;

    // Hot and cold side.
    std::array<std::atomic<uint64_t>, kBrickFaultCount> faults{};
    std::atomic<uint64_t> overlapping{0};
    std::atomic<uint64_t> unsent{0};    // samples folded without their spans, because records were full
    std::atomic<bool> has_output{false};
    std::atomic<SyncMode> mode{SyncMode::kDeferred};
    std::atomic<SyncFunction> sync{nullptr};
    std::atomic<void*> sync_context{nullptr};
    std::atomic<BrickDevice*> device{nullptr};
    std::atomic<bool> enabled{false};
    std::unique_ptr<std::atomic<uint32_t>[]> warmup_left;    // by key, host and device: [2 * key + clock]

    SeqCell<detail::BrickEpoch> epoch;

    std::mutex mutex;    // of all below, and of every reader: taken before a shard's
    std::vector<std::shared_ptr<detail::BrickShard>> shards;
    detail::BrickTallies device_tallies;
    detail::BrickDeviceTable device_table;
    detail::BrickDeviceView device_view;
    std::unique_ptr<detail::BrickSpanOutput> output;
    LossCounts lost_before;                      // spans lost with earlier sinks
    std::vector<BrickBottleneck> bottlenecks;    // by key
    std::optional<uint64_t> tokens;
    std::optional<double> l2_cache_hit_rate;
    bool zero_copy = false;

    [[nodiscard]] std::size_t max_keys() const noexcept { return kBrickIdCount + options.max_named_bricks; }
    void fault(BrickFault fault) noexcept {
        faults[static_cast<std::size_t>(fault)].fetch_add(1, std::memory_order_relaxed);
    }
    /// Whether this sample of the key is a warm-up, which uses one of them up.
    [[nodiscard]] bool take_warmup(uint16_t key, BrickClock clock) noexcept;
    void set_epoch(bool keep_elapsed) noexcept;

    /// Folds what the shard's thread has finished. Shape: the shard's mutex is held; with `to`, the profiler's too.
    /// `unsent`: the spans that `to` would have got are counted as lost.
    void fold(detail::BrickShard& shard, detail::BrickSpanOutput* to, bool counts_unsent = false);
    /// Folds every shard, spans to the output. Shape: `mutex` is held.
    void fold_all();
    void add_device_sample(const detail::BrickDeviceEntry& entry, uint64_t ns);
    /// Spans lost so far. Shape: `mutex` is held.
    [[nodiscard]] LossCounts lost_spans() const;

private:
    struct Folding;
    void fold_records(Folding& folding, const detail::BrickRecord* records, uint32_t count);
    void fold_special(Folding& folding, const detail::BrickRecord& record, const detail::BrickRecord* more);
    void take(Folding& folding, const detail::BrickRecord& record, int64_t begin_ns, BrickSample sample);
};

}    // namespace lapwing
