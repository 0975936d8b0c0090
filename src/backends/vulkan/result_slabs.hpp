// Host-visible memory that mirrors query pools, so that the device itself can copy results to where the host reads
// them.
#pragma once

#include <vulkan/vulkan_core.h>

#include <cstdint>
#include <vector>

#include "backends/vulkan/entry_points.hpp"
#include "backends/vulkan/host_buffer.hpp"
#include "backends/vulkan/query_chunks.hpp"
#include "lapwing/result.hpp"

namespace lapwing::vulkan {

/// A run of adjacent queries of one pool.
struct QueryRun {
    VkQueryPool pool = VK_NULL_HANDLE;
    uint32_t pool_index = 0;
    uint32_t first = 0;
    uint32_t count = 0;
};

/// One buffer a query pool, with the same layout: query i of pool p is at 16 * i of buffer p, as {ticks, availability}.
///
/// Whoever owns a chunk of queries thereby owns its bytes here: no allocation of its own is needed. For recordings that
/// are submitted once; where each execution needs its own bytes, see result_cells.hpp.
/// Threads: one at a time.
class ResultSlabs {
public:
    /// `table` must outlive this object.
    ResultSlabs(const DeviceTable& table, VkDevice device, const VkPhysicalDeviceMemoryProperties& memory) noexcept;

    /// Makes sure that pool `pool_index` of `queries` queries has its buffer.
    /// Errors:  kUnsupported without a fitting memory type; kDriver with the driver's code; kDeviceLost. Nothing is
    /// leaked.
    [[nodiscard]] Status provide(uint32_t pool_index, uint32_t queries);

    /// Marks the results of a run as absent. Before the submission that will write them.
    void clear(const QueryRun& run) noexcept;

    /// Records the copy of a run's results, and waits on the device for them: legal for queries that were written
    /// earlier in the same command buffer only, since a query that is never written would hang the queue (gapid#3661).
    void record_copy(VkCommandBuffer commands, const QueryRun& run) const noexcept;

    [[nodiscard]] bool ready(uint32_t pool_index, uint32_t query) const noexcept {
        return word(pool_index, query)[1] != 0;    // SwiftShader's availability is 2
    }
    [[nodiscard]] uint64_t ticks(uint32_t pool_index, uint32_t query) const noexcept {
        return word(pool_index, query)[0];
    }

    /// Frees every buffer. No copy into them may be unfinished.
    void destroy() noexcept;

private:
    [[nodiscard]] uint64_t* word(uint32_t pool_index, uint32_t query) const noexcept {
        return slabs_[pool_index].words + 2 * std::size_t{query};
    }

    const DeviceTable& table_;
    VkDevice device_;
    VkPhysicalDeviceMemoryProperties memory_;
    std::vector<HostBuffer> slabs_;    // indexed by pool
};

}    // namespace lapwing::vulkan
