#include "backends/vulkan/host_buffer.hpp"

#include <algorithm>
#include <optional>
#include <string>

namespace lapwing::vulkan {
namespace {

constexpr VkMemoryPropertyFlags kNeeded = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;

std::optional<uint32_t> memory_type(const VkPhysicalDeviceMemoryProperties& memory, uint32_t allowed) {
    // Cached first: the host reads these bytes, and uncached reads over a bus cost hundreds of ns each.
    for (const VkMemoryPropertyFlags wanted : {kNeeded | VK_MEMORY_PROPERTY_HOST_CACHED_BIT, kNeeded}) {
        for (uint32_t i = 0; i < memory.memoryTypeCount; ++i) {
            const bool fits = (allowed >> i & 1) != 0 && (memory.memoryTypes[i].propertyFlags & wanted) == wanted;
            if (fits) return i;
        }
    }
    return std::nullopt;
}

Status failed(VkResult result, const char* call) {
    const Errc code = result == VK_ERROR_DEVICE_LOST ? Errc::kDeviceLost : Errc::kDriver;
    return Error{code, result, std::string(call) + " failed for a buffer of results"};
}

Status fill(HostBuffer& out, const DeviceTable& table, VkDevice device, const VkPhysicalDeviceMemoryProperties& memory,
            uint64_t bytes, VkBufferUsageFlags usage) {
    VkBufferCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
    info.size = bytes;
    info.usage = usage;
    info.sharingMode = VK_SHARING_MODE_EXCLUSIVE;
    if (const VkResult r = table.CreateBuffer(device, &info, nullptr, &out.buffer); r != VK_SUCCESS) {
        out.buffer = VK_NULL_HANDLE;    // undefined where the call failed
        return failed(r, "vkCreateBuffer");
    }
    VkMemoryRequirements needs{};
    table.GetBufferMemoryRequirements(device, out.buffer, &needs);
    const std::optional<uint32_t> type = memory_type(memory, needs.memoryTypeBits);
    if (!type) return Error{Errc::kUnsupported, 0, "the device offers no host-visible, coherent memory for buffers"};

    VkMemoryAllocateInfo allocation{};
    allocation.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
    allocation.allocationSize = needs.size;
    allocation.memoryTypeIndex = *type;
    if (const VkResult r = table.AllocateMemory(device, &allocation, nullptr, &out.memory); r != VK_SUCCESS) {
        out.memory = VK_NULL_HANDLE;
        return failed(r, "vkAllocateMemory");
    }
    if (const VkResult r = table.BindBufferMemory(device, out.buffer, out.memory, 0); r != VK_SUCCESS)
        return failed(r, "vkBindBufferMemory");
    void* mapped = nullptr;
    if (const VkResult r = table.MapMemory(device, out.memory, 0, VK_WHOLE_SIZE, 0, &mapped); r != VK_SUCCESS)
        return failed(r, "vkMapMemory");
    out.words = static_cast<uint64_t*>(mapped);
    std::fill_n(out.words, bytes / sizeof(uint64_t), uint64_t{0});
    return {};
}

}    // namespace

Result<HostBuffer> HostBuffer::create(const DeviceTable& table, VkDevice device,
                                      const VkPhysicalDeviceMemoryProperties& memory, uint64_t bytes,
                                      VkBufferUsageFlags usage) {
    HostBuffer out;
    const Status status = fill(out, table, device, memory, bytes, usage);
    if (status.ok()) return out;
    out.destroy(table, device);
    return status.error();
}

void HostBuffer::destroy(const DeviceTable& table, VkDevice device) noexcept {
    // Destroying and freeing null handles is defined; freeing mapped memory unmaps it.
    table.DestroyBuffer(device, buffer, nullptr);
    table.FreeMemory(device, memory, nullptr);
    *this = {};
}

void record_host_barrier(const DeviceTable& table, VkCommandBuffer commands) noexcept {
    VkMemoryBarrier barrier{};
    barrier.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
    barrier.srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT;
    barrier.dstAccessMask = VK_ACCESS_HOST_READ_BIT;
    table.CmdPipelineBarrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &barrier, 0,
                             nullptr, 0, nullptr);
}

}    // namespace lapwing::vulkan
