// A thread's records and statistics in one BrickProfiler.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "lapwing/brick_snapshot.hpp"
#include "lapwing/brick_stats.hpp"
#include "lapwing/detail/brick_records.hpp"
#include "lapwing/record.hpp"

namespace lapwing::detail {

/// The statistics of one brick in one place, and whether its warm-up may still go on.
struct BrickTally {
    BrickStats stats;
    bool warming = true;
};

/// Tallies by key; made as keys are met.
class BrickTallies {
public:
    explicit BrickTallies(std::size_t keys) : tallies_(keys), settled_(keys) {}

    [[nodiscard]] BrickTally& at(uint16_t key) {
        if (tallies_[key] == nullptr) tallies_[key] = std::make_unique<BrickTally>();
        return *tallies_[key];
    }
    [[nodiscard]] const BrickTally* find(std::size_t key) const noexcept { return tallies_[key].get(); }
    [[nodiscard]] std::size_t size() const noexcept { return tallies_.size(); }
    /// The statistics of a key that is there and past its warm-up, else null: one look for both.
    [[nodiscard]] BrickStats* settled(uint16_t key) const noexcept { return settled_[key]; }
    void end_warmup(uint16_t key) noexcept {
        tallies_[key]->warming = false;
        settled_[key] = &tallies_[key]->stats;
    }
    /// Forgets the samples and keeps the memory, so that a thread that goes on allocates nothing.
    void clear() {
        for (const auto& tally : tallies_)
            if (tally != nullptr) *tally = BrickTally{};
        settled_.assign(settled_.size(), nullptr);
    }

private:
    std::vector<std::unique_ptr<BrickTally>> tallies_;
    std::vector<BrickStats*> settled_;
};

/// A deferred record that waits for finalize().
struct PendingBrick {
    uint64_t start_ns;
    uint64_t elements;
    uint16_t brick;
};

/// What lets names be looked up without making a string of them.
struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept { return std::hash<std::string_view>{}(text); }
};
template <class Value>
using TextMap = std::unordered_map<std::string, Value, TextHash, std::equal_to<>>;

/// The owner writes records without a lock. Whoever holds the mutex folds them: a reader, or the owner itself when a
/// chunk is full. An owner that finds the mutex taken goes on in another chunk, so that it never waits.
struct BrickShard : BrickThread {
    BrickShard(uint64_t profiler_serial, std::size_t max_keys);
    ~BrickShard();
    BrickShard(const BrickShard&) = delete;
    BrickShard& operator=(const BrickShard&) = delete;

    // Of the owner.
    TextMap<uint16_t> keys;                               // of names that the thread used
    std::unordered_map<uint64_t, SiteId> device_sites;    // by brick, layer and warm-up
    std::size_t chunk_count = 1;                          // allocated so far
    uint64_t layer_begin = 0;                             // tick; 0 = not timed

    // Between threads.
    std::atomic<bool> ended{false};    // the owner is gone: the next new thread may go on here

    std::mutex mutex;               // of all below
    BrickChunk* tail;               // oldest chunk that is not folded
    uint32_t folded = 0;            // records of it that are
    BrickChunk* spare = nullptr;    // list by `next`
    BrickTallies tallies;
    std::vector<LayerStats> layers;
    std::vector<PendingBrick> pending;
    uint64_t thread_id = 0;
    TrackId track = 0;    // in the sink's recording; 0 = not announced

    /// Takes a finished chunk out of use.
    void recycle(BrickChunk* chunk) noexcept;
    /// A chunk for the owner: a spare one, which needs the mutex, or a new one. Null where neither is to be had.
    [[nodiscard]] BrickChunk* take_spare() noexcept;
    [[nodiscard]] BrickChunk* allocate(std::size_t max_chunks) noexcept;
    /// Puts `chunk` behind the open one. Owner only.
    void open_next(BrickChunk* chunk) noexcept;
};

}    // namespace lapwing::detail
