// One buffer in memory that the device writes and the host reads.
#pragma once

#include <vulkan/vulkan_core.h>

#include <cstdint>

#include "backends/vulkan/entry_points.hpp"
#include "lapwing/result.hpp"

namespace lapwing::vulkan {

/// A transfer destination by default, mapped for as long as it lives. Plain data: whether the device may still be
/// called when it goes is known to the owner only.
///
/// Memory is host-visible and coherent, cached where there is such a type (every driver offers a coherent one for
/// buffers: Vulkan 1.3, 11.6 "Device Memory").
struct HostBuffer {
    VkBuffer buffer = VK_NULL_HANDLE;
    VkDeviceMemory memory = VK_NULL_HANDLE;
    uint64_t* words = nullptr;

    /// Makes a zeroed one.
    /// Errors:  kUnsupported without a fitting memory type; kDriver with the driver's code; kDeviceLost. Nothing is
    ///          leaked.
    [[nodiscard]] static Result<HostBuffer> create(const DeviceTable& table, VkDevice device,
                                                   const VkPhysicalDeviceMemoryProperties& memory, uint64_t bytes,
                                                   VkBufferUsageFlags usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT);

    /// No copy into it may be unfinished.
    void destroy(const DeviceTable& table, VkDevice device) noexcept;
};

/// A query's result as vkCmdCopyQueryPoolResults writes it: 64-bit ticks and availability.
/// Units:   bytes.
inline constexpr uint32_t kResultStride = 2 * sizeof(uint64_t);
inline constexpr VkQueryResultFlags kCopyFlags =
    VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WITH_AVAILABILITY_BIT | VK_QUERY_RESULT_WAIT_BIT;

/// Records the barrier between all copies before it and the host's reads after completion.
void record_host_barrier(const DeviceTable& table, VkCommandBuffer commands) noexcept;

}    // namespace lapwing::vulkan
