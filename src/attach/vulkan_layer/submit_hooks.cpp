// Submits: registered before the driver sees them, taken back where it refuses them.
#include "attach/vulkan_layer/cost_meter.hpp"
#include "attach/vulkan_layer/hooks.hpp"
#include "attach/vulkan_layer/host_track.hpp"
#include "attach/vulkan_layer/registry.hpp"

namespace lapwing::vulkan_layer {

namespace {
// Kept per thread for their memory: a submit in steady state allocates nothing here.
struct SubmitScratch {
    SubmitContents contents;
    std::vector<std::shared_ptr<Recording>> recordings;
};

// A pointer, never freed: a destructor at thread exit could run after the layer's other statics are of no more use.
SubmitScratch& scratch() {
    static thread_local SubmitScratch* only = nullptr;
    if (only == nullptr) only = new SubmitScratch;
    return *only;
}

const VkTimelineSemaphoreSubmitInfo* timeline_values(const VkSubmitInfo& submit) noexcept {
    for (auto* next = static_cast<const VkBaseInStructure*>(submit.pNext); next != nullptr; next = next->pNext)
        if (next->sType == VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO)
            return reinterpret_cast<const VkTimelineSemaphoreSubmitInfo*>(next);
    return nullptr;
}

void collect(std::span<const VkSubmitInfo> submits, SubmitContents& contents) {
    for (const VkSubmitInfo& submit : submits) {
        contents.buffers.insert(contents.buffers.end(), submit.pCommandBuffers,
                                submit.pCommandBuffers + submit.commandBufferCount);
        const VkTimelineSemaphoreSubmitInfo* const values = timeline_values(submit);
        for (uint32_t i = 0; values != nullptr && i < submit.signalSemaphoreCount; ++i)
            if (i < values->signalSemaphoreValueCount)
                contents.signals.push_back({submit.pSignalSemaphores[i], values->pSignalSemaphoreValues[i], true});
    }
}

void collect(std::span<const VkSubmitInfo2> submits, SubmitContents& contents) {
    constexpr VkPipelineStageFlags2 kAll =
        VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT | VK_PIPELINE_STAGE_2_BOTTOM_OF_PIPE_BIT;
    for (const VkSubmitInfo2& submit : submits) {
        for (uint32_t i = 0; i < submit.commandBufferInfoCount; ++i)
            contents.buffers.push_back(submit.pCommandBufferInfos[i].commandBuffer);
        for (uint32_t i = 0; i < submit.signalSemaphoreInfoCount; ++i) {
            const VkSemaphoreSubmitInfo& signal = submit.pSignalSemaphoreInfos[i];
            contents.signals.push_back({signal.semaphore, signal.value, (signal.stageMask & kAll) != 0});
        }
    }
}

template <class Submit>
SubmitTicket begin_submit(Device& device, VkQueue queue, std::span<const Submit> submits, VkFence fence,
                          int64_t now_ns) noexcept {
    try {
        auto& [contents, recordings] = scratch();
        contents.clear();
        recordings.clear();
        collect(submits, contents);
        for (const VkCommandBuffer handle : contents.buffers) {
            const CommandBuffer* const buffer = registry().find_command_buffer(handle);
            recordings.push_back(buffer == nullptr ? nullptr : buffer->recording());
        }
        SubmitTicket ticket = device.queues().begin_submit(queue, fence, recordings, contents.signals, now_ns);
        recordings.clear();    // let go of what the submission alone should hold
        return ticket;
    } catch (...) {
        device.queues().give_up();
        return {};
    }
}

template <class Submit, class Call>
VkResult submit(VkQueue queue, std::span<const Submit> submits, VkFence fence, HostCall kind, Call&& call) noexcept {
    const DeviceEntry& entry = registry().device_of(queue);
    Device* const device = entry.live();
    if (device == nullptr) return call(entry.vk);

    CostMeter cost(device->counters());
    const int64_t begin_ns = host_now_ns();
    const SubmitTicket ticket = begin_submit(*device, queue, submits, fence, begin_ns);
    cost.pause();
    const VkResult result = call(entry.vk);
    cost.resume();
    device->queues().end_submit(ticket, result);
    record_host_call(device->session(), kind, begin_ns, host_now_ns());
    return result;
}

VKAPI_ATTR VkResult VKAPI_CALL QueueSubmit(VkQueue queue, uint32_t count, const VkSubmitInfo* submits, VkFence fence) {
    return submit(queue, std::span(submits, count), fence, HostCall::kQueueSubmit,
                  [&](const vulkan::DeviceTable& vk) { return vk.QueueSubmit(queue, count, submits, fence); });
}

VKAPI_ATTR VkResult VKAPI_CALL QueueSubmit2(VkQueue queue, uint32_t count, const VkSubmitInfo2* submits,
                                            VkFence fence) {
    return submit(queue, std::span(submits, count), fence, HostCall::kQueueSubmit2,
                  [&](const vulkan::DeviceTable& vk) { return vk.QueueSubmit2(queue, count, submits, fence); });
}

void add_queue(Device& device, VkQueue queue, uint32_t family, uint32_t index) noexcept {
    if (queue == VK_NULL_HANDLE) return;
    try {
        device.queues().add_queue(queue, family, index);
    } catch (...) {
        device.queues().give_up();
    }
}

VKAPI_ATTR void VKAPI_CALL GetDeviceQueue(VkDevice device, uint32_t family, uint32_t index, VkQueue* queue) {
    const DeviceEntry& entry = registry().device_of(device);
    entry.vk.GetDeviceQueue(device, family, index, queue);
    if (Device* const followed = entry.live(); followed != nullptr) add_queue(*followed, *queue, family, index);
}

VKAPI_ATTR void VKAPI_CALL GetDeviceQueue2(VkDevice device, const VkDeviceQueueInfo2* info, VkQueue* queue) {
    const DeviceEntry& entry = registry().device_of(device);
    entry.vk.GetDeviceQueue2(device, info, queue);
    if (Device* const followed = entry.live(); followed != nullptr)
        add_queue(*followed, *queue, info->queueFamilyIndex, info->queueIndex);
}

const NamedHook kHooks[] = {
    {"vkQueueSubmit", as_hook(QueueSubmit)},
    {"vkQueueSubmit2", as_hook(QueueSubmit2)},
    {"vkGetDeviceQueue", as_hook(GetDeviceQueue)},
    {"vkGetDeviceQueue2", as_hook(GetDeviceQueue2)},
};
}    // namespace

std::span<const NamedHook> submit_hooks() noexcept {
    return kHooks;
}

}    // namespace lapwing::vulkan_layer
