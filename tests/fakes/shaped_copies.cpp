#include "shaped_copies.hpp"

namespace fakes {

namespace {
constexpr VkMemoryPropertyFlags kHostMemory =
    VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
}

void ShapedCopies::open(VkDevice device, PFN_vkGetDeviceProcAddr next, const VkPhysicalDeviceMemoryProperties& memory) {
    device_ = device;
    memory_types_ = memory;
#define LOAD(member, name) member = reinterpret_cast<PFN_##name>(next(device, #name));
    LOAD(create_buffer_, vkCreateBuffer)
    LOAD(destroy_buffer_, vkDestroyBuffer)
    LOAD(requirements_, vkGetBufferMemoryRequirements)
    LOAD(allocate_, vkAllocateMemory)
    LOAD(free_, vkFreeMemory)
    LOAD(bind_, vkBindBufferMemory)
    LOAD(map_, vkMapMemory)
    LOAD(copy_results_, vkCmdCopyQueryPoolResults)
    LOAD(wait_idle_, vkQueueWaitIdle)
#undef LOAD
}

void ShapedCopies::close() {
    const std::lock_guard lock(mutex_);
    copies_.clear();
}

void ShapedCopies::memory_allocated(VkDeviceMemory memory, uint32_t type) {
    if ((memory_types_.memoryTypes[type].propertyFlags & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT) == 0) return;
    void* address = nullptr;
    if (map_(device_, memory, 0, VK_WHOLE_SIZE, 0, &address) != VK_SUCCESS) return;
    const std::lock_guard lock(mutex_);
    mapped_[memory] = address;
}

void ShapedCopies::memory_freed(VkDeviceMemory memory) {
    const std::lock_guard lock(mutex_);
    mapped_.erase(memory);
}

void* ShapedCopies::address_of(VkDeviceMemory memory) {
    const std::lock_guard lock(mutex_);
    const auto found = mapped_.find(memory);
    return found != mapped_.end() ? found->second : nullptr;
}

void ShapedCopies::buffer_bound(VkBuffer buffer, VkDeviceMemory memory, VkDeviceSize offset) {
    const std::lock_guard lock(mutex_);
    bindings_[buffer] = {.memory = memory, .offset = offset};
}

void ShapedCopies::buffer_destroyed(VkBuffer buffer) {
    const std::lock_guard lock(mutex_);
    bindings_.erase(buffer);
}

std::shared_ptr<ShapedCopies::Copy> ShapedCopies::new_copy() {
    return {new Copy, [this](Copy* copy) {
                destroy(*copy);
                delete copy;
            }};
}

void ShapedCopies::destroy(const Copy& copy) {
    destroy_buffer_(device_, copy.shadow, nullptr);
    free_(device_, copy.shadow_memory, nullptr);
}

bool ShapedCopies::make_shadow(Copy& copy) {
    VkBufferCreateInfo buffer{};
    buffer.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
    buffer.size = copy.count * sizeof(RawResult);
    buffer.usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT;
    if (create_buffer_(device_, &buffer, nullptr, &copy.shadow) != VK_SUCCESS) return false;
    VkMemoryRequirements needs{};
    requirements_(device_, copy.shadow, &needs);
    VkMemoryAllocateInfo memory{};
    memory.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
    memory.allocationSize = needs.size;
    for (uint32_t type = 0; type < memory_types_.memoryTypeCount; ++type) {
        if ((needs.memoryTypeBits >> type & 1) == 0) continue;
        if ((memory_types_.memoryTypes[type].propertyFlags & kHostMemory) != kHostMemory) continue;
        memory.memoryTypeIndex = type;
        break;
    }
    if (allocate_(device_, &memory, nullptr, &copy.shadow_memory) != VK_SUCCESS) return false;
    if (bind_(device_, copy.shadow, copy.shadow_memory, 0) != VK_SUCCESS) return false;
    void* address = nullptr;
    if (map_(device_, copy.shadow_memory, 0, VK_WHOLE_SIZE, 0, &address) != VK_SUCCESS) return false;
    copy.raw = static_cast<const RawResult*>(address);
    return true;
}

bool ShapedCopies::record(VkCommandBuffer commands, VkQueryPool pool, uint32_t first, uint32_t count,
                          VkBuffer destination, VkDeviceSize offset, VkDeviceSize stride, VkQueryResultFlags flags) {
    const std::lock_guard lock(mutex_);
    const auto bound = bindings_.find(destination);
    if (bound == bindings_.end()) return false;
    const auto mapped = mapped_.find(bound->second.memory);
    if (mapped == mapped_.end()) return false;
    const std::shared_ptr<Copy> copy = new_copy();
    copy->count = count;
    copy->out = static_cast<char*>(mapped->second) + bound->second.offset + offset;
    copy->stride = stride;
    copy->flags = flags;
    if (!make_shadow(*copy)) return false;
    copy_results_(commands, pool, first, count, copy->shadow, 0, sizeof(RawResult),
                  VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WITH_AVAILABILITY_BIT | (flags & VK_QUERY_RESULT_WAIT_BIT));
    copies_[commands].push_back(copy);
    return true;
}

void ShapedCopies::recording_dropped(VkCommandBuffer commands) {
    const std::lock_guard lock(mutex_);
    copies_.erase(commands);
}

void ShapedCopies::secondary_executed(VkCommandBuffer primary, VkCommandBuffer secondary) {
    const std::lock_guard lock(mutex_);
    const auto found = copies_.find(secondary);
    if (found == copies_.end()) return;
    const std::vector<std::shared_ptr<Copy>> copies = found->second;
    copies_[primary].insert(copies_[primary].end(), copies.begin(), copies.end());
}

void ShapedCopies::finish(VkQueue queue, const std::vector<VkCommandBuffer>& commands, const ShapedClock& clock,
                          ResultLog& log) {
    std::vector<std::shared_ptr<Copy>> done;
    {
        const std::lock_guard lock(mutex_);
        for (const VkCommandBuffer buffer : commands) {
            const auto found = copies_.find(buffer);
            if (found != copies_.end()) done.insert(done.end(), found->second.begin(), found->second.end());
        }
    }
    if (done.empty()) return;
    wait_idle_(queue);
    for (const auto& copy : done) {
        for (uint32_t i = 0; i < copy->count; ++i) {
            const RawResult& raw = copy->raw[i];
            const uint64_t ticks = clock.ticks(raw.ns);
            if (raw.available != 0) log.write(raw.ns, ticks);
            write_result(copy->out + i * copy->stride, ticks, raw.available != 0, copy->flags);
        }
    }
}

}    // namespace fakes
