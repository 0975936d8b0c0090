// The one symbol that the shared library exports.
#include <vulkan/vk_layer.h>

#include <algorithm>

#include "attach/vulkan_layer/instance.hpp"

/// What the loader calls first: agrees on interface version 2, the oldest one in which everything is handed over here.
extern "C" __attribute__((visibility("default"))) VKAPI_ATTR VkResult VKAPI_CALL
vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface* version) {
    if (version == nullptr || version->sType != LAYER_NEGOTIATE_INTERFACE_STRUCT ||
        version->loaderLayerInterfaceVersion < 2)
        return VK_ERROR_INITIALIZATION_FAILED;
    version->loaderLayerInterfaceVersion = std::min<uint32_t>(version->loaderLayerInterfaceVersion, 2);
    version->pfnGetInstanceProcAddr = lapwing::attach::vulkan_layer::get_instance_proc_addr;
    version->pfnGetDeviceProcAddr = lapwing::attach::vulkan_layer::get_device_proc_addr;
    version->pfnGetPhysicalDeviceProcAddr = nullptr;
    return VK_SUCCESS;
}
