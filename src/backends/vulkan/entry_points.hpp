// Every Vulkan entry point that the backend and the layer call or intercept: one list, loaded at run time.
#pragma once

#include <vulkan/vulkan_core.h>

/// Instance-level entry points: X(name without "vk").
#define LAPWING_VK_INSTANCE_ENTRY_POINTS(X)    \
    X(DestroyInstance)                         \
    X(CreateDevice)                            \
    X(EnumeratePhysicalDevices)                \
    X(EnumeratePhysicalDeviceGroups)           \
    X(EnumerateDeviceExtensionProperties)      \
    X(GetPhysicalDeviceFeatures)               \
    X(GetPhysicalDeviceFeatures2)              \
    X(GetPhysicalDeviceProperties)             \
    X(GetPhysicalDeviceProperties2)            \
    X(GetPhysicalDeviceQueueFamilyProperties)  \
    X(GetPhysicalDeviceQueueFamilyProperties2) \
    X(GetPhysicalDeviceMemoryProperties)       \
    X(GetPhysicalDeviceCalibrateableTimeDomainsEXT)

/// Names under which older or newer drivers offer the same instance-level function: X(name, full other name).
#define LAPWING_VK_INSTANCE_FALLBACKS(X)                                                       \
    X(EnumeratePhysicalDeviceGroups, "vkEnumeratePhysicalDeviceGroupsKHR")                     \
    X(GetPhysicalDeviceFeatures2, "vkGetPhysicalDeviceFeatures2KHR")                           \
    X(GetPhysicalDeviceProperties2, "vkGetPhysicalDeviceProperties2KHR")                       \
    X(GetPhysicalDeviceQueueFamilyProperties2, "vkGetPhysicalDeviceQueueFamilyProperties2KHR") \
    X(GetPhysicalDeviceCalibrateableTimeDomainsEXT, "vkGetPhysicalDeviceCalibrateableTimeDomainsKHR")

/// Device-level entry points: X(name without "vk"). The layer's hooks are a subset of this list.
#define LAPWING_VK_DEVICE_ENTRY_POINTS(X)        \
    X(DestroyDevice)                             \
    X(GetDeviceQueue)                            \
    X(GetDeviceQueue2)                           \
    X(DeviceWaitIdle)                            \
    X(QueueSubmit)                               \
    X(QueueSubmit2)                              \
    X(QueueBindSparse)                           \
    X(QueueWaitIdle)                             \
    X(QueueBeginDebugUtilsLabelEXT)              \
    X(QueueEndDebugUtilsLabelEXT)                \
    X(QueueInsertDebugUtilsLabelEXT)             \
    X(CreateFence)                               \
    X(DestroyFence)                              \
    X(ResetFences)                               \
    X(GetFenceStatus)                            \
    X(WaitForFences)                             \
    X(CreateSemaphore)                           \
    X(DestroySemaphore)                          \
    X(GetSemaphoreCounterValue)                  \
    X(WaitSemaphores)                            \
    X(SignalSemaphore)                           \
    X(CreateQueryPool)                           \
    X(DestroyQueryPool)                          \
    X(ResetQueryPool)                            \
    X(GetQueryPoolResults)                       \
    X(GetCalibratedTimestampsEXT)                \
    X(AllocateMemory)                            \
    X(FreeMemory)                                \
    X(MapMemory)                                 \
    X(UnmapMemory)                               \
    X(FlushMappedMemoryRanges)                   \
    X(InvalidateMappedMemoryRanges)              \
    X(CreateBuffer)                              \
    X(DestroyBuffer)                             \
    X(GetBufferMemoryRequirements)               \
    X(BindBufferMemory)                          \
    X(CreateShaderModule)                        \
    X(DestroyShaderModule)                       \
    X(CreateComputePipelines)                    \
    X(DestroyPipeline)                           \
    X(SetDebugUtilsObjectNameEXT)                \
    X(CreateCommandPool)                         \
    X(ResetCommandPool)                          \
    X(DestroyCommandPool)                        \
    X(AllocateCommandBuffers)                    \
    X(FreeCommandBuffers)                        \
    X(BeginCommandBuffer)                        \
    X(EndCommandBuffer)                          \
    X(ResetCommandBuffer)                        \
    X(CmdExecuteCommands)                        \
    X(CmdBindPipeline)                           \
    X(CmdDispatch)                               \
    X(CmdDispatchBase)                           \
    X(CmdDispatchIndirect)                       \
    X(CmdCopyBuffer)                             \
    X(CmdCopyBuffer2)                            \
    X(CmdCopyImage)                              \
    X(CmdCopyImage2)                             \
    X(CmdCopyBufferToImage)                      \
    X(CmdCopyBufferToImage2)                     \
    X(CmdCopyImageToBuffer)                      \
    X(CmdCopyImageToBuffer2)                     \
    X(CmdBlitImage)                              \
    X(CmdBlitImage2)                             \
    X(CmdResolveImage)                           \
    X(CmdResolveImage2)                          \
    X(CmdUpdateBuffer)                           \
    X(CmdFillBuffer)                             \
    X(CmdClearColorImage)                        \
    X(CmdClearDepthStencilImage)                 \
    X(CmdBeginRenderPass)                        \
    X(CmdBeginRenderPass2)                       \
    X(CmdEndRenderPass)                          \
    X(CmdEndRenderPass2)                         \
    X(CmdBeginRendering)                         \
    X(CmdEndRendering)                           \
    X(CmdPipelineBarrier)                        \
    X(CmdPipelineBarrier2)                       \
    X(CmdResetQueryPool)                         \
    X(CmdWriteTimestamp)                         \
    X(CmdWriteTimestamp2)                        \
    X(CmdCopyQueryPoolResults)                   \
    X(CmdBeginDebugUtilsLabelEXT)                \
    X(CmdEndDebugUtilsLabelEXT)                  \
    X(CmdInsertDebugUtilsLabelEXT)               \
    X(CmdTraceRaysKHR)                           \
    X(CmdTraceRaysIndirectKHR)                   \
    X(CmdTraceRaysIndirect2KHR)                  \
    X(CmdBuildAccelerationStructuresKHR)         \
    X(CmdBuildAccelerationStructuresIndirectKHR) \
    X(CmdCopyAccelerationStructureKHR)           \
    X(CmdCopyAccelerationStructureToMemoryKHR)   \
    X(CmdCopyMemoryToAccelerationStructureKHR)   \
    X(CmdTraceRaysNV)                            \
    X(CmdBuildAccelerationStructureNV)           \
    X(CmdCopyAccelerationStructureNV)

