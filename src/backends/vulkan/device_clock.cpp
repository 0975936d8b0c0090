#include "backends/vulkan/device_clock.hpp"

#include <time.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace lapwing::vulkan {
namespace {

constexpr int kCalibrationTries = 8;
constexpr int64_t kGoodEnoughNs = 1'000;    // below the cost of a submit: more tries gain nothing

int64_t monotonic_ns() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

std::string version_text(uint32_t version) {
    return std::to_string(VK_API_VERSION_MAJOR(version)) + "." + std::to_string(VK_API_VERSION_MINOR(version)) + "." +
           std::to_string(VK_API_VERSION_PATCH(version));
}

template <class Text>
std::string bounded(const Text& text) {    // a driver may fill the array without a terminator
    return std::string(text, strnlen(text, sizeof(Text)));
}

std::string hex(const uint8_t (&bytes)[VK_UUID_SIZE]) {
    static constexpr char kDigits[] = "0123456789abcdef";
    std::string out;
    for (const uint8_t byte : bytes) (out += kDigits[byte >> 4]) += kDigits[byte & 15];
    return out;
}

void describe_driver(const InstanceTable& vk, VkPhysicalDevice device, uint32_t api_version,
                     const VkPhysicalDeviceProperties& properties, DeviceTraits& out) {
    VkPhysicalDeviceDriverProperties driver{};
    driver.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES;
    VkPhysicalDeviceIDProperties identity{};
    identity.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES;
    identity.pNext = &driver;
    VkPhysicalDeviceProperties2 chain{};
    chain.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
    chain.pNext = &identity;
    const bool may_ask = api_version >= VK_API_VERSION_1_2 && vk.GetPhysicalDeviceProperties2 != nullptr;
    if (may_ask) vk.GetPhysicalDeviceProperties2(device, &chain);

    const std::string uuid = hex(identity.deviceUUID);
    if (uuid.find_first_not_of('0') != std::string::npos) out.uuid = uuid;
    out.driver = bounded(driver.driverName);
    if (out.driver.empty()) out.driver = "driver";
    const std::string info = bounded(driver.driverInfo);
    out.driver += " " + (info.empty() ? version_text(properties.driverVersion) : info);

    const bool lavapipe = driver.driverID == VK_DRIVER_ID_MESA_LLVMPIPE || out.name.starts_with("llvmpipe");
    out.result_reads_block = lavapipe;
    out.wrong_after_render_pass = lavapipe;
}

void describe_calibration(const InstanceTable& vk, VkPhysicalDevice device, DeviceTraits& out) {
    if (!out.enabled.calibrated_timestamps) {
        out.calibration_reason = "VK_EXT_calibrated_timestamps is not enabled on this device";
        return;
    }
    if (vk.GetPhysicalDeviceCalibrateableTimeDomainsEXT == nullptr) {
        out.calibration_reason = "the driver has no vkGetPhysicalDeviceCalibrateableTimeDomains";
        return;
    }
    std::array<VkTimeDomainEXT, 16> domains{};
    uint32_t count = domains.size();
    const VkResult result = vk.GetPhysicalDeviceCalibrateableTimeDomainsEXT(device, &count, domains.data());
    if (result != VK_SUCCESS && result != VK_INCOMPLETE) {
        out.calibration_reason = "vkGetPhysicalDeviceCalibrateableTimeDomains failed";
        return;
    }
    const auto offers = [&](VkTimeDomainEXT domain) {
        return std::find(domains.begin(), domains.begin() + count, domain) != domains.begin() + count;
    };
    const bool monotonic = offers(VK_TIME_DOMAIN_CLOCK_MONOTONIC_EXT);
    out.host_domain = monotonic ? VK_TIME_DOMAIN_CLOCK_MONOTONIC_EXT : VK_TIME_DOMAIN_CLOCK_MONOTONIC_RAW_EXT;
    if (!offers(VK_TIME_DOMAIN_DEVICE_EXT)) {
        out.calibration_reason = "the driver cannot calibrate its device clock";
    } else if (!offers(out.host_domain)) {
        out.calibration_reason = "the driver cannot pair its clock with CLOCK_MONOTONIC or CLOCK_MONOTONIC_RAW";
    } else if (!out.period_usable) {
        out.calibration_reason = "the driver reports no usable timestampPeriod";
    } else {
        out.calibrated = true;
    }
}

}    // namespace

EnabledFeatures EnabledFeatures::from(const VkDeviceCreateInfo& info) {
    EnabledFeatures out;
    for (uint32_t i = 0; i < info.enabledExtensionCount; ++i) {
        const char* name = info.ppEnabledExtensionNames[i];
        if (std::strcmp(name, "VK_EXT_calibrated_timestamps") == 0 ||
            std::strcmp(name, "VK_KHR_calibrated_timestamps") == 0)
            out.calibrated_timestamps = true;
    }
    for (auto* next = static_cast<const VkBaseInStructure*>(info.pNext); next != nullptr; next = next->pNext) {
        switch (next->sType) {
            case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES: {
                auto* core = reinterpret_cast<const VkPhysicalDeviceVulkan12Features*>(next);
                out.host_query_reset |= core->hostQueryReset == VK_TRUE;
                out.timeline_semaphore |= core->timelineSemaphore == VK_TRUE;
                break;
            }
            case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES:
                out.synchronization2 |=
                    reinterpret_cast<const VkPhysicalDeviceVulkan13Features*>(next)->synchronization2 == VK_TRUE;
                break;
            case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_HOST_QUERY_RESET_FEATURES:
                out.host_query_reset |=
                    reinterpret_cast<const VkPhysicalDeviceHostQueryResetFeatures*>(next)->hostQueryReset == VK_TRUE;
                break;
            case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES:
                out.timeline_semaphore |=
                    reinterpret_cast<const VkPhysicalDeviceTimelineSemaphoreFeatures*>(next)->timelineSemaphore ==
                    VK_TRUE;
                break;
            case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SYNCHRONIZATION_2_FEATURES:
                out.synchronization2 |=
                    reinterpret_cast<const VkPhysicalDeviceSynchronization2Features*>(next)->synchronization2 ==
                    VK_TRUE;
                break;
            default:
                break;
        }
    }
    return out;
}

