#include "attach/vulkan_layer/instance.hpp"

#include <cstring>

#include "attach/session/cost_meter.hpp"
#include "attach/vulkan_layer/hooks.hpp"
#include "attach/vulkan_layer/identity.hpp"
#include "attach/vulkan_layer/registry.hpp"

namespace lapwing::attach::vulkan_layer {

namespace {
VkLayerInstanceCreateInfo* link_info(const VkInstanceCreateInfo& info) noexcept {
    // The loader hands its links over in a chain that is const for everybody but the layers.
    auto* next = static_cast<VkBaseOutStructure*>(const_cast<void*>(info.pNext));
    for (; next != nullptr; next = next->pNext) {
        if (next->sType != VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO) continue;
        auto* const link = reinterpret_cast<VkLayerInstanceCreateInfo*>(next);
        if (link->function == VK_LAYER_LINK_INFO) return link;
    }
    return nullptr;
}

bool enables(const VkInstanceCreateInfo& info, const char* extension) noexcept {
    for (uint32_t i = 0; i < info.enabledExtensionCount; ++i)
        if (std::strcmp(info.ppEnabledExtensionNames[i], extension) == 0) return true;
    return false;
}

Instance describe(VkInstance handle, PFN_vkGetInstanceProcAddr next, const VkInstanceCreateInfo& info) {
    Instance out;
    out.handle = handle;
    out.next_proc_addr = next;
    // Fetched now, while the chain is being built: asked later, the next layer may answer with our own functions.
    out.vk = vulkan::InstanceTable::load(handle, next);
    if (info.pApplicationInfo != nullptr && info.pApplicationInfo->apiVersion != 0)
        out.api_version = info.pApplicationInfo->apiVersion;
    out.physical_device_properties2 =
        out.api_version >= VK_API_VERSION_1_1 || enables(info, VK_KHR_GET_PHYSICAL_DEVICE_PROPERTIES_2_EXTENSION_NAME);
    return out;
}

VKAPI_ATTR VkResult VKAPI_CALL create_instance(const VkInstanceCreateInfo* info, const VkAllocationCallbacks* allocator,
                                               VkInstance* instance) {
    CostMeter cost(g_start_ns);
    VkLayerInstanceCreateInfo* const link = link_info(*info);
    if (link == nullptr) return VK_ERROR_INITIALIZATION_FAILED;
    const PFN_vkGetInstanceProcAddr next = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
    link->u.pLayerInfo = link->u.pLayerInfo->pNext;
    const auto create = reinterpret_cast<PFN_vkCreateInstance>(next(VK_NULL_HANDLE, "vkCreateInstance"));
    if (create == nullptr) return VK_ERROR_INITIALIZATION_FAILED;
    cost.pause();
    const VkResult result = create(info, allocator, instance);
    cost.resume();
    if (result != VK_SUCCESS) return result;
    try {
        identify_layer(kIdentity);
        static_cast<void>(process_config());    // a bad setting is reported here, once
        registry().add_instance(describe(*instance, next, *info));
    } catch (...) {
        // Nothing could be passed on without it.
        const auto destroy = reinterpret_cast<PFN_vkDestroyInstance>(next(*instance, "vkDestroyInstance"));
        if (destroy != nullptr) destroy(*instance, allocator);
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    }
    return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL destroy_instance(VkInstance instance, const VkAllocationCallbacks* allocator) {
    if (instance == VK_NULL_HANDLE) return;
    const PFN_vkDestroyInstance destroy = registry().instance_of(instance).vk.DestroyInstance;
    registry().remove_instance(instance);
    if (destroy != nullptr) destroy(instance, allocator);
}

const NamedHook kInstanceFunctions[] = {
    {"vkGetInstanceProcAddr", as_hook(get_instance_proc_addr)},
    {"vkGetDeviceProcAddr", as_hook(get_device_proc_addr)},
    {"vkCreateInstance", as_hook(create_instance)},
    {"vkDestroyInstance", as_hook(destroy_instance)},
    {"vkCreateDevice", as_hook(create_device)},
    {"vkDestroyDevice", as_hook(destroy_device)},
};

bool active() noexcept {
    try {
        return process_config().active();
    } catch (...) {
        return false;
    }
}
}    // namespace

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_instance_proc_addr(VkInstance instance, const char* name) {
    for (const NamedHook& own : kInstanceFunctions)
        if (std::strcmp(own.name, name) == 0) return own.function;
    if (instance == VK_NULL_HANDLE) return nullptr;
    const PFN_vkGetInstanceProcAddr next = registry().instance_of(instance).next_proc_addr;
    const PFN_vkVoidFunction theirs = next == nullptr ? nullptr : next(instance, name);
    if (theirs == nullptr || !active()) return theirs;
    const PFN_vkVoidFunction hook = device_hook(name);
    return hook == nullptr ? theirs : hook;
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_device_proc_addr(VkDevice device, const char* name) {
    if (std::strcmp(name, "vkGetDeviceProcAddr") == 0) return as_hook(get_device_proc_addr);
    if (std::strcmp(name, "vkDestroyDevice") == 0) return as_hook(destroy_device);
    const DeviceEntry& entry = registry().device_of(device);
    const PFN_vkVoidFunction theirs = entry.next_proc_addr(device, name);
    if (entry.followed == nullptr) return theirs;
    const PFN_vkVoidFunction hook = device_hook(name);
    if (hook == nullptr) return theirs;
    return theirs != nullptr || hook_stands_alone(name) ? hook : nullptr;
}

}    // namespace lapwing::attach::vulkan_layer
