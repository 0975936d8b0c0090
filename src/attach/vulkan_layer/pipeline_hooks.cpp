// Shader modules and compute pipelines: what names a kernel where the program gives it no name.
#include "attach/session/cost_meter.hpp"
#include "attach/vulkan_layer/hooks.hpp"
#include "attach/vulkan_layer/registry.hpp"

namespace lapwing::attach::vulkan_layer {

namespace {
VKAPI_ATTR VkResult VKAPI_CALL CreateShaderModule(VkDevice device, const VkShaderModuleCreateInfo* info,
                                                  const VkAllocationCallbacks* allocator, VkShaderModule* module) {
    const DeviceEntry& entry = registry().device_of(device);
    const VkResult result = entry.vk.CreateShaderModule(device, info, allocator, module);
    Device* const followed = entry.live();
    if (result != VK_SUCCESS || followed == nullptr) return result;
    try {
        followed->pipelines().add_module(*module, *info);
    } catch (...) {
        followed->count_fault();
    }
    return result;
}

VKAPI_ATTR void VKAPI_CALL DestroyShaderModule(VkDevice device, VkShaderModule module,
                                               const VkAllocationCallbacks* allocator) {
    const DeviceEntry& entry = registry().device_of(device);
    if (Device* const followed = entry.live(); followed != nullptr) followed->pipelines().forget_module(module);
    entry.vk.DestroyShaderModule(device, module, allocator);
}

VKAPI_ATTR VkResult VKAPI_CALL CreateComputePipelines(VkDevice device, VkPipelineCache cache, uint32_t count,
                                                      const VkComputePipelineCreateInfo* infos,
                                                      const VkAllocationCallbacks* allocator, VkPipeline* pipelines) {
    const DeviceEntry& entry = registry().device_of(device);
    const VkResult result = entry.vk.CreateComputePipelines(device, cache, count, infos, allocator, pipelines);
    Device* const followed = entry.live();
    if (followed == nullptr) return result;
    // Where some could not be made the others are valid all the same.
    for (uint32_t i = 0; i < count; ++i) {
        if (pipelines[i] == VK_NULL_HANDLE) continue;
        try {
            followed->pipelines().add_compute_pipeline(pipelines[i], infos[i]);
        } catch (...) {
            followed->count_fault();
        }
    }
    return result;
}

VKAPI_ATTR void VKAPI_CALL DestroyPipeline(VkDevice device, VkPipeline pipeline,
                                           const VkAllocationCallbacks* allocator) {
    const DeviceEntry& entry = registry().device_of(device);
    if (Device* const followed = entry.live(); followed != nullptr) followed->pipelines().forget_pipeline(pipeline);
    entry.vk.DestroyPipeline(device, pipeline, allocator);
}

VKAPI_ATTR void VKAPI_CALL CmdBindPipeline(VkCommandBuffer handle, VkPipelineBindPoint point, VkPipeline pipeline) {
    if (point == VK_PIPELINE_BIND_POINT_COMPUTE && process_live()) {
        if (CommandBuffer* const buffer = registry().find_command_buffer(handle); buffer != nullptr) {
            std::optional<CostMeter> cost;
            if (CostMeter::is_due()) [[unlikely]]
                cost.emplace(buffer->device().counters(), CostMeter::Sampled{});
            buffer->bind_compute_pipeline(pipeline);
        }
    }
    registry().device_of(handle).vk.CmdBindPipeline(handle, point, pipeline);
}

const NamedHook kHooks[] = {
    {"vkCreateShaderModule", as_hook(CreateShaderModule)},
    {"vkDestroyShaderModule", as_hook(DestroyShaderModule)},
    {"vkCreateComputePipelines", as_hook(CreateComputePipelines)},
    {"vkDestroyPipeline", as_hook(DestroyPipeline)},
    {"vkCmdBindPipeline", as_hook(CmdBindPipeline)},
};
}    // namespace

std::span<const NamedHook> pipeline_hooks() noexcept {
    return kHooks;
}

}    // namespace lapwing::attach::vulkan_layer
