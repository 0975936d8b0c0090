// What a Vulkan device's timestamps are worth: period, bits per queue family, calibration, known faults of its driver.
#pragma once

#include <vulkan/vulkan_core.h>

#include <cstdint>
#include <string>
#include <vector>

#include "backends/vulkan/entry_points.hpp"
#include "lapwing/backend.hpp"
#include "lapwing/result.hpp"
#include "lapwing/stamp.hpp"

namespace lapwing::vulkan {

/// What the program enabled when it created its device. Using what was not enabled is undefined, however well the
/// driver supports it (ByroRedux#1478, dive#746).
struct EnabledFeatures {
    bool calibrated_timestamps = false;    ///< VK_EXT_ or VK_KHR_calibrated_timestamps
    bool host_query_reset = false;         ///< vkResetQueryPool may be called
    bool timeline_semaphore = false;       ///< timeline semaphores may be created
    bool synchronization2 = false;         ///< vkQueueSubmit2 and vkCmdWriteTimestamp2 may be called

    /// Reads extension names and the chain of feature structures, core and extension forms alike.
    [[nodiscard]] static EnabledFeatures from(const VkDeviceCreateInfo& info);
};

/// A physical device as far as timing is concerned.
struct DeviceTraits {
    std::string name;                                             ///< VkPhysicalDeviceProperties::deviceName
    std::string driver;                                           ///< driver name and version as the driver states them
    std::string uuid;                                             ///< deviceUUID in hex; empty = not told
    uint32_t api_version = 0;                                     ///< VK_MAKE_API_VERSION form
    VkPhysicalDeviceType type = VK_PHYSICAL_DEVICE_TYPE_OTHER;    ///< integrated, discrete, cpu, ...
    double timestamp_period = 0;                                  ///< ns per tick as reported, even if unusable
    bool period_usable = false;                                   ///< finite, > 0 and at most 1 s
    TickScale scale;                                              ///< 1 ns per tick where the period is unusable
    std::vector<VkQueueFamilyProperties> families;                ///< indexed by queue family
    EnabledFeatures enabled;                                      ///< as handed in
    bool calibrated = false;                                      ///< calibrate() may be called
    const char* calibration_reason = "";                          ///< static: why it may not; empty where it may
    VkTimeDomainEXT host_domain = VK_TIME_DOMAIN_CLOCK_MONOTONIC_EXT;    ///< the host clock that is read with it

    /// Any vkGetQueryPoolResults, also of a finished query and without WAIT, blocks until the whole device is idle.
    /// Read only when no submission is unfinished, or have the device copy results out.
    /// Source:  Mesa 22.3.6 and 25.0.7, lavapipe; measured 2026-11 (3.8 s for a 3.8 s dispatch).
    bool result_reads_block = false;

    /// After a render pass, timestamps of compute work recorded later are wrong (0.2 ms for a 40 ms dispatch): such
    /// spans are lost as `unreliable_driver`.
    /// Source:  Mesa 22.3.6 (all later command buffers), 25.0.7 (same command buffer), lavapipe; measured 2026-11.
    bool wrong_after_render_pass = false;

    /// The clock of one queue family. `valid_bits` 0 with a reason where there is none: that family gets no stamp at
    /// all, since writing one there may lose the device (VulkanProfiler#8, gapid#2022).
    [[nodiscard]] Caps caps(uint32_t queue_family) const;
};

/// Asks a physical device.
/// Shape:   `instance_api_version` is what the instance was created for (VK_API_VERSION_1_0 where it did not say):
///          newer queries are made only where both instance and device allow them.
/// Cost:    cold: a few driver calls.
[[nodiscard]] DeviceTraits describe_device(const InstanceTable& vk, VkPhysicalDevice device,
                                           uint32_t instance_api_version, const EnabledFeatures& enabled);

/// Pairs the device clock with CLOCK_MONOTONIC through calibrated timestamps: the best of a few tries.
/// Units:   `device` raw ticks; `uncertainty_ns` = the driver's maxDeviation + half of the host bracket of the call.
/// Errors:  kUnsupported with the reason where `traits.calibrated` is false; kDriver with the driver's code;
///          kDeviceLost.
/// Cost:    cold: at most 8 driver calls. Some drivers take milliseconds (MoltenVK#1713): off the hot path only.
/// Source:  Vulkan 1.3, VK_EXT_calibrated_timestamps, vkGetCalibratedTimestampsEXT.
[[nodiscard]] Result<ClockAnchor> calibrate(const DeviceTable& vk, VkDevice device, const DeviceTraits& traits);

}    // namespace lapwing::vulkan
