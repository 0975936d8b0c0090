#include "backends/vulkan/entry_points.hpp"

namespace lapwing::vulkan {

InstanceTable InstanceTable::load(VkInstance instance, PFN_vkGetInstanceProcAddr get) {
    InstanceTable table;
#define LAPWING_VK_LOAD(name) table.name = reinterpret_cast<PFN_vk##name>(get(instance, "vk" #name));
    LAPWING_VK_INSTANCE_ENTRY_POINTS(LAPWING_VK_LOAD)
#undef LAPWING_VK_LOAD
#define LAPWING_VK_FALL_BACK(name, other) \
    if (table.name == nullptr) table.name = reinterpret_cast<PFN_vk##name>(get(instance, other));
    LAPWING_VK_INSTANCE_FALLBACKS(LAPWING_VK_FALL_BACK)
#undef LAPWING_VK_FALL_BACK
    return table;
}

DeviceTable DeviceTable::load(VkDevice device, PFN_vkGetDeviceProcAddr get) {
    DeviceTable table;
#define LAPWING_VK_LOAD(name) table.name = reinterpret_cast<PFN_vk##name>(get(device, "vk" #name));
    LAPWING_VK_DEVICE_ENTRY_POINTS(LAPWING_VK_LOAD)
#undef LAPWING_VK_LOAD
#define LAPWING_VK_FALL_BACK(name, other) \
    if (table.name == nullptr) table.name = reinterpret_cast<PFN_vk##name>(get(device, other));
    LAPWING_VK_DEVICE_FALLBACKS(LAPWING_VK_FALL_BACK)
#undef LAPWING_VK_FALL_BACK
    return table;
}

}    // namespace lapwing::vulkan
