#include "backends/vulkan/result_slabs.hpp"

#include <algorithm>
#include <bit>
#include <optional>

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
    return Error{code, result, std::string(call) + " failed for a buffer of timestamp results"};
}

}    // namespace

ResultSlabs::ResultSlabs(const DeviceTable& table, VkDevice device,
                         const VkPhysicalDeviceMemoryProperties& memory) noexcept
    : table_(table), device_(device), memory_(memory) {}

Status ResultSlabs::provide(uint32_t pool_index, uint32_t queries) {
    if (pool_index >= slabs_.size()) slabs_.resize(pool_index + 1);
    Slab& slab = slabs_[pool_index];
    if (slab.words != nullptr) return {};
    Status status = make(slab, uint64_t{queries} * kStride);
    if (!status.ok()) free(slab);
    return status;
}

Status ResultSlabs::make(Slab& slab, uint64_t bytes) const {
    VkBufferCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
    info.size = bytes;
    info.usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT;
    info.sharingMode = VK_SHARING_MODE_EXCLUSIVE;
    if (const VkResult r = table_.CreateBuffer(device_, &info, nullptr, &slab.buffer); r != VK_SUCCESS)
        return failed(r, "vkCreateBuffer");

    VkMemoryRequirements needs{};
    table_.GetBufferMemoryRequirements(device_, slab.buffer, &needs);
    const std::optional<uint32_t> type = memory_type(memory_, needs.memoryTypeBits);
    if (!type) return Error{Errc::kUnsupported, 0, "the device offers no host-visible, coherent memory for buffers"};

    VkMemoryAllocateInfo allocation{};
    allocation.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
    allocation.allocationSize = needs.size;
    allocation.memoryTypeIndex = *type;
    if (const VkResult r = table_.AllocateMemory(device_, &allocation, nullptr, &slab.memory); r != VK_SUCCESS)
        return failed(r, "vkAllocateMemory");
    if (const VkResult r = table_.BindBufferMemory(device_, slab.buffer, slab.memory, 0); r != VK_SUCCESS)
        return failed(r, "vkBindBufferMemory");
    void* mapped = nullptr;
    if (const VkResult r = table_.MapMemory(device_, slab.memory, 0, VK_WHOLE_SIZE, 0, &mapped); r != VK_SUCCESS)
        return failed(r, "vkMapMemory");
    slab.words = static_cast<uint64_t*>(mapped);
    std::fill_n(slab.words, bytes / sizeof(uint64_t), uint64_t{0});
    return {};
}

void ResultSlabs::free(Slab& slab) const noexcept {
    // Destroying and freeing null handles is defined; freeing mapped memory unmaps it.
    table_.DestroyBuffer(device_, slab.buffer, nullptr);
    table_.FreeMemory(device_, slab.memory, nullptr);
    slab = {};
}

void ResultSlabs::clear(const QueryRun& run) noexcept {
    std::fill_n(word(run.pool_index, run.first), 2 * std::size_t{run.count}, uint64_t{0});
}

void ResultSlabs::record_copy(VkCommandBuffer commands, const QueryRun& run) const noexcept {
    table_.CmdCopyQueryPoolResults(
        commands, run.pool, run.first, run.count, slabs_[run.pool_index].buffer, uint64_t{run.first} * kStride, kStride,
        VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WITH_AVAILABILITY_BIT | VK_QUERY_RESULT_WAIT_BIT);
}

void ResultSlabs::record_host_barrier(VkCommandBuffer commands) const noexcept {
    VkMemoryBarrier barrier{};
    barrier.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
    barrier.srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT;
    barrier.dstAccessMask = VK_ACCESS_HOST_READ_BIT;
    table_.CmdPipelineBarrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &barrier, 0,
                              nullptr, 0, nullptr);
}

void ResultSlabs::destroy() noexcept {
    for (Slab& slab : slabs_) free(slab);
    slabs_.clear();
}

}    // namespace lapwing::vulkan
