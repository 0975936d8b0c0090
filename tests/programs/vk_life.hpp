// What vk_life's scenarios share.
#pragma once

#include <span>

#include "vulkan_device.hpp"

namespace programs {

inline constexpr VkCommandPoolCreateFlags kResettable = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
inline constexpr VkCommandBufferUsageFlags kOneTime = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;

/// What the scenarios work with, and the count of what they submitted.
struct Life {
    VulkanDevice device;
    VkPipeline pipeline = device.make_pipeline("life_f32");
    VkFence fence = device.make_fence();
    VkCommandPool pool = device.make_pool(kResettable);
    VkCommandBuffer commands = device.make_commands(pool);
    unsigned dispatches = 0;

    void record(VkCommandBuffer into, unsigned count, VkCommandBufferUsageFlags flags = 0, uint32_t iterations = 16,
                bool secondary = false) {
        device.begin(into, flags, secondary);
        device.bind(into, pipeline, iterations);
        for (unsigned i = 0; i < count; ++i) {
            vkCmdDispatch(into, 4, 1, 1);
            device.barrier(into);
        }
        device.end(into);
    }
    void submit(VkCommandBuffer what, VkFence with, unsigned count) {
        device.submit({what}, with);
        dispatches += count;
    }
    void submit_and_wait(VkCommandBuffer what, unsigned count) {
        submit(what, fence, count);
        device.wait(fence);
    }
};

struct Scenario {
    const char* name;
    void (*run)(Life&);
};

/// Recordings that are submitted again, by every means, before anybody can know that the earlier submit is done.
std::span<const Scenario> resubmission_scenarios();

}    // namespace programs
