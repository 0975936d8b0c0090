// What each Vulkan device of this machine can do for timing, and why not. No Vulkan header is needed to read this.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lapwing/backend.hpp"
#include "lapwing/result.hpp"

namespace lapwing {

/// One queue family of a device.
struct VulkanQueueFamilyInfo {
    uint32_t index = 0;
    uint32_t queue_count = 0;
    bool graphics = false;
    bool compute = false;
    bool transfer = false;
    Caps caps;    ///< valid_bits 0 with the reason where its queues cannot be timed
};

/// One physical device.
struct VulkanDeviceInfo {
    std::string name;                   ///< as the driver states it
    std::string driver;                 ///< driver name and version
    std::string api_version;            ///< "1.3.230"
    std::string type;                   ///< "discrete", "integrated", "virtual", "cpu" or "other"
    double ns_per_tick = 0;             ///< 0 where the driver reports no usable period
    bool calibrated = false;            ///< device and host clock can be read as a pair, once the extension is enabled
    std::string calibration_reason;     ///< why not; empty where it is
    std::vector<std::string> quirks;    ///< known faults of this driver that Lapwing works around, a sentence each
    std::vector<VulkanQueueFamilyInfo> queue_families;
};

/// The Vulkan loader's usual name on Linux.
inline constexpr const char* kVulkanLoader = "libvulkan.so.1";

/// Opens the Vulkan loader at run time, makes an instance without layers or extensions of its own, and asks every
/// device. Creates no device.
/// Shape:   in the loader's order, which is the one that GGML_VK_VISIBLE_DEVICES and its like count in. Never empty.
/// Errors:  kNotFound where the loader or every driver is missing, with the package to install; kDriver with the
///          driver's code.
/// Cost:    cold: opens every installed driver, 10 to 200 ms. The loader stays open: unloading drivers that started
///          threads is unsafe.
/// Threads: any.
[[nodiscard]] Result<std::vector<VulkanDeviceInfo>> list_vulkan_devices(const char* loader = kVulkanLoader);

}    // namespace lapwing
