// The calls in which a program learns that work is complete, and the life of what it waits on. Results are read here.
#include "attach/session/cost_meter.hpp"
#include "attach/session/host_track.hpp"
#include "attach/vulkan_layer/hooks.hpp"
#include "attach/vulkan_layer/registry.hpp"

namespace lapwing::attach::vulkan_layer {

namespace {
// Runs what a completion brings with it; a fault of ours in it costs the recording, never the program.
template <class Work>
void learn(Device& device, Work&& work) noexcept {
    try {
        work(device.queues());
    } catch (...) {
        device.queues().give_up();
    }
}

// Makes the driver's waiting call `call(vk)` and, where it succeeded, `work(queues, now_ns)`.
template <class Call, class Work>
VkResult wait(const void* handle, HostCall kind, Call&& call, Work&& work) noexcept {
    const DeviceEntry& entry = registry().device_of(handle);
    Device* const device = entry.live();
    if (device == nullptr) return call(entry.vk);

    const int64_t begin_ns = host_now_ns();
    const VkResult result = call(entry.vk);
    const int64_t end_ns = host_now_ns();
    if (result == VK_TIMEOUT) {    // programs poll with a timeout of 0
        note_poll(device->session(), kind, begin_ns, end_ns);
        return result;
    }
    const CostMeter cost(device->counters());
    if (result == VK_SUCCESS) learn(*device, [&](DeviceQueues& queues) { work(queues, end_ns); });
    if (result == VK_ERROR_DEVICE_LOST) device->queues().device_lost();
    record_host_call(device->session(), kind, begin_ns, end_ns);
    return result;
}

VKAPI_ATTR VkResult VKAPI_CALL WaitForFences(VkDevice device, uint32_t count, const VkFence* fences, VkBool32 all,
                                             uint64_t timeout) {
    return wait(
        device, HostCall::kWaitForFences,
        [&](const vulkan::DeviceTable& vk) { return vk.WaitForFences(device, count, fences, all, timeout); },
        [&](DeviceQueues& queues, int64_t now_ns) {
            if (all == VK_TRUE || count == 1) return queues.fences_signalled({fences, count}, now_ns);
            const auto status = registry().device_of(device).vk.GetFenceStatus;
            for (uint32_t i = 0; i < count; ++i)
                if (status(device, fences[i]) == VK_SUCCESS) queues.fences_signalled({fences + i, 1}, now_ns);
        });
}

// Programs spin in this call (ggml waits for the end of a token in it): nothing is locked while the fence is not
// signalled.
VKAPI_ATTR VkResult VKAPI_CALL GetFenceStatus(VkDevice handle, VkFence fence) {
    const DeviceEntry& entry = registry().device_of(handle);
    Device* const device = entry.live();
    if (device == nullptr) return entry.vk.GetFenceStatus(handle, fence);

    const int64_t begin_ns = host_now_ns();
    const VkResult result = entry.vk.GetFenceStatus(handle, fence);
    const int64_t end_ns = host_now_ns();
    if (result == VK_NOT_READY) {
        note_poll(device->session(), HostCall::kFenceStatus, begin_ns, end_ns);
        return result;
    }
    const CostMeter cost(device->counters());
    if (result == VK_SUCCESS)
        learn(*device, [&](DeviceQueues& queues) { queues.fences_signalled({&fence, 1}, end_ns); });
    if (result == VK_ERROR_DEVICE_LOST) device->queues().device_lost();
    record_host_call(device->session(), HostCall::kFenceStatus, begin_ns, end_ns);
    return result;
}

VKAPI_ATTR VkResult VKAPI_CALL ResetFences(VkDevice handle, uint32_t count, const VkFence* fences) {
    const DeviceEntry& entry = registry().device_of(handle);
    if (Device* const device = entry.live(); device != nullptr) {
        const CostMeter cost(device->counters());
        learn(*device, [&](DeviceQueues& queues) { queues.fences_forgotten({fences, count}, host_now_ns()); });
    }
    return entry.vk.ResetFences(handle, count, fences);
}

VKAPI_ATTR void VKAPI_CALL DestroyFence(VkDevice handle, VkFence fence, const VkAllocationCallbacks* allocator) {
    const DeviceEntry& entry = registry().device_of(handle);
    if (Device* const device = entry.live(); device != nullptr)
        learn(*device, [&](DeviceQueues& queues) { queues.fences_forgotten({&fence, 1}, host_now_ns()); });
    entry.vk.DestroyFence(handle, fence, allocator);
}

VKAPI_ATTR VkResult VKAPI_CALL QueueWaitIdle(VkQueue queue) {
    Device* const device = registry().device_of(queue).live();
    const uint64_t latest = device == nullptr ? 0 : device->queues().latest_submit(queue);
    return wait(
        queue, HostCall::kQueueWaitIdle, [&](const vulkan::DeviceTable& vk) { return vk.QueueWaitIdle(queue); },
        [&](DeviceQueues& queues, int64_t now_ns) { queues.queue_idle(queue, latest, now_ns); });
}

VKAPI_ATTR VkResult VKAPI_CALL DeviceWaitIdle(VkDevice device) {
    return wait(
        device, HostCall::kDeviceWaitIdle, [&](const vulkan::DeviceTable& vk) { return vk.DeviceWaitIdle(device); },
        [&](DeviceQueues& queues, int64_t now_ns) { queues.device_idle(now_ns); });
}

VKAPI_ATTR VkResult VKAPI_CALL WaitSemaphores(VkDevice device, const VkSemaphoreWaitInfo* info, uint64_t timeout) {
    return wait(
        device, HostCall::kWaitSemaphores,
        [&](const vulkan::DeviceTable& vk) { return vk.WaitSemaphores(device, info, timeout); },
        [&](DeviceQueues& queues, int64_t now_ns) {
            const bool all = (info->flags & VK_SEMAPHORE_WAIT_ANY_BIT) == 0 || info->semaphoreCount == 1;
            const auto read = registry().device_of(device).vk.GetSemaphoreCounterValue;
            for (uint32_t i = 0; i < info->semaphoreCount; ++i) {
                uint64_t value = info->pValues[i];
                if (!all && (read == nullptr || read(device, info->pSemaphores[i], &value) != VK_SUCCESS)) continue;
                queues.timeline_reached(info->pSemaphores[i], value, now_ns);
            }
        });
}

// What this thread last read, so that a spinning thread takes no lock while nothing changes. Void when the device's
// semaphores have changed since: freed handles come back.
struct LastValue {
    const Device* device = nullptr;
    VkSemaphore semaphore = VK_NULL_HANDLE;
    uint64_t value = 0;
    uint64_t generation = 0;
    friend bool operator==(const LastValue&, const LastValue&) = default;
};
thread_local LastValue t_last_value;

VKAPI_ATTR VkResult VKAPI_CALL GetSemaphoreCounterValue(VkDevice handle, VkSemaphore semaphore, uint64_t* value) {
    const DeviceEntry& entry = registry().device_of(handle);
    Device* const device = entry.live();
    if (device == nullptr) return entry.vk.GetSemaphoreCounterValue(handle, semaphore, value);

    const int64_t begin_ns = host_now_ns();
    const VkResult result = entry.vk.GetSemaphoreCounterValue(handle, semaphore, value);
    const int64_t end_ns = host_now_ns();
    if (result == VK_SUCCESS) {
        const LastValue read{device, semaphore, *value, device->queues().semaphore_generation()};
        if (read == t_last_value) {
            note_poll(device->session(), HostCall::kSemaphoreValue, begin_ns, end_ns);
            return result;
        }
        t_last_value = read;
        const CostMeter cost(device->counters());
        learn(*device, [&](DeviceQueues& queues) { queues.timeline_reached(semaphore, *value, end_ns); });
        record_host_call(device->session(), HostCall::kSemaphoreValue, begin_ns, end_ns);
    }
    if (result == VK_ERROR_DEVICE_LOST) device->queues().device_lost();
    return result;
}

bool is_timeline(const VkSemaphoreCreateInfo& info) noexcept {
    for (auto* next = static_cast<const VkBaseInStructure*>(info.pNext); next != nullptr; next = next->pNext)
        if (next->sType == VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO)
            return reinterpret_cast<const VkSemaphoreTypeCreateInfo*>(next)->semaphoreType ==
                   VK_SEMAPHORE_TYPE_TIMELINE;
    return false;
}

VKAPI_ATTR VkResult VKAPI_CALL CreateSemaphore(VkDevice handle, const VkSemaphoreCreateInfo* info,
                                               const VkAllocationCallbacks* allocator, VkSemaphore* semaphore) {
    const DeviceEntry& entry = registry().device_of(handle);
    const VkResult result = entry.vk.CreateSemaphore(handle, info, allocator, semaphore);
    Device* const device = entry.live();
    if (result == VK_SUCCESS && device != nullptr && is_timeline(*info))
        learn(*device, [&](DeviceQueues& queues) { queues.add_timeline(*semaphore); });
    return result;
}

VKAPI_ATTR void VKAPI_CALL DestroySemaphore(VkDevice handle, VkSemaphore semaphore,
                                            const VkAllocationCallbacks* allocator) {
    const DeviceEntry& entry = registry().device_of(handle);
    if (Device* const device = entry.live(); device != nullptr) device->queues().forget_semaphore(semaphore);
    entry.vk.DestroySemaphore(handle, semaphore, allocator);
}

const NamedHook kHooks[] = {
    {"vkWaitForFences", as_hook(WaitForFences)},     {"vkGetFenceStatus", as_hook(GetFenceStatus)},
    {"vkResetFences", as_hook(ResetFences)},         {"vkDestroyFence", as_hook(DestroyFence)},
    {"vkQueueWaitIdle", as_hook(QueueWaitIdle)},     {"vkDeviceWaitIdle", as_hook(DeviceWaitIdle)},
    {"vkWaitSemaphores", as_hook(WaitSemaphores)},   {"vkGetSemaphoreCounterValue", as_hook(GetSemaphoreCounterValue)},
    {"vkCreateSemaphore", as_hook(CreateSemaphore)}, {"vkDestroySemaphore", as_hook(DestroySemaphore)},
};
}    // namespace

std::span<const NamedHook> wait_hooks() noexcept {
    return kHooks;
}

}    // namespace lapwing::attach::vulkan_layer
