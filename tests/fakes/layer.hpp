// What every test layer shares: finding the next layer, keeping state per instance and device, answering the loader.
// Shares no code with src/, so that a fault there cannot hide itself here.
#pragma once

#include <vulkan/vk_layer.h>
#include <vulkan/vulkan.h>

#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>

namespace fakes {

/// The loader's dispatch table pointer: equal for a device, its queues and its command buffers (and for an instance and
/// its physical devices), so it names the state they belong to.
template <class Handle>
void* dispatch_key(Handle handle) {
    return *reinterpret_cast<void**>(handle);
}

/// The loader's link to the next layer in a create info's chain; null when there is none.
template <class LinkInfo>
LinkInfo* find_link(const void* chain, VkStructureType type) {
    auto* info = const_cast<LinkInfo*>(static_cast<const LinkInfo*>(chain));
    while (info != nullptr && !(info->sType == type && info->function == VK_LAYER_LINK_INFO))
        info = const_cast<LinkInfo*>(static_cast<const LinkInfo*>(info->pNext));
    return info;
}

/// Whether `name` is `function` ("vkQueueSubmit2") or its KHR or EXT alias.
inline bool names_function(std::string_view name, std::string_view function) {
    if (!name.starts_with(function)) return false;
    const std::string_view suffix = name.substr(function.size());
    return suffix.empty() || suffix == "KHR" || suffix == "EXT";
}

/// A device function by its core name, or by its KHR or EXT alias where the device has only that.
PFN_vkVoidFunction find_device_function(PFN_vkGetDeviceProcAddr next, VkDevice device, const char* name);

/// One layer. `Traits` says what differs:
///   Instance   default constructible; `void load(VkInstance, PFN_vkGetInstanceProcAddr)` caches what it calls
///   Device     default constructible; `void load(VkDevice, PFN_vkGetDeviceProcAddr, Instance&, VkPhysicalDevice)`;
///              `void close()` before the device is destroyed
///   find_hook  static; the layer's own function of that name, or null
/// Every instance function is cached by load(): asking the next vkGetInstanceProcAddr later returns this layer's own.
template <class Traits>
struct Layer {
    using Instance = typename Traits::Instance;
    using Device = typename Traits::Device;

    template <class Handle>
    static Device& device(Handle handle) {
        const std::lock_guard lock(mutex());
        return devices().at(dispatch_key(handle))->state;
    }
    template <class Handle>
    static Instance& instance(Handle handle) {
        const std::lock_guard lock(mutex());
        return instances().at(dispatch_key(handle))->state;
    }
    /// Calls `visit(Device&)` for every live device.
    template <class Visit>
    static void for_each_device(Visit visit) {
        const std::lock_guard lock(mutex());
        for (auto& [key, entry] : devices()) visit(entry->state);
    }

    static VkResult negotiate(VkNegotiateLayerInterface* version) {
        if (version->loaderLayerInterfaceVersion < 2) return VK_ERROR_INITIALIZATION_FAILED;
        version->loaderLayerInterfaceVersion = 2;
        version->pfnGetInstanceProcAddr = get_instance_proc_addr;
        version->pfnGetDeviceProcAddr = get_device_proc_addr;
        version->pfnGetPhysicalDeviceProcAddr = nullptr;
        return VK_SUCCESS;
    }

private:
    struct InstanceEntry {
        VkInstance handle = VK_NULL_HANDLE;
        PFN_vkGetInstanceProcAddr next = nullptr;
        PFN_vkDestroyInstance destroy = nullptr;
        Instance state;
    };
    struct DeviceEntry {
        PFN_vkGetDeviceProcAddr next = nullptr;
        PFN_vkDestroyDevice destroy = nullptr;
        Device state;
    };

    // Never destroyed: a program may still call Vulkan while its static objects go.
    static std::mutex& mutex() {
        static auto* const mutex = new std::mutex;
        return *mutex;
    }
    static std::map<void*, std::unique_ptr<InstanceEntry>>& instances() {
        static auto* const map = new std::map<void*, std::unique_ptr<InstanceEntry>>;
        return *map;
    }
    static std::map<void*, std::unique_ptr<DeviceEntry>>& devices() {
        static auto* const map = new std::map<void*, std::unique_ptr<DeviceEntry>>;
        return *map;
    }

    static VKAPI_ATTR VkResult VKAPI_CALL create_instance(const VkInstanceCreateInfo* info,
                                                          const VkAllocationCallbacks* allocator, VkInstance* out) {
        auto* const link =
            find_link<VkLayerInstanceCreateInfo>(info->pNext, VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO);
        if (link == nullptr) return VK_ERROR_INITIALIZATION_FAILED;
        const auto next = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
        link->u.pLayerInfo = link->u.pLayerInfo->pNext;
        const auto create = reinterpret_cast<PFN_vkCreateInstance>(next(VK_NULL_HANDLE, "vkCreateInstance"));
        const VkResult result = create(info, allocator, out);
        if (result != VK_SUCCESS) return result;
        auto entry = std::make_unique<InstanceEntry>();
        entry->handle = *out;
        entry->next = next;
        entry->destroy = reinterpret_cast<PFN_vkDestroyInstance>(next(*out, "vkDestroyInstance"));
        entry->state.load(*out, next);
        const std::lock_guard lock(mutex());
        instances()[dispatch_key(*out)] = std::move(entry);
        return VK_SUCCESS;
    }