/// Names under which older or newer drivers offer the same device-level function: X(name, full other name).
#define LAPWING_VK_DEVICE_FALLBACKS(X)                            \
    X(QueueSubmit2, "vkQueueSubmit2KHR")                          \
    X(GetSemaphoreCounterValue, "vkGetSemaphoreCounterValueKHR")  \
    X(WaitSemaphores, "vkWaitSemaphoresKHR")                      \
    X(SignalSemaphore, "vkSignalSemaphoreKHR")                    \
    X(ResetQueryPool, "vkResetQueryPoolEXT")                      \
    X(GetCalibratedTimestampsEXT, "vkGetCalibratedTimestampsKHR") \
    X(CmdDispatchBase, "vkCmdDispatchBaseKHR")                    \
    X(CmdCopyBuffer2, "vkCmdCopyBuffer2KHR")                      \
    X(CmdCopyImage2, "vkCmdCopyImage2KHR")                        \
    X(CmdCopyBufferToImage2, "vkCmdCopyBufferToImage2KHR")        \
    X(CmdCopyImageToBuffer2, "vkCmdCopyImageToBuffer2KHR")        \
    X(CmdBlitImage2, "vkCmdBlitImage2KHR")                        \
    X(CmdResolveImage2, "vkCmdResolveImage2KHR")                  \
    X(CmdBeginRenderPass2, "vkCmdBeginRenderPass2KHR")            \
    X(CmdEndRenderPass2, "vkCmdEndRenderPass2KHR")                \
    X(CmdBeginRendering, "vkCmdBeginRenderingKHR")                \
    X(CmdEndRendering, "vkCmdEndRenderingKHR")                    \
    X(CmdPipelineBarrier2, "vkCmdPipelineBarrier2KHR")            \
    X(CmdWriteTimestamp2, "vkCmdWriteTimestamp2KHR")

namespace lapwing::vulkan {

/// The instance-level entry points of one instance. A member is null where neither name is offered.
/// Shape:   plain data; valid as long as its instance.
struct InstanceTable {
#define LAPWING_VK_MEMBER(name) PFN_vk##name name = nullptr;
    LAPWING_VK_INSTANCE_ENTRY_POINTS(LAPWING_VK_MEMBER)
#undef LAPWING_VK_MEMBER

    /// Cost:    cold: one look-up a name.
    [[nodiscard]] static InstanceTable load(VkInstance instance, PFN_vkGetInstanceProcAddr get);
};

/// The device-level entry points of one device. A member is null where neither name is offered.
/// Shape:   plain data; valid as long as its device.
struct DeviceTable {
#define LAPWING_VK_MEMBER(name) PFN_vk##name name = nullptr;
    LAPWING_VK_DEVICE_ENTRY_POINTS(LAPWING_VK_MEMBER)
#undef LAPWING_VK_MEMBER

    /// Cost:    cold: one look-up a name.
    [[nodiscard]] static DeviceTable load(VkDevice device, PFN_vkGetDeviceProcAddr get);
};

}    // namespace lapwing::vulkan
