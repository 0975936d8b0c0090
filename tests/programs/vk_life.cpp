// vk_life: the lives a command buffer can have. Runs every scenario, or the one named, and prints as JSON how many
// dispatches each made the device execute and how many of them a layer that reads in place may lose as overwritten.
#include <cstdio>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "vulkan_device.hpp"

namespace programs {
namespace {

constexpr VkCommandPoolCreateFlags kResettable = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
constexpr VkCommandBufferUsageFlags kOneTime = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;

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

void resubmitted(Life& life) {
    life.record(life.commands, 10);
    for (int i = 0; i < 5; ++i) life.submit_and_wait(life.commands, 10);
}

void rerecorded(Life& life) {
    for (int i = 0; i < 5; ++i) {
        life.record(life.commands, 10);
        life.submit_and_wait(life.commands, 10);
    }
}

void recorded_but_not_submitted(Life& life) {
    life.record(life.commands, 10);
    life.record(life.commands, 7);
    life.submit_and_wait(life.commands, 7);
}

void buffer_reset(Life& life) {
    life.record(life.commands, 10);
    check(vkResetCommandBuffer(life.commands, 0), "vkResetCommandBuffer");
    life.record(life.commands, 3);
    life.submit_and_wait(life.commands, 3);
}

void three_thousand_in_one(Life& life) {
    life.record(life.commands, 3000);
    life.submit_and_wait(life.commands, 3000);
}

// As ggml ends a token: buffers without a fence, then an empty submission with one.
void pool_reset(Life& life) {
    const VkCommandPool pool = life.device.make_pool();
    std::vector<VkCommandBuffer> buffers;
    for (int i = 0; i < 4; ++i) buffers.push_back(life.device.make_commands(pool));
    for (int round = 0; round < 5; ++round) {
        for (const VkCommandBuffer buffer : buffers) {
            life.record(buffer, 6, kOneTime);
            life.submit(buffer, VK_NULL_HANDLE, 6);
        }
        life.device.submit({}, life.fence);
        life.device.wait(life.fence);
        check(vkResetCommandPool(life.device.handle(), pool, 0), "vkResetCommandPool");
    }
    life.device.destroy_pool(pool);
}

void hundred_in_flight(Life& life) {
    const VkCommandPool pool = life.device.make_pool();
    for (int i = 0; i < 100; ++i) {
        const VkCommandBuffer buffer = life.device.make_commands(pool);
        life.record(buffer, 20);
        life.submit(buffer, VK_NULL_HANDLE, 20);
    }
    check(vkQueueWaitIdle(life.device.queue()), "vkQueueWaitIdle");
    life.device.destroy_pool(pool);
}

void freed_handles_come_back(Life& life) {
    const VkCommandPool pool = life.device.make_pool();
    std::vector<VkCommandBuffer> buffers;
    for (int i = 0; i < 50; ++i) {
        buffers.push_back(life.device.make_commands(pool));
        life.record(buffers.back(), 2);
        life.submit(buffers.back(), VK_NULL_HANDLE, 2);
    }
    check(vkDeviceWaitIdle(life.device.handle()), "vkDeviceWaitIdle");
    vkFreeCommandBuffers(life.device.handle(), pool, static_cast<uint32_t>(buffers.size()), buffers.data());
    const VkCommandBuffer reused = life.device.make_commands(pool);
    life.record(reused, 5);
    life.submit_and_wait(reused, 5);
    life.device.destroy_pool(pool);
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

void timeline_waits_only(Life& life) {
    VkSemaphoreTypeCreateInfo type{};
    type.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO;
    type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
    VkSemaphoreCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO;
    info.pNext = &type;
    VkSemaphore semaphore = VK_NULL_HANDLE;
    check(vkCreateSemaphore(life.device.handle(), &info, nullptr, &semaphore), "vkCreateSemaphore");
    for (uint64_t value = 1; value <= 50; ++value) {
        life.record(life.commands, 4);
        VkTimelineSemaphoreSubmitInfo timeline{};
        timeline.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO;
        timeline.signalSemaphoreValueCount = 1;
        timeline.pSignalSemaphoreValues = &value;
        VkSubmitInfo submission{};
        submission.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
        submission.pNext = &timeline;
        submission.commandBufferCount = 1;
        submission.pCommandBuffers = &life.commands;
        submission.signalSemaphoreCount = 1;
        submission.pSignalSemaphores = &semaphore;
        check(vkQueueSubmit(life.device.queue(), 1, &submission, VK_NULL_HANDLE), "vkQueueSubmit");
        life.dispatches += 4;
        VkSemaphoreWaitInfo wait{};
        wait.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO;
        wait.semaphoreCount = 1;
        wait.pSemaphores = &semaphore;
        wait.pValues = &value;
        check(vkWaitSemaphores(life.device.handle(), &wait, UINT64_MAX), "vkWaitSemaphores");
    }
    vkDestroySemaphore(life.device.handle(), semaphore, nullptr);
}

void two_threads(Life& life) {
    std::mutex queue;
    const auto work = [&](VkCommandPool pool, VkFence fence) {
        const VkCommandBuffer buffer = life.device.make_commands(pool);
        for (int i = 0; i < 50; ++i) {
            life.record(buffer, 5);
            {
                const std::lock_guard lock(queue);
                life.submit(buffer, fence, 5);
            }
            life.device.wait(fence);
        }
    };
    const VkCommandPool pools[2] = {life.device.make_pool(kResettable), life.device.make_pool(kResettable)};
    const VkFence fences[2] = {life.device.make_fence(), life.device.make_fence()};
    std::thread first(work, pools[0], fences[0]);
    std::thread second(work, pools[1], fences[1]);
    first.join();
    second.join();
}

void simultaneous_use(Life& life) {
    life.record(life.commands, 10, VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT, 2000);
    for (int i = 0; i < 5; ++i) life.submit(life.commands, VK_NULL_HANDLE, 10);
    check(vkQueueWaitIdle(life.device.queue()), "vkQueueWaitIdle");
}

struct Scenario {
    const char* name;
    void (*run)(Life&);
    unsigned may_be_overwritten;    ///< dispatches submitted again before anybody could know that they were done
};

constexpr Scenario kScenarios[] = {
    {"resubmitted", resubmitted, 0},
    {"rerecorded", rerecorded, 0},
    {"recorded_but_not_submitted", recorded_but_not_submitted, 0},
    {"buffer_reset", buffer_reset, 0},
    {"three_thousand_in_one", three_thousand_in_one, 0},
    {"pool_reset", pool_reset, 0},
    {"hundred_in_flight", hundred_in_flight, 0},
    {"freed_handles_come_back", freed_handles_come_back, 0},
    {"secondary_in_three_primaries", secondary_in_three_primaries, 0},
    {"timeline_waits_only", timeline_waits_only, 0},
    {"two_threads", two_threads, 0},
    {"simultaneous_use", simultaneous_use, 40},
};

}    // namespace
}    // namespace programs

int main(int argc, char** argv) {
    using namespace programs;
    const std::string_view wanted = argc > 1 ? argv[1] : "all";
    Life life;
    unsigned may_be_overwritten = 0;
    std::printf("{\"scenarios\":{");
    bool first = true;
    for (const Scenario& scenario : kScenarios) {
        if (wanted != "all" && wanted != scenario.name) continue;
        const unsigned before = life.dispatches;
        scenario.run(life);
        may_be_overwritten += scenario.may_be_overwritten;
        std::printf("%s\"%s\":%u", first ? "" : ",", scenario.name, life.dispatches - before);
        first = false;
    }
    std::printf("},\"dispatches\":%u,\"may_be_overwritten\":%u}\n", life.dispatches, may_be_overwritten);
    return first ? 2 : 0;
}