    static VKAPI_ATTR void VKAPI_CALL destroy_instance(VkInstance instance, const VkAllocationCallbacks* allocator) {
        if (instance == VK_NULL_HANDLE) return;
        std::unique_ptr<InstanceEntry> entry;
        {
            const std::lock_guard lock(mutex());
            entry = std::move(instances().at(dispatch_key(instance)));
            instances().erase(dispatch_key(instance));
        }
        entry->destroy(instance, allocator);
    }

    static VKAPI_ATTR VkResult VKAPI_CALL create_device(VkPhysicalDevice physical, const VkDeviceCreateInfo* info,
                                                        const VkAllocationCallbacks* allocator, VkDevice* out) {
        auto* const link = find_link<VkLayerDeviceCreateInfo>(info->pNext, VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO);
        if (link == nullptr) return VK_ERROR_INITIALIZATION_FAILED;
        const auto next_instance = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
        const auto next = link->u.pLayerInfo->pfnNextGetDeviceProcAddr;
        link->u.pLayerInfo = link->u.pLayerInfo->pNext;
        InstanceEntry* owner = nullptr;
        {
            const std::lock_guard lock(mutex());
            owner = instances().at(dispatch_key(physical)).get();
        }
        const auto create = reinterpret_cast<PFN_vkCreateDevice>(next_instance(owner->handle, "vkCreateDevice"));
        const VkResult result = create(physical, info, allocator, out);
        if (result != VK_SUCCESS) return result;
        auto entry = std::make_unique<DeviceEntry>();
        entry->next = next;
        entry->destroy = reinterpret_cast<PFN_vkDestroyDevice>(next(*out, "vkDestroyDevice"));
        entry->state.load(*out, next, owner->state, physical);
        const std::lock_guard lock(mutex());
        devices()[dispatch_key(*out)] = std::move(entry);
        return VK_SUCCESS;
    }

    static VKAPI_ATTR void VKAPI_CALL destroy_device(VkDevice device, const VkAllocationCallbacks* allocator) {
        if (device == VK_NULL_HANDLE) return;
        std::unique_ptr<DeviceEntry> entry;
        {
            const std::lock_guard lock(mutex());
            entry = std::move(devices().at(dispatch_key(device)));
            devices().erase(dispatch_key(device));
        }
        entry->state.close();
        entry->destroy(device, allocator);
    }

    static PFN_vkVoidFunction find_own(const char* name) {
        const std::string_view text = name;
        if (text == "vkGetInstanceProcAddr") return reinterpret_cast<PFN_vkVoidFunction>(get_instance_proc_addr);
        if (text == "vkCreateInstance") return reinterpret_cast<PFN_vkVoidFunction>(create_instance);
        if (text == "vkDestroyInstance") return reinterpret_cast<PFN_vkVoidFunction>(destroy_instance);
        if (text == "vkCreateDevice") return reinterpret_cast<PFN_vkVoidFunction>(create_device);
        return find_own_of_device(name);
    }
    static PFN_vkVoidFunction find_own_of_device(const char* name) {
        const std::string_view text = name;
        if (text == "vkGetDeviceProcAddr") return reinterpret_cast<PFN_vkVoidFunction>(get_device_proc_addr);
        if (text == "vkDestroyDevice") return reinterpret_cast<PFN_vkVoidFunction>(destroy_device);
        return nullptr;
    }

    // A hook is handed out only where the next layer has the function too, so that it always has one to call.
    static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_instance_proc_addr(VkInstance handle, const char* name) {
        if (const auto own = find_own(name)) return own;
        if (handle == VK_NULL_HANDLE) return nullptr;
        PFN_vkGetInstanceProcAddr next = nullptr;
        {
            const std::lock_guard lock(mutex());
            next = instances().at(dispatch_key(handle))->next;
        }
        const auto real = next(handle, name);
        const auto hook = Traits::find_hook(name);
        return real != nullptr && hook != nullptr ? hook : real;
    }
    static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_device_proc_addr(VkDevice handle, const char* name) {
        if (const auto own = find_own_of_device(name)) return own;
        PFN_vkGetDeviceProcAddr next = nullptr;
        {
            const std::lock_guard lock(mutex());
            next = devices().at(dispatch_key(handle))->next;
        }
        const auto real = next(handle, name);
        const auto hook = Traits::find_hook(name);
        return real != nullptr && hook != nullptr ? hook : real;
    }
};

}    // namespace fakes
