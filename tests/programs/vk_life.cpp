// vk_life [all [BUT] | NAME]: the lives a command buffer can have. Runs every scenario, those but one, or the one
// named, and prints as JSON how many dispatches each made the device execute.
#include "vk_life.hpp"

#include <cstdio>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace programs {
namespace {

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

constexpr Scenario kScenarios[] = {
    {"rerecorded", rerecorded},
    {"recorded_but_not_submitted", recorded_but_not_submitted},
    {"buffer_reset", buffer_reset},
    {"three_thousand_in_one", three_thousand_in_one},
    {"pool_reset", pool_reset},
    {"hundred_in_flight", hundred_in_flight},
    {"freed_handles_come_back", freed_handles_come_back},
    {"timeline_waits_only", timeline_waits_only},
    {"two_threads", two_threads},
};

}    // namespace
}    // namespace programs

int main(int argc, char** argv) {
    using namespace programs;
    const std::string_view wanted = argc > 1 ? argv[1] : "all";
    const std::string_view left_out = argc > 2 ? argv[2] : "";
    Life life;
    std::printf("{\"scenarios\":{");
    bool first = true;
    for (const std::span<const Scenario> scenarios :
         {std::span<const Scenario>(kScenarios), resubmission_scenarios()}) {
        for (const Scenario& scenario : scenarios) {
            if ((wanted != "all" && wanted != scenario.name) || left_out == scenario.name) continue;
            const unsigned before = life.dispatches;
            scenario.run(life);
            std::printf("%s\"%s\":%u", first ? "" : ",", scenario.name, life.dispatches - before);
            first = false;
        }
    }
    std::printf("},\"dispatches\":%u}\n", life.dispatches);
    return first ? 2 : 0;
}
