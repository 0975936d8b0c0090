// The Vulkan of `lapwing bench`.
#pragma once

#include <dlfcn.h>
#include <vulkan/vulkan_core.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "lapwing/vulkan_devices.hpp"

namespace lapwing::cli {

/// One instance, and one device of it at a time. Every function is looked up by name: nothing links the loader.
class Vulkan {
public:
    Vulkan() {
        void* const library = dlopen(kVulkanLoader, RTLD_NOW | RTLD_LOCAL);    // stays open: drivers start threads
        if (library == nullptr) return;
        get_ = reinterpret_cast<PFN_vkGetInstanceProcAddr>(dlsym(library, "vkGetInstanceProcAddr"));
        if (get_ == nullptr) return;
        VkApplicationInfo application{};
        application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
        application.pApplicationName = "lapwing bench";
        application.apiVersion = VK_API_VERSION_1_1;
        VkInstanceCreateInfo info{};
        info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
        info.pApplicationInfo = &application;
        const auto create = function<PFN_vkCreateInstance>("vkCreateInstance");
        if (create == nullptr || create(&info, nullptr, &instance_) != VK_SUCCESS) instance_ = VK_NULL_HANDLE;
    }
    ~Vulkan() {
        if (instance_ != VK_NULL_HANDLE) function<PFN_vkDestroyInstance>("vkDestroyInstance")(instance_, nullptr);
    }
    Vulkan(const Vulkan&) = delete;
    Vulkan& operator=(const Vulkan&) = delete;

    [[nodiscard]] bool ok() const { return instance_ != VK_NULL_HANDLE; }
    [[nodiscard]] VkInstance instance() const { return instance_; }
    [[nodiscard]] PFN_vkGetInstanceProcAddr get_instance_proc_addr() const { return get_; }
    template <class F>
    [[nodiscard]] F function(const char* name) const {
        return reinterpret_cast<F>(get_(instance_, name));
    }
    [[nodiscard]] std::vector<VkPhysicalDevice> devices() const {
        const auto list = function<PFN_vkEnumeratePhysicalDevices>("vkEnumeratePhysicalDevices");
        uint32_t count = 0;
        if (list(instance_, &count, nullptr) < 0) return {};
        std::vector<VkPhysicalDevice> out(count);
        if (list(instance_, &count, out.data()) < 0) return {};
        out.resize(count);
        return out;
    }
    /// The first family that can compute and has timestamps; absent where there is none.
    [[nodiscard]] std::optional<uint32_t> timed_family(VkPhysicalDevice device) const {
        const auto list =
            function<PFN_vkGetPhysicalDeviceQueueFamilyProperties>("vkGetPhysicalDeviceQueueFamilyProperties");
        uint32_t count = 0;
        list(device, &count, nullptr);
        std::vector<VkQueueFamilyProperties> families(count);
        list(device, &count, families.data());
        for (uint32_t i = 0; i < count; ++i)
            if ((families[i].queueFlags & VK_QUEUE_COMPUTE_BIT) != 0 && families[i].timestampValidBits > 0) return i;
        return std::nullopt;
    }
    /// The same, or else the first that can compute at all.
    [[nodiscard]] std::optional<uint32_t> compute_family(VkPhysicalDevice device) const {
        if (const std::optional<uint32_t> timed = timed_family(device)) return timed;
        const auto list =
            function<PFN_vkGetPhysicalDeviceQueueFamilyProperties>("vkGetPhysicalDeviceQueueFamilyProperties");
        uint32_t count = 0;
        list(device, &count, nullptr);
        std::vector<VkQueueFamilyProperties> families(count);
        list(device, &count, families.data());
        for (uint32_t i = 0; i < count; ++i)
            if ((families[i].queueFlags & VK_QUEUE_COMPUTE_BIT) != 0) return i;
        return std::nullopt;
    }
    [[nodiscard]] VkDevice make_device(VkPhysicalDevice physical, uint32_t family) const {
        const float priority = 1;
        VkDeviceQueueCreateInfo queue{};
        queue.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
        queue.queueFamilyIndex = family;
        queue.queueCount = 1;
        queue.pQueuePriorities = &priority;
        VkDeviceCreateInfo info{};
        info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
        info.queueCreateInfoCount = 1;
        info.pQueueCreateInfos = &queue;
        VkDevice device = VK_NULL_HANDLE;
        if (function<PFN_vkCreateDevice>("vkCreateDevice")(physical, &info, nullptr, &device) != VK_SUCCESS)
            return VK_NULL_HANDLE;
        return device;
    }

private:
    PFN_vkGetInstanceProcAddr get_ = nullptr;
    VkInstance instance_ = VK_NULL_HANDLE;
};

}    // namespace lapwing::cli
