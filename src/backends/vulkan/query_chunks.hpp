// Timestamp queries in chunks carved from query pools, and the batched read of many chunks that never waits.
#pragma once

#include <vulkan/vulkan_core.h>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "backends/vulkan/entry_points.hpp"

namespace lapwing::vulkan {

/// A run of adjacent queries of one pool, owned by whoever took it until it is given back.
struct QueryChunk {
    VkQueryPool pool = VK_NULL_HANDLE;
    uint32_t first = 0;         ///< index of the first query in `pool`
    uint32_t used = 0;          ///< queries in use, counted from `first`; the owner counts
    uint32_t pool_index = 0;    ///< of the allocator's
};

/// Hands out chunks of queries, lowest first, so that what is recorded together is read together.
///
/// A recording takes a chunk when it needs one, resets it whole (vkCmdResetQueryPool at the place where it was taken,
/// outside render passes) and gives it back when its last result was read. Every query of a chunk must be reset before
/// any of it is read, since reads run over the unused tail of a chunk.
///
/// Cost:    take() makes a driver call where no chunk is free (one more pool), otherwise a bit scan.
/// Threads: one at a time; locking is the caller's business. vkCreateQueryPool itself needs none.
class QueryChunks {
public:
    struct Options {
        uint32_t queries_per_chunk = 16;    ///< > 0
        uint32_t max_pools = 256;           ///< of 64 chunks each; at the cap take() gives nothing. > 0
    };

    /// `table` must outlive this object. No pool is created before the first take().
    QueryChunks(const DeviceTable& table, VkDevice device, Options options) noexcept;
    QueryChunks(const QueryChunks&) = delete;
    QueryChunks& operator=(const QueryChunks&) = delete;

    /// Does *not* destroy the pools: whether the device may still be called is known to the caller only; see destroy().
    ~QueryChunks() = default;

    /// A chunk with `used` 0, or nothing where the cap is reached or the driver refused a pool (last_error()).
    [[nodiscard]] std::optional<QueryChunk> take() noexcept;

    /// Returns a chunk of this allocator whose queries no unfinished work uses.
    void give_back(const QueryChunk& chunk) noexcept;

    /// Destroys every pool. The device must be idle and not lost for good; chunks still out become invalid.
    void destroy() noexcept;

    [[nodiscard]] uint32_t queries_per_chunk() const noexcept { return options_.queries_per_chunk; }
    [[nodiscard]] std::size_t pools() const noexcept { return pools_.size(); }
    [[nodiscard]] uint64_t taken() const noexcept { return taken_; }              ///< chunks out now
    [[nodiscard]] uint64_t refused() const noexcept { return refused_; }          ///< takes that gave nothing
    [[nodiscard]] VkResult last_error() const noexcept { return last_error_; }    ///< VK_SUCCESS if none

private:
    struct Pool {
        VkQueryPool handle = VK_NULL_HANDLE;
        uint64_t free = 0;    // one bit a chunk
    };
    bool grow() noexcept;

    const DeviceTable& table_;
    VkDevice device_;
    Options options_;
    std::vector<Pool> pools_;
    uint32_t lowest_ = 0;    // no pool below this one has a free chunk
    uint64_t taken_ = 0;
    uint64_t refused_ = 0;
    VkResult last_error_ = VK_SUCCESS;
};

/// Reads many chunks in as few driver calls as their adjacency allows, without ever waiting.
///
/// One vkGetQueryPoolResults per run of adjacent chunks, 64-bit, WITH_AVAILABILITY, never WAIT (gapid#3661, dive#329).
/// Any non-zero availability is ready: SwiftShader writes 2. Where DeviceTraits::result_reads_block is set the call
/// blocks until the device is idle, so the caller must know that nothing is unfinished.
/// Threads: one at a time.
class QueryReader {
public:
    /// One chunk to read. `offset` is filled by read(): result i of the chunk is at `offset + i`.
    struct Request {
        QueryChunk chunk;
        uint32_t offset = 0;
    };

    struct Outcome {
        uint32_t calls = 0;             ///< driver calls made
        VkResult error = VK_SUCCESS;    ///< first result below 0; what was not read is not ready
        bool device_lost = false;       ///< stop touching the device
    };

    /// Reads the `used` first queries of every chunk of `requests`, which keeps its order.
    /// Shape:   all chunks come from one QueryChunks, whose `queries_per_chunk` is handed in.
    Outcome read(const DeviceTable& table, VkDevice device, uint32_t queries_per_chunk, std::span<Request> requests);

    /// Whether the result at `index` of the last read() is there.
    [[nodiscard]] bool ready(uint32_t index) const noexcept { return words_[2 * std::size_t{index} + 1] != 0; }
    /// Its raw ticks, unmasked; meaningless where it is not ready.
    [[nodiscard]] uint64_t ticks(uint32_t index) const noexcept { return words_[2 * std::size_t{index}]; }

private:
    std::vector<uint64_t> words_;    // {ticks, availability} a query
    std::vector<uint32_t> order_;
};

}    // namespace lapwing::vulkan
