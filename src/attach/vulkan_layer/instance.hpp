// Instance-level entry points of the layer: creation and destruction of instances and devices, and names to functions.
#pragma once

#include <vulkan/vk_layer.h>
#include <vulkan/vulkan_core.h>

namespace lapwing::attach::vulkan_layer {

/// What the loader asks the layer for, by name. Device-level names answer with hooks too, as loaders and layers above
/// fetch them through the instance.
VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_instance_proc_addr(VkInstance instance, const char* name);
VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_device_proc_addr(VkDevice device, const char* name);

VKAPI_ATTR VkResult VKAPI_CALL create_device(VkPhysicalDevice physical_device, const VkDeviceCreateInfo* info,
                                             const VkAllocationCallbacks* allocator, VkDevice* device);
VKAPI_ATTR void VKAPI_CALL destroy_device(VkDevice device, const VkAllocationCallbacks* allocator);

}    // namespace lapwing::attach::vulkan_layer
