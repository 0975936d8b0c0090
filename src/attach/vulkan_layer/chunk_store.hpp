// The device's query chunks behind a lock: command buffers are recorded on many threads.
#pragma once

#include <mutex>
#include <optional>
#include <vector>

#include "backends/vulkan/query_chunks.hpp"

namespace lapwing::attach::vulkan_layer {

/// Threads: any. Never calls back, and takes no other lock: recordings may die while DeviceQueues' mutex is held.
class ChunkStore {
public:
    ChunkStore(const vulkan::DeviceTable& vk, VkDevice device)
        : chunks_(vk, device, {.queries_per_chunk = kQueriesPerChunk, .max_pools = kMaxPools}) {}

    [[nodiscard]] std::optional<vulkan::QueryChunk> take() noexcept {
        const std::lock_guard lock(mutex_);
        return chunks_.take();
    }
    void give_back(const std::vector<vulkan::QueryChunk>& chunks) noexcept {
        if (chunks.empty()) return;
        const std::lock_guard lock(mutex_);
        for (const vulkan::QueryChunk& chunk : chunks) chunks_.give_back(chunk);
    }
    /// The device must be idle.
    void destroy() noexcept {
        const std::lock_guard lock(mutex_);
        chunks_.destroy();
    }

    static constexpr uint32_t kQueriesPerChunk = 16;
    /// 64 chunks a pool: 245,760 commands may wait for their results; beyond that the newest are lost as `ring_full`.
    static constexpr uint32_t kMaxPools = 256;

private:
    std::mutex mutex_;
    vulkan::QueryChunks chunks_;
};

}    // namespace lapwing::attach::vulkan_layer
