// Life of command pools and buffers.
#include "attach/vulkan_layer/hooks.hpp"
#include "attach/vulkan_layer/registry.hpp"

namespace lapwing::attach::vulkan_layer {

namespace {
VKAPI_ATTR VkResult VKAPI_CALL CreateCommandPool(VkDevice device, const VkCommandPoolCreateInfo* info,
                                                 const VkAllocationCallbacks* allocator, VkCommandPool* pool) {
    const DeviceEntry& entry = registry().device_of(device);
    const VkResult result = entry.vk.CreateCommandPool(device, info, allocator, pool);
    Device* const followed = entry.live();
    if (result != VK_SUCCESS || followed == nullptr) return result;
    try {
        followed->add_command_pool(*pool, info->queueFamilyIndex);
    } catch (...) {
        followed->count_fault();    // its buffers count as untimeable
    }
    return result;
}

VKAPI_ATTR void VKAPI_CALL DestroyCommandPool(VkDevice device, VkCommandPool pool,
                                              const VkAllocationCallbacks* allocator) {
    const DeviceEntry& entry = registry().device_of(device);
    if (Device* const followed = entry.live(); followed != nullptr && pool != VK_NULL_HANDLE) {
        registry().remove_command_buffers_of(pool, *followed);
        followed->forget_command_pool(pool);
    }
    entry.vk.DestroyCommandPool(device, pool, allocator);
}

VKAPI_ATTR VkResult VKAPI_CALL ResetCommandPool(VkDevice device, VkCommandPool pool, VkCommandPoolResetFlags flags) {
    const DeviceEntry& entry = registry().device_of(device);
    if (const Device* followed = entry.live(); followed != nullptr) registry().drop_recordings_of(pool, *followed);
    return entry.vk.ResetCommandPool(device, pool, flags);
}

VKAPI_ATTR VkResult VKAPI_CALL AllocateCommandBuffers(VkDevice device, const VkCommandBufferAllocateInfo* info,
                                                      VkCommandBuffer* buffers) {
    const DeviceEntry& entry = registry().device_of(device);
    const VkResult result = entry.vk.AllocateCommandBuffers(device, info, buffers);
    Device* const followed = entry.live();
    if (result != VK_SUCCESS || followed == nullptr) return result;
    const PoolFamily family = followed->family_of(info->commandPool);
    for (uint32_t i = 0; i < info->commandBufferCount; ++i) {
        try {
            registry().add_command_buffer(
                buffers[i], std::make_unique<CommandBuffer>(*followed, buffers[i], info->commandPool, family));
        } catch (...) {
            followed->count_fault();    // the buffer is not followed: its commands go through untouched
        }
    }
    return result;
}

VKAPI_ATTR void VKAPI_CALL FreeCommandBuffers(VkDevice device, VkCommandPool pool, uint32_t count,
                                              const VkCommandBuffer* buffers) {
    const DeviceEntry& entry = registry().device_of(device);
    // Before the driver's call: another thread may be given the same handles as soon as it returns.
    if (entry.live() != nullptr)
        for (uint32_t i = 0; i < count; ++i)
            if (buffers[i] != VK_NULL_HANDLE) registry().remove_command_buffer(buffers[i]);
    entry.vk.FreeCommandBuffers(device, pool, count, buffers);
}

VKAPI_ATTR VkResult VKAPI_CALL BeginCommandBuffer(VkCommandBuffer handle, const VkCommandBufferBeginInfo* info) {
    if (process_live())
        if (CommandBuffer* const buffer = registry().find_command_buffer(handle); buffer != nullptr)
            buffer->begin(*info);
    return registry().device_of(handle).vk.BeginCommandBuffer(handle, info);
}

VKAPI_ATTR VkResult VKAPI_CALL ResetCommandBuffer(VkCommandBuffer handle, VkCommandBufferResetFlags flags) {
    if (process_live())
        if (CommandBuffer* const buffer = registry().find_command_buffer(handle); buffer != nullptr)
            buffer->drop_recording();
    return registry().device_of(handle).vk.ResetCommandBuffer(handle, flags);
}

const NamedHook kHooks[] = {
    {"vkCreateCommandPool", as_hook(CreateCommandPool)},
    {"vkDestroyCommandPool", as_hook(DestroyCommandPool)},
    {"vkResetCommandPool", as_hook(ResetCommandPool)},
    {"vkAllocateCommandBuffers", as_hook(AllocateCommandBuffers)},
    {"vkFreeCommandBuffers", as_hook(FreeCommandBuffers)},
    {"vkBeginCommandBuffer", as_hook(BeginCommandBuffer)},
    {"vkResetCommandBuffer", as_hook(ResetCommandBuffer)},
};
}    // namespace

std::span<const NamedHook> command_buffer_hooks() noexcept {
    return kHooks;
}

}    // namespace lapwing::attach::vulkan_layer
