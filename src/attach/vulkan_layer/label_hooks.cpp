// Labels in command buffers and on queues, and names of objects, of VK_EXT_debug_utils and of its forerunner
// VK_EXT_debug_marker.
#include "attach/session/cost_meter.hpp"
#include "attach/session/host_time.hpp"
#include "attach/vulkan_layer/hooks.hpp"
#include "attach/vulkan_layer/registry.hpp"

namespace lapwing::attach::vulkan_layer {

namespace {
void push_label(VkCommandBuffer handle, const char* label) noexcept {
    if (!process_live()) return;
    CommandBuffer* const buffer = registry().find_command_buffer(handle);
    if (buffer == nullptr) return;
    std::optional<CostMeter> cost;
    if (CostMeter::is_due()) [[unlikely]]
        cost.emplace(buffer->device().counters(), CostMeter::Sampled{});
    buffer->push_label(label);
}

void pop_label(VkCommandBuffer handle) noexcept {
    if (!process_live()) return;
    CommandBuffer* const buffer = registry().find_command_buffer(handle);
    if (buffer != nullptr) buffer->pop_label();
}

void name_object(const DeviceEntry& entry, VkObjectType type, uint64_t object, const char* name) noexcept {
    Device* const device = entry.live();
    if (device == nullptr) return;
    try {
        device->pipelines().name_object(type, object, name);
    } catch (...) {
        device->count_fault();
    }
}

// The driver may have none of these functions although the program was given ours: see hook_stands_alone().
VKAPI_ATTR void VKAPI_CALL CmdBeginDebugUtilsLabelEXT(VkCommandBuffer buffer, const VkDebugUtilsLabelEXT* label) {
    push_label(buffer, label->pLabelName);
    const auto next = registry().device_of(buffer).vk.CmdBeginDebugUtilsLabelEXT;
    if (next != nullptr) next(buffer, label);
}

VKAPI_ATTR void VKAPI_CALL CmdEndDebugUtilsLabelEXT(VkCommandBuffer buffer) {
    pop_label(buffer);
    const auto next = registry().device_of(buffer).vk.CmdEndDebugUtilsLabelEXT;
    if (next != nullptr) next(buffer);
}

// Labels on queues enclose whole submits: see StepClock.
VKAPI_ATTR void VKAPI_CALL QueueBeginDebugUtilsLabelEXT(VkQueue queue, const VkDebugUtilsLabelEXT* label) {
    const DeviceEntry& entry = registry().device_of(queue);
    if (Device* const device = entry.live(); device != nullptr) {
        try {
            device->session().scope_opened(label->pLabelName, host_now_ns());
        } catch (...) {
            device->count_fault();
        }
    }
    const auto next = entry.vk.QueueBeginDebugUtilsLabelEXT;
    if (next != nullptr) next(queue, label);
}

VKAPI_ATTR void VKAPI_CALL QueueEndDebugUtilsLabelEXT(VkQueue queue) {
    const DeviceEntry& entry = registry().device_of(queue);
    if (Device* const device = entry.live(); device != nullptr) {
        try {
            device->session().scope_closed();
        } catch (...) {
            device->count_fault();
        }
    }
    const auto next = entry.vk.QueueEndDebugUtilsLabelEXT;
    if (next != nullptr) next(queue);
}

VKAPI_ATTR VkResult VKAPI_CALL SetDebugUtilsObjectNameEXT(VkDevice device, const VkDebugUtilsObjectNameInfoEXT* info) {
    const DeviceEntry& entry = registry().device_of(device);
    name_object(entry, info->objectType, info->objectHandle, info->pObjectName);
    const auto next = entry.vk.SetDebugUtilsObjectNameEXT;
    return next == nullptr ? VK_SUCCESS : next(device, info);
}

VKAPI_ATTR void VKAPI_CALL CmdDebugMarkerBeginEXT(VkCommandBuffer buffer, const VkDebugMarkerMarkerInfoEXT* marker) {
    push_label(buffer, marker->pMarkerName);
    registry().device_of(buffer).markers.CmdDebugMarkerBeginEXT(buffer, marker);
}

VKAPI_ATTR void VKAPI_CALL CmdDebugMarkerEndEXT(VkCommandBuffer buffer) {
    pop_label(buffer);
    registry().device_of(buffer).markers.CmdDebugMarkerEndEXT(buffer);
}

VKAPI_ATTR VkResult VKAPI_CALL DebugMarkerSetObjectNameEXT(VkDevice device,
                                                           const VkDebugMarkerObjectNameInfoEXT* info) {
    const DeviceEntry& entry = registry().device_of(device);
    if (info->objectType == VK_DEBUG_REPORT_OBJECT_TYPE_PIPELINE_EXT)
        name_object(entry, VK_OBJECT_TYPE_PIPELINE, info->object, info->pObjectName);
    if (info->objectType == VK_DEBUG_REPORT_OBJECT_TYPE_SHADER_MODULE_EXT)
        name_object(entry, VK_OBJECT_TYPE_SHADER_MODULE, info->object, info->pObjectName);
    return entry.markers.DebugMarkerSetObjectNameEXT(device, info);
}

const NamedHook kHooks[] = {
    {"vkCmdBeginDebugUtilsLabelEXT", as_hook(CmdBeginDebugUtilsLabelEXT)},
    {"vkCmdEndDebugUtilsLabelEXT", as_hook(CmdEndDebugUtilsLabelEXT)},
    {"vkQueueBeginDebugUtilsLabelEXT", as_hook(QueueBeginDebugUtilsLabelEXT)},
    {"vkQueueEndDebugUtilsLabelEXT", as_hook(QueueEndDebugUtilsLabelEXT)},
    {"vkSetDebugUtilsObjectNameEXT", as_hook(SetDebugUtilsObjectNameEXT)},
    {"vkCmdDebugMarkerBeginEXT", as_hook(CmdDebugMarkerBeginEXT)},
    {"vkCmdDebugMarkerEndEXT", as_hook(CmdDebugMarkerEndEXT)},
    {"vkDebugMarkerSetObjectNameEXT", as_hook(DebugMarkerSetObjectNameEXT)},
};
}    // namespace

std::span<const NamedHook> label_hooks() noexcept {
    return kHooks;
}

}    // namespace lapwing::attach::vulkan_layer
