// Recordings that are submitted again.
#include <vector>

#include "vk_life.hpp"

namespace programs {
namespace {

void resubmitted(Life& life) {
    life.record(life.commands, 10);
    for (int i = 0; i < 5; ++i) life.submit_and_wait(life.commands, 10);
}

void secondary_in_three_primaries(Life& life) {
    const VkCommandBuffer secondary = life.device.make_commands(life.pool, VK_COMMAND_BUFFER_LEVEL_SECONDARY);
    life.record(secondary, 8, 0, 16, true);
    for (int i = 0; i < 3; ++i) {
        life.device.begin(life.commands);
        vkCmdExecuteCommands(life.commands, 1, &secondary);
        life.device.end(life.commands);
        life.submit_and_wait(life.commands, 8);
    }
}

void simultaneous_use(Life& life) {
    life.record(life.commands, 10, VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT, 2000);
    for (int i = 0; i < 5; ++i) life.submit(life.commands, VK_NULL_HANDLE, 10);
    check(vkQueueWaitIdle(life.device.queue()), "vkQueueWaitIdle");
}

void three_times_in_one_submit(Life& life) {
    life.record(life.commands, 7, VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT);
    life.device.submit({life.commands, life.commands, life.commands}, life.fence);
    life.dispatches += 21;
    life.device.wait(life.fence);
}

void two_buffers_in_turn(Life& life) {
    const VkCommandBuffer buffers[2] = {life.commands, life.device.make_commands(life.pool)};
    for (const VkCommandBuffer buffer : buffers) life.record(buffer, 20, VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT);
    for (int i = 0; i < 20; ++i)
        for (const VkCommandBuffer buffer : buffers) life.submit(buffer, VK_NULL_HANDLE, 20);
    check(vkQueueWaitIdle(life.device.queue()), "vkQueueWaitIdle");
}

void several_batches_in_one_submit2(Life& life) {
    life.record(life.commands, 5, VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT);
    const VkCommandBuffer once = life.device.make_commands(life.pool);
    life.record(once, 4, kOneTime);
    const auto info_of = [](VkCommandBuffer buffer) {
        VkCommandBufferSubmitInfo info{};
        info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO;
        info.commandBuffer = buffer;
        return info;
    };
    const VkCommandBufferSubmitInfo first[] = {info_of(life.commands), info_of(once), info_of(life.commands)};
    const VkCommandBufferSubmitInfo second[] = {info_of(life.commands)};
    VkSubmitInfo2 batches[2]{};
    batches[0].sType = batches[1].sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2;
    batches[0].commandBufferInfoCount = 3;
    batches[0].pCommandBufferInfos = first;
    batches[1].commandBufferInfoCount = 1;
    batches[1].pCommandBufferInfos = second;
    check(vkQueueSubmit2(life.device.queue(), 2, batches, life.fence), "vkQueueSubmit2");
    life.dispatches += 19;
    life.device.wait(life.fence);
}

void masks_of_a_device_group(Life& life) {
    life.record(life.commands, 6, VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT);
    const VkCommandBuffer buffers[] = {life.commands, life.commands};
    const uint32_t masks[] = {1, 1};
    VkDeviceGroupSubmitInfo group{};
    group.sType = VK_STRUCTURE_TYPE_DEVICE_GROUP_SUBMIT_INFO;
    group.commandBufferCount = 2;
    group.pCommandBufferDeviceMasks = masks;
    VkSubmitInfo submission{};
    submission.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
    submission.pNext = &group;
    submission.commandBufferCount = 2;
    submission.pCommandBuffers = buffers;
    check(vkQueueSubmit(life.device.queue(), 1, &submission, life.fence), "vkQueueSubmit");
    life.dispatches += 12;
    life.device.wait(life.fence);
}

void primary_with_secondaries(Life& life) {
    std::vector<VkCommandBuffer> secondaries;
    for (const unsigned count : {3u, 20u}) {
        secondaries.push_back(life.device.make_commands(life.pool, VK_COMMAND_BUFFER_LEVEL_SECONDARY));
        life.record(secondaries.back(), count, VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT, 16, true);
    }
    // Recorded, and executed by nobody: nothing may wait for its results.
    const VkCommandBuffer idle = life.device.make_commands(life.pool, VK_COMMAND_BUFFER_LEVEL_SECONDARY);
    life.record(idle, 3, 0, 16, true);
    life.device.begin(life.commands, VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT);
    life.device.bind(life.commands, life.pipeline, 16);
    vkCmdDispatch(life.commands, 4, 1, 1);
    vkCmdExecuteCommands(life.commands, 2, secondaries.data());
    life.device.bind(life.commands, life.pipeline, 16);
    vkCmdDispatch(life.commands, 4, 1, 1);
    life.device.end(life.commands);
    for (int i = 0; i < 10; ++i) life.submit(life.commands, VK_NULL_HANDLE, 25);
    check(vkQueueWaitIdle(life.device.queue()), "vkQueueWaitIdle");
}

// What is known to be done may lose its pool while other work keeps the device busy.
void pools_go_while_the_device_is_busy(Life& life) {
    const VkCommandPool reset = life.device.make_pool();
    const VkCommandPool destroyed = life.device.make_pool();
    const VkCommandBuffer first = life.device.make_commands(reset);
    const VkCommandBuffer second = life.device.make_commands(destroyed);
    life.record(first, 10);
    life.record(second, 10, kOneTime);
    life.record(life.commands, 10, VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT, 2000);
    for (int i = 0; i < 3; ++i) {
        life.submit(first, VK_NULL_HANDLE, 10);
        if (i == 0) life.submit(second, VK_NULL_HANDLE, 10);
        life.device.submit({}, life.fence);
        life.submit(life.commands, VK_NULL_HANDLE, 10);
        life.device.wait(life.fence);
    }
    check(vkResetCommandPool(life.device.handle(), reset, 0), "vkResetCommandPool");
    life.device.destroy_pool(destroyed);
    life.record(first, 4);
    life.submit_and_wait(first, 4);
    life.device.destroy_pool(reset);
}

constexpr Scenario kScenarios[] = {
    {"resubmitted", resubmitted},
    {"secondary_in_three_primaries", secondary_in_three_primaries},
    {"simultaneous_use", simultaneous_use},
    {"three_times_in_one_submit", three_times_in_one_submit},
    {"two_buffers_in_turn", two_buffers_in_turn},
    {"several_batches_in_one_submit2", several_batches_in_one_submit2},
    {"masks_of_a_device_group", masks_of_a_device_group},
    {"primary_with_secondaries", primary_with_secondaries},
    {"pools_go_while_the_device_is_busy", pools_go_while_the_device_is_busy},
};

}    // namespace

std::span<const Scenario> resubmission_scenarios() {
    return kScenarios;
}

}    // namespace programs
