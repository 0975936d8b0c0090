#include "lapwing/vulkan_devices.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstring>

#include "backends/vulkan/device_clock.hpp"
#include "backends/vulkan/entry_points.hpp"

namespace lapwing {
namespace {

using namespace vulkan;

struct Loader {
    PFN_vkGetInstanceProcAddr get = nullptr;
    PFN_vkCreateInstance create = nullptr;
    uint32_t api_version = VK_API_VERSION_1_0;    // the highest that may be asked for
};

Result<Loader> open_loader(const char* name) {
    void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr)
        return Error{Errc::kNotFound, 0,
                     std::string("the Vulkan loader ") + name + " could not be opened: install libvulkan1"};
    Loader out;
    out.get = reinterpret_cast<PFN_vkGetInstanceProcAddr>(dlsym(library, "vkGetInstanceProcAddr"));
    if (out.get != nullptr)
        out.create = reinterpret_cast<PFN_vkCreateInstance>(out.get(VK_NULL_HANDLE, "vkCreateInstance"));
    if (out.create == nullptr)
        return Error{Errc::kNotFound, 0, std::string(name) + " is not a Vulkan loader: install libvulkan1"};
    // Vulkan 1.0 loaders lack this function, and refuse to make an instance for anything newer.
    const auto version =
        reinterpret_cast<PFN_vkEnumerateInstanceVersion>(out.get(VK_NULL_HANDLE, "vkEnumerateInstanceVersion"));
    uint32_t offered = VK_API_VERSION_1_0;
    if (version != nullptr && version(&offered) == VK_SUCCESS)
        out.api_version = std::min<uint32_t>(offered, VK_API_VERSION_1_3);
    return out;
}

Error no_driver(VkResult result) {
    return Error{Errc::kNotFound, result,
                 "no Vulkan driver was found: install the GPU's driver, or mesa-vulkan-drivers to run on the CPU"};
}

const char* type_text(VkPhysicalDeviceType type) {
    switch (type) {
        case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
            return "discrete";
        case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
            return "integrated";
        case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU:
            return "virtual";
        case VK_PHYSICAL_DEVICE_TYPE_CPU:
            return "cpu";
        default:
            return "other";
    }
}

bool offers_calibration(const InstanceTable& vk, VkPhysicalDevice device) {
    uint32_t count = 0;
    if (vk.EnumerateDeviceExtensionProperties(device, nullptr, &count, nullptr) < 0) return false;
    std::vector<VkExtensionProperties> extensions(count);
    if (vk.EnumerateDeviceExtensionProperties(device, nullptr, &count, extensions.data()) < 0) return false;
    extensions.resize(count);
    return std::any_of(extensions.begin(), extensions.end(), [](const VkExtensionProperties& extension) {
        return std::strcmp(extension.extensionName, "VK_EXT_calibrated_timestamps") == 0 ||
               std::strcmp(extension.extensionName, "VK_KHR_calibrated_timestamps") == 0;
    });
}

VulkanDeviceInfo describe(const InstanceTable& vk, VkPhysicalDevice device, uint32_t api_version) {
    EnabledFeatures as_if_enabled;
    as_if_enabled.calibrated_timestamps = offers_calibration(vk, device);
    const DeviceTraits traits = describe_device(vk, device, api_version, as_if_enabled);

    VulkanDeviceInfo out;
    out.name = traits.name;
    out.driver = traits.driver;
    out.api_version = std::to_string(VK_API_VERSION_MAJOR(traits.api_version)) + "." +
                      std::to_string(VK_API_VERSION_MINOR(traits.api_version)) + "." +
                      std::to_string(VK_API_VERSION_PATCH(traits.api_version));
    out.type = type_text(traits.type);
    out.ns_per_tick = traits.period_usable ? traits.scale.ns_per_tick() : 0;
    out.calibrated = traits.calibrated;
    const char* not_calibrated = as_if_enabled.calibrated_timestamps
                                     ? traits.calibration_reason
                                     : "the driver offers no VK_EXT_calibrated_timestamps";
    out.calibration_reason = not_calibrated;
    if (traits.result_reads_block)
        out.quirks.emplace_back("reading any query result blocks until the whole device is idle");
    if (traits.wrong_after_render_pass)
        out.quirks.emplace_back("timestamps of compute work are wrong after a render pass");
    for (uint32_t i = 0; i < traits.families.size(); ++i) {
        VulkanQueueFamilyInfo family;
        family.index = i;
        family.queue_count = traits.families[i].queueCount;
        family.graphics = (traits.families[i].queueFlags & VK_QUEUE_GRAPHICS_BIT) != 0;
        family.compute = (traits.families[i].queueFlags & VK_QUEUE_COMPUTE_BIT) != 0;
        family.transfer = (traits.families[i].queueFlags & VK_QUEUE_TRANSFER_BIT) != 0;
        family.caps = traits.caps(i);
        if (family.caps.valid_bits > 0) family.caps.reason = not_calibrated;
        out.queue_families.push_back(std::move(family));
    }
    return out;
}

}    // namespace

Result<std::vector<VulkanDeviceInfo>> list_vulkan_devices(const char* loader_name) {
    const Result<Loader> loader = open_loader(loader_name);
    if (!loader.ok()) return loader.error();

    VkApplicationInfo application{};
    application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
    application.pApplicationName = "lapwing";
    application.apiVersion = loader->api_version;
    VkInstanceCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
    info.pApplicationInfo = &application;
    VkInstance instance = VK_NULL_HANDLE;
    const VkResult created = loader->create(&info, nullptr, &instance);
    if (created == VK_ERROR_INCOMPATIBLE_DRIVER) return no_driver(created);    // the loader's word for "no driver"
    if (created != VK_SUCCESS) return Error{Errc::kDriver, created, "vkCreateInstance failed"};

    const InstanceTable vk = InstanceTable::load(instance, loader->get);
    uint32_t count = 0;
    VkResult listed = vk.EnumeratePhysicalDevices(instance, &count, nullptr);
    std::vector<VkPhysicalDevice> handles(count);
    if (listed == VK_SUCCESS) listed = vk.EnumeratePhysicalDevices(instance, &count, handles.data());
    handles.resize(count);

    std::vector<VulkanDeviceInfo> out;
    if (listed >= 0)
        for (const VkPhysicalDevice handle : handles) out.push_back(describe(vk, handle, loader->api_version));
    vk.DestroyInstance(instance, nullptr);
    if (listed < 0 && listed != VK_ERROR_INITIALIZATION_FAILED)
        return Error{Errc::kDriver, listed, "vkEnumeratePhysicalDevices failed"};
    if (out.empty()) return no_driver(listed);
    return out;
}

}    // namespace lapwing
