// Creating a device with the clock calibration that the program did not ask for, and the end of a device.
#include <cstring>

#include "attach/session/cost_meter.hpp"
#include "attach/session/host_time.hpp"
#include "attach/vulkan_layer/instance.hpp"
#include "attach/vulkan_layer/registry.hpp"

namespace lapwing::attach::vulkan_layer {

namespace {
// What the loader hands over under `function`; null where it does not.
VkLayerDeviceCreateInfo* loader_info(const VkDeviceCreateInfo& info, VkLayerFunction function) noexcept {
    auto* next = static_cast<VkBaseOutStructure*>(const_cast<void*>(info.pNext));
    for (; next != nullptr; next = next->pNext) {
        if (next->sType != VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO) continue;
        auto* const found = reinterpret_cast<VkLayerDeviceCreateInfo*>(next);
        if (found->function == function) return found;
    }
    return nullptr;
}

// The calibration extension to add: offered, not enabled already, and with what it builds on. Null = none.
const char* calibration_to_add(const Instance& instance, VkPhysicalDevice physical_device,
                               const VkDeviceCreateInfo& info) {
    if (vulkan::EnabledFeatures::from(info).calibrated_timestamps) return nullptr;
    if (!instance.physical_device_properties2 || instance.vk.EnumerateDeviceExtensionProperties == nullptr)
        return nullptr;
    uint32_t count = 0;
    const auto enumerate = instance.vk.EnumerateDeviceExtensionProperties;
    if (enumerate(physical_device, nullptr, &count, nullptr) != VK_SUCCESS) return nullptr;
    std::vector<VkExtensionProperties> offered(count);
    if (enumerate(physical_device, nullptr, &count, offered.data()) != VK_SUCCESS) return nullptr;
    for (const VkExtensionProperties& extension : std::span(offered.data(), count))
        if (std::strcmp(extension.extensionName, VK_EXT_CALIBRATED_TIMESTAMPS_EXTENSION_NAME) == 0)
            return VK_EXT_CALIBRATED_TIMESTAMPS_EXTENSION_NAME;
    return nullptr;
}

// What the next layer is asked to create. `info` points into this object.
struct Request {
    VkDeviceCreateInfo info;
    std::vector<const char*> extensions;
};

Request request_with(const VkDeviceCreateInfo& info, const char* extension) {
    Request out{info, {info.ppEnabledExtensionNames, info.ppEnabledExtensionNames + info.enabledExtensionCount}};
    out.extensions.push_back(extension);
    out.info.ppEnabledExtensionNames = out.extensions.data();
    out.info.enabledExtensionCount = static_cast<uint32_t>(out.extensions.size());
    return out;
}

struct Created {
    VkResult result = VK_ERROR_INITIALIZATION_FAILED;
    vulkan::EnabledFeatures enabled;
    PFN_vkSetDeviceLoaderData set_loader_data = nullptr;
};

Created create(const Instance& instance, VkLayerDeviceCreateInfo& link, VkPhysicalDevice physical_device,
               const VkDeviceCreateInfo& info, bool follow, const VkAllocationCallbacks* allocator, VkDevice* device,
               CostMeter& cost) {
    VkLayerDeviceLink* const next_link = link.u.pLayerInfo->pNext;
    Created out;
    if (const VkLayerDeviceCreateInfo* callback = loader_info(info, VK_LOADER_DATA_CALLBACK); callback != nullptr)
        out.set_loader_data = callback->u.pfnSetDeviceLoaderData;
    if (const char* extension = follow ? calibration_to_add(instance, physical_device, info) : nullptr;
        extension != nullptr) {
        const Request request = request_with(info, extension);
        link.u.pLayerInfo = next_link;
        cost.pause();
        out.result = instance.vk.CreateDevice(physical_device, &request.info, allocator, device);
        cost.resume();
        out.enabled = vulkan::EnabledFeatures::from(request.info);
        if (out.result == VK_SUCCESS) return out;
    }
    // Each layer below has moved the link on for the next one; a second try must begin where the first one did.
    link.u.pLayerInfo = next_link;
    cost.pause();
    out.result = instance.vk.CreateDevice(physical_device, &info, allocator, device);
    cost.resume();
    out.enabled = vulkan::EnabledFeatures::from(info);
    return out;
}

void follow_device(DeviceEntry& entry, VkDevice device, const Instance& instance, VkPhysicalDevice physical_device,
                   const Created& created, Session& session) noexcept {
    try {
        CopyStore::Setup setup;
        instance.vk.GetPhysicalDeviceMemoryProperties(physical_device, &setup.memory);
        setup.set_loader_data = created.set_loader_data;
        const vulkan::DeviceTraits traits =
            vulkan::describe_device(instance.vk, physical_device, instance.api_version, created.enabled);
        entry.followed = std::make_unique<Device>(device, entry.vk, traits, setup, session);
    } catch (...) {
        Counters::add(session.counters().faults);    // the device goes unfollowed
    }
}
}    // namespace

VKAPI_ATTR VkResult VKAPI_CALL create_device(VkPhysicalDevice physical_device, const VkDeviceCreateInfo* info,
                                             const VkAllocationCallbacks* allocator, VkDevice* device) {
    CostMeter cost(g_start_ns);
    VkLayerDeviceCreateInfo* const link = loader_info(*info, VK_LAYER_LINK_INFO);
    if (link == nullptr) return VK_ERROR_INITIALIZATION_FAILED;
    const PFN_vkGetDeviceProcAddr next = link->u.pLayerInfo->pfnNextGetDeviceProcAddr;
    try {
        const Instance instance = registry().instance_of(physical_device);
        if (instance.vk.CreateDevice == nullptr) return VK_ERROR_INITIALIZATION_FAILED;
        Session* const session = process_session();
        const Created created =
            create(instance, *link, physical_device, *info, session != nullptr, allocator, device, cost);
        if (created.result != VK_SUCCESS) return created.result;
        auto entry = std::make_unique<DeviceEntry>(*device, next);
        if (session != nullptr) follow_device(*entry, *device, instance, physical_device, created, *session);
        registry().add_device(*device, std::move(entry));
        return VK_SUCCESS;
    } catch (...) {
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    }
}

VKAPI_ATTR void VKAPI_CALL destroy_device(VkDevice device, const VkAllocationCallbacks* allocator) {
    if (device == VK_NULL_HANDLE) return;
    if (!process_live()) {
        // In a fork child, locks of ours may be held by threads that do not exist; at exit, other threads may be in
        // hooks. What is kept of the device stays.
        const DeviceEntry& entry = registry().device_of(device);
        if (entry.vk.DestroyDevice != nullptr) entry.vk.DestroyDevice(device, allocator);
        return;
    }
    if (Device* const followed = registry().device_of(device).live(); followed != nullptr) {
        try {
            // The program has made the device idle, or this call would not be allowed.
            followed->queues().finish(host_now_ns());
        } catch (...) {
            followed->queues().give_up();
        }
    }
    const std::unique_ptr<DeviceEntry> entry = registry().remove_device(device);
    if (entry == nullptr) return;
    if (entry->followed != nullptr) {
        entry->followed->copies().destroy();
        entry->followed->chunks().destroy();
        entry->followed->session().publish_stats(true);
    }
    if (entry->vk.DestroyDevice != nullptr) entry->vk.DestroyDevice(device, allocator);
}

}    // namespace lapwing::attach::vulkan_layer
