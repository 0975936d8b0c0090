// Host-visible memory in cells that each hold one chunk's results of one execution.
#pragma once

#include <vulkan/vulkan_core.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "backends/vulkan/entry_points.hpp"
#include "backends/vulkan/host_buffer.hpp"
#include "backends/vulkan/query_chunks.hpp"

namespace lapwing::vulkan {

/// Room for the results of one QueryChunk, owned by whoever took it until it is given back.
struct ResultCell {
    VkBuffer buffer = VK_NULL_HANDLE;
    uint64_t* words = nullptr;    ///< {ticks, availability} of each query
    uint32_t slab = 0;
    uint32_t index = 0;    ///< in the slab

    /// Whether result `query` was copied here since clear(). Any non-zero availability counts: SwiftShader's is 2.
    [[nodiscard]] bool ready(uint32_t query) const noexcept {
        // Acquire: the ticks were there before this word, as far as the host's own memory model goes.
        return std::atomic_ref(words[2 * std::size_t{query} + 1]).load(std::memory_order_acquire) != 0;
    }
    [[nodiscard]] uint64_t ticks(uint32_t query) const noexcept {
        return std::atomic_ref(words[2 * std::size_t{query}]).load(std::memory_order_relaxed);
    }
    /// Marks `count` results as absent. Before the submission that will write them.
    void clear(uint32_t count) const noexcept;
};

/// Hands out cells, lowest first, so that the cells of one execution are adjacent where that can be.
///
/// A recording that is submitted again and again writes the same queries each time. The device copies them to cells of
/// their own before the next execution overwrites them, and the host reads memory: no driver call, so nothing to wait
/// for, on any driver.
///
/// Cost:    take() makes driver calls where no cell is free (one more slab of 256 KiB), otherwise a bit scan.
/// Threads: one at a time.
class ResultCells {
public:
    struct Options {
        uint32_t results_per_cell = 16;    ///< > 0: QueryChunks' queries_per_chunk
        uint32_t max_slabs = 64;           ///< of 1024 cells each; at the cap take() gives nothing. > 0
    };

    /// `table` must outlive this object. No memory is allocated before the first take().
    ResultCells(const DeviceTable& table, VkDevice device, const VkPhysicalDeviceMemoryProperties& memory,
                Options options) noexcept
        : table_(table), device_(device), memory_(memory), options_(options) {}
    ResultCells(const ResultCells&) = delete;
    ResultCells& operator=(const ResultCells&) = delete;
    /// Does *not* free the memory; see destroy().
    ~ResultCells() = default;

    /// A cell, or nothing where the cap is reached or the driver refused memory. Throws std::bad_alloc.
    [[nodiscard]] std::optional<ResultCell> take();
    void give_back(const ResultCell& cell) noexcept;

    /// Whether the last take() that gave nothing failed in the driver, rather than at the cap.
    [[nodiscard]] bool driver_refused() const noexcept { return driver_refused_; }
    [[nodiscard]] uint64_t taken() const noexcept { return taken_; }

    /// Records the copies of the queries in use of `chunks` to `cells`, one command a run that is adjacent in both, and
    /// the barrier to the host. The device waits for the results: legal only behind the commands that write them all,
    /// since a query that is never written would hang the queue (gapid#3661).
    /// Shape:   one cell a chunk.
    void record_copies(VkCommandBuffer commands, const std::vector<QueryChunk>& chunks,
                       const std::vector<ResultCell>& cells) const noexcept;

    /// Frees every slab. No copy may be unfinished; cells still out become invalid.
    void destroy() noexcept;

private:
    static constexpr uint32_t kWords = 16;
    static constexpr uint32_t kCellsPerSlab = 64 * kWords;
    struct Slab {
        HostBuffer buffer;
        std::array<uint64_t, kWords> free{};    // one bit a cell
    };
    bool grow();

    const DeviceTable& table_;
    VkDevice device_;
    VkPhysicalDeviceMemoryProperties memory_;
    Options options_;
    std::vector<Slab> slabs_;
    uint32_t lowest_ = 0;    // no slab below this one has a free cell
    uint64_t taken_ = 0;
    bool driver_refused_ = false;
};

}    // namespace lapwing::vulkan
