// Submits: registered before the driver sees them, taken back where it refuses them.
#include "attach/session/cost_meter.hpp"
#include "attach/session/host_track.hpp"
#include "attach/vulkan_layer/hooks.hpp"
#include "attach/vulkan_layer/registry.hpp"
#include "attach/vulkan_layer/submit_rewrite.hpp"

namespace lapwing::attach::vulkan_layer {

namespace {
// Kept per thread for their memory: a submit in steady state allocates nothing here.
struct SubmitScratch {
    SubmitContents contents;
    SubmitRewrite rewrite;
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

void add_buffer(VkCommandBuffer handle, SubmitContents& contents) {
    const CommandBuffer* const buffer = registry().find_command_buffer(handle);
    contents.recordings.push_back(buffer == nullptr ? nullptr : buffer->recording());
}

void collect(std::span<const VkSubmitInfo> submits, SubmitContents& contents) {
    for (const VkSubmitInfo& submit : submits) {
        contents.batches.push_back({submit.commandBufferCount, takes_copies(submit)});
        for (uint32_t i = 0; i < submit.commandBufferCount; ++i) add_buffer(submit.pCommandBuffers[i], contents);
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
        contents.batches.push_back({submit.commandBufferInfoCount, takes_copies(submit)});
        for (uint32_t i = 0; i < submit.commandBufferInfoCount; ++i)
            add_buffer(submit.pCommandBufferInfos[i].commandBuffer, contents);
        for (uint32_t i = 0; i < submit.signalSemaphoreInfoCount; ++i) {
            const VkSemaphoreSubmitInfo& signal = submit.pSignalSemaphoreInfos[i];
            contents.signals.push_back({signal.semaphore, signal.value, (signal.stageMask & kAll) != 0});
        }
    }
}

// Registers a submit.
// Shape:   `submits` becomes what is to be handed to the driver; its memory is this thread's scratch.
template <class Submit>
SubmitTicket begin_submit(Device& device, VkQueue queue, std::span<const Submit>& submits, VkFence fence,
                          int64_t now_ns) noexcept {
    try {
        auto& [contents, rewrite] = scratch();
        contents.clear();
        collect(submits, contents);
        SubmitTicket ticket = device.queues().begin_submit(queue, fence, contents, now_ns);
        contents.recordings.clear();    // let go of what the submission alone should hold
        if (!contents.inserts.empty()) submits = rewrite.insert(submits, contents.inserts);
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
    if (device == nullptr) return call(entry.vk, submits);

    CostMeter cost(device->counters());
    const int64_t begin_ns = host_now_ns();
    const SubmitTicket ticket = begin_submit(*device, queue, submits, fence, begin_ns);
    cost.pause();
    const VkResult result = call(entry.vk, submits);
    cost.resume();
    device->queues().end_submit(ticket, result);
    record_host_call(device->session(), kind, begin_ns, host_now_ns());
    return result;
}

VKAPI_ATTR VkResult VKAPI_CALL QueueSubmit(VkQueue queue, uint32_t count, const VkSubmitInfo* infos, VkFence fence) {
    return submit(queue, std::span(infos, count), fence, HostCall::kQueueSubmit,
                  [&](const vulkan::DeviceTable& vk, std::span<const VkSubmitInfo> submits) {
                      return vk.QueueSubmit(queue, count, submits.data(), fence);
                  });
}

VKAPI_ATTR VkResult VKAPI_CALL QueueSubmit2(VkQueue queue, uint32_t count, const VkSubmitInfo2* infos, VkFence fence) {
    return submit(queue, std::span(infos, count), fence, HostCall::kQueueSubmit2,
                  [&](const vulkan::DeviceTable& vk, std::span<const VkSubmitInfo2> submits) {
                      return vk.QueueSubmit2(queue, count, submits.data(), fence);
                  });
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

}    // namespace lapwing::attach::vulkan_layer