Caps DeviceTraits::caps(uint32_t queue_family) const {
    Caps out;
    if (queue_family >= families.size()) {
        out.reason = "the device has no such queue family";
        return out;
    }
    if (!period_usable) {
        out.reason = "the driver reports no usable timestampPeriod";
        return out;
    }
    // Vulkan-Samples#1368: a period alone means nothing; the bits are those of the queue's own family.
    const uint32_t bits = families[queue_family].timestampValidBits;
    if (bits == 0) {
        out.reason = "this queue family has no timestamps (timestampValidBits is 0)";
        return out;
    }
    // VulkanProfiler#9: queries can be reset and copied on graphics and compute queues only.
    if ((families[queue_family].queueFlags & (VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT)) == 0) {
        out.reason = "this queue family has neither graphics nor compute: its queries cannot be reset or copied out";
        return out;
    }
    out.ns_per_tick = scale.ns_per_tick();
    out.valid_bits = std::min<uint32_t>(bits, 64);
    out.resolution_ns = out.ns_per_tick;
    out.calibrated = calibrated;
    out.reason = calibration_reason;
    return out;
}

DeviceTraits describe_device(const InstanceTable& vk, VkPhysicalDevice device, uint32_t instance_api_version,
                             const EnabledFeatures& enabled) {
    DeviceTraits out;
    out.enabled = enabled;
    VkPhysicalDeviceProperties properties{};
    vk.GetPhysicalDeviceProperties(device, &properties);
    out.name = bounded(properties.deviceName);
    out.api_version = properties.apiVersion;
    out.type = properties.deviceType;
    out.timestamp_period = double{properties.limits.timestampPeriod};
    if (auto scale = TickScale::from_period(out.timestamp_period); scale.ok()) {
        out.scale = scale.value();
        out.period_usable = true;
    }
    uint32_t count = 0;
    vk.GetPhysicalDeviceQueueFamilyProperties(device, &count, nullptr);
    out.families.resize(count);
    vk.GetPhysicalDeviceQueueFamilyProperties(device, &count, out.families.data());
    out.families.resize(count);

    describe_driver(vk, device, std::min(instance_api_version, properties.apiVersion), properties, out);
    describe_calibration(vk, device, out);
    return out;
}

Result<ClockAnchor> calibrate(const DeviceTable& vk, VkDevice device, const DeviceTraits& traits) {
    if (!traits.calibrated) return Error{Errc::kUnsupported, 0, traits.calibration_reason};
    if (vk.GetCalibratedTimestampsEXT == nullptr)
        return Error{Errc::kUnsupported, 0, "the driver has no vkGetCalibratedTimestamps"};
    std::array<VkCalibratedTimestampInfoEXT, 2> infos{};
    infos[0].sType = infos[1].sType = VK_STRUCTURE_TYPE_CALIBRATED_TIMESTAMP_INFO_EXT;
    infos[0].timeDomain = VK_TIME_DOMAIN_DEVICE_EXT;
    infos[1].timeDomain = traits.host_domain;

    ClockAnchor best;
    best.uncertainty_ns = INT64_MAX;
    for (int i = 0; i < kCalibrationTries && best.uncertainty_ns > kGoodEnoughNs; ++i) {
        std::array<uint64_t, 2> times{};
        uint64_t max_deviation = 0;
        const int64_t before = monotonic_ns();
        const VkResult result =
            vk.GetCalibratedTimestampsEXT(device, infos.size(), infos.data(), times.data(), &max_deviation);
        const int64_t after = monotonic_ns();
        if (result != VK_SUCCESS) {
            const Errc code = result == VK_ERROR_DEVICE_LOST ? Errc::kDeviceLost : Errc::kDriver;
            return Error{code, result, "vkGetCalibratedTimestamps failed"};
        }
        const int64_t half_bracket = (after - before + 1) / 2;
        const int64_t deviation = static_cast<int64_t>(std::min<uint64_t>(max_deviation, INT64_MAX / 4));
        // A host time outside the bracket is not CLOCK_MONOTONIC, whatever the driver calls it: then, and where only
        // the raw clock is offered, the middle of the bracket is what is known.
        const int64_t stated = static_cast<int64_t>(times[1]);
        const bool trusted = traits.host_domain == VK_TIME_DOMAIN_CLOCK_MONOTONIC_EXT && stated >= before - deviation &&
                             stated <= after + deviation;
        const int64_t uncertainty = deviation + half_bracket;
        if (uncertainty < best.uncertainty_ns)
            best = {Ticks{times[0]}, HostNs{trusted ? stated : before + half_bracket}, uncertainty};
    }
    return best;
}

}    // namespace lapwing::vulkan
