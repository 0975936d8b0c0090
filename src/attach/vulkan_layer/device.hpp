// A device as the layer follows it.
#pragma once

#include <vulkan/vulkan_core.h>

#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "attach/session/session.hpp"
#include "attach/vulkan_layer/chunk_store.hpp"
#include "attach/vulkan_layer/command_buffer.hpp"
#include "attach/vulkan_layer/copy_store.hpp"
#include "attach/vulkan_layer/device_queues.hpp"
#include "attach/vulkan_layer/pipelines.hpp"
#include "backends/vulkan/device_clock.hpp"
#include "backends/vulkan/entry_points.hpp"

namespace lapwing::attach::vulkan_layer {

/// The parts that follow what the program does with a device.
/// Threads: any.
class Device {
public:
    /// `table` holds the next layer's functions and outlives this object.
    Device(VkDevice handle, const vulkan::DeviceTable& table, const vulkan::DeviceTraits& traits,
           const CopyStore::Setup& setup, Session& session);

    const VkDevice handle;
    const vulkan::DeviceTable& vk;

    /// Whether command buffers that are begun now get stamps.
    [[nodiscard]] bool armed() const noexcept { return session_.armed() && queues_.usable(); }

    [[nodiscard]] Session& session() noexcept { return session_; }
    [[nodiscard]] Counters& counters() noexcept { return session_.counters(); }
    [[nodiscard]] LabelTable& labels() noexcept { return session_.labels(); }
    [[nodiscard]] ChunkStore& chunks() noexcept { return chunks_; }
    [[nodiscard]] CopyStore& copies() noexcept { return copies_; }
    [[nodiscard]] PipelineTable& pipelines() noexcept { return pipelines_; }
    [[nodiscard]] DeviceQueues& queues() noexcept { return queues_; }
    void count_fault() noexcept { Counters::add(session_.counters().faults); }

    /// Throws std::bad_alloc.
    void add_command_pool(VkCommandPool pool, uint32_t queue_family);
    void forget_command_pool(VkCommandPool pool) noexcept;
    [[nodiscard]] PoolFamily family_of(VkCommandPool pool) const noexcept;

private:
    [[nodiscard]] DeviceInfo announce();

    const vulkan::DeviceTraits traits_;
    Session& session_;
    ChunkStore chunks_;
    CopyStore copies_;
    PipelineTable pipelines_;
    mutable std::mutex pools_mutex_;
    std::unordered_map<VkCommandPool, uint32_t> pool_families_;
    DeviceQueues queues_;
};

}    // namespace lapwing::attach::vulkan_layer
