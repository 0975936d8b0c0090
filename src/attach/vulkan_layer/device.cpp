#include "attach/vulkan_layer/device.hpp"

#include <algorithm>

namespace lapwing::attach::vulkan_layer {

Device::Device(VkDevice device, const vulkan::DeviceTable& table, const vulkan::DeviceTraits& traits,
               const CopyStore::Setup& setup, Session& session)
    : handle(device),
      vk(table),
      traits_(traits),
      session_(session),
      chunks_(vk, device),
      copies_(vk, device, setup),
      pipelines_(session.labels()),
      queues_(vk, device, traits_, chunks_, copies_, pipelines_, session, announce()) {}

DeviceInfo Device::announce() {
    DeviceInfo info;
    info.api = "vulkan";
    info.name = traits_.name;
    info.driver = traits_.driver;
    info.uuid = traits_.uuid;
    for (uint32_t family = 0; family < traits_.families.size(); ++family) {
        const Caps caps = traits_.caps(family);
        if (caps.valid_bits == 0) continue;
        info.clock.resolution_ns = std::max(info.clock.resolution_ns, caps.resolution_ns);
        info.clock.valid_bits =
            info.clock.valid_bits == 0 ? caps.valid_bits : std::min(info.clock.valid_bits, caps.valid_bits);
    }
    info.clock.calibrated = traits_.calibrated;
    info.id = session_.add_device(info);
    return info;
}

void Device::add_command_pool(VkCommandPool pool, uint32_t queue_family) {
    const std::lock_guard lock(pools_mutex_);
    pool_families_[pool] = queue_family;
}

void Device::forget_command_pool(VkCommandPool pool) noexcept {
    const std::lock_guard lock(pools_mutex_);
    pool_families_.erase(pool);
}

PoolFamily Device::family_of(VkCommandPool pool) const noexcept {
    PoolFamily family{0, LossReason::kUnsupported};
    {
        const std::lock_guard lock(pools_mutex_);
        const auto found = pool_families_.find(pool);
        if (found == pool_families_.end()) return family;
        family.index = found->second;
    }
    // Includes that queries can be reset and copied there: vkCmdResetQueryPool is not allowed on queues that only copy.
    if (family.index < traits_.families.size() && traits_.caps(family.index).valid_bits > 0) family.no_stamps.reset();
    return family;
}

}    // namespace lapwing::attach::vulkan_layer
