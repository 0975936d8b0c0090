// vk_run MODE [--ms N] [--rounds N]: a small, well-behaved Vulkan program for the tests. Prints one JSON object.
//   burn                   one dispatch of about --ms
//   inflight               the same, with polls and small submissions while it runs
//   sequence               every command a layer times, --rounds times in two submissions
//   stamps                 timestamps of its own, read in every way
//   resubmit               one command buffer of 10 dispatches, submitted --rounds times, waited for each time
//   neversubmit            --rounds command buffers of 10 dispatches recorded, one of 3 submitted
//   exit-without-destroy   --rounds dispatches seen complete, then exit() with every object alive
//   exit-while-busy        --rounds dispatches seen complete, 10 more submitted, then exit()
//   lost                   submits 10 dispatches at a time, looks at every second one, until the device is lost
//   pipelined              --rounds steps of two submissions, labelled "decode N", and always one step in flight
//   families               --rounds times on a queue of each family: 3 fills, and 2 dispatches where it computes
//   devices                two devices of one process at once, 5 dispatches --rounds times each
//   nothing                opens Vulkan and submits nothing; exit code 3
#include "vk_run.hpp"

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "vulkan_device.hpp"

namespace programs {
namespace {

void record(VulkanDevice& device, VkCommandBuffer commands, VkPipeline pipeline, unsigned dispatches,
            const Work& work = {}, VkCommandBufferUsageFlags flags = 0) {
    device.begin(commands, flags);
    device.begin_label(commands, "submit 0");
    device.begin_label(commands, "ADD sum-0");
    for (unsigned i = 0; i < dispatches; ++i) {
        device.dispatch(commands, pipeline, work);
        device.barrier(commands);
    }
    device.end_label(commands);
    device.end_label(commands);
    device.end(commands);
}

int run_resubmit(unsigned rounds) {
    VulkanDevice device;
    const VkPipeline pipeline = device.make_pipeline("add_f32");
    const VkFence fence = device.make_fence();
    const VkCommandBuffer commands = device.make_commands(device.make_pool());
    record(device, commands, pipeline, 10);
    for (unsigned round = 0; round < rounds; ++round) {
        device.submit({commands}, fence);
        device.wait(fence);
    }
    std::printf("{\"dispatches\":%u}\n", 10 * rounds);
    return 0;
}

int run_pipelined(unsigned rounds) {
    VulkanDevice device;
    const VkPipeline pipeline = device.make_pipeline("add_f32");
    const VkFence fences[2]{device.make_fence(), device.make_fence()};
    const VkCommandPool pool = device.make_pool(VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT);
    VkCommandBuffer first[2]{device.make_commands(pool), device.make_commands(pool)};
    VkCommandBuffer second[2]{device.make_commands(pool), device.make_commands(pool)};
    const VkCommandBuffer upload = device.make_commands(pool);
    record(device, upload, pipeline, 1);
    device.submit({upload});
    for (unsigned round = 0; round < rounds + 1; ++round) {
        const unsigned slot = round % 2;
        if (round >= 2) device.wait(fences[slot]);
        if (round == rounds) break;
        device.begin(first[slot]);
        device.begin_label(first[slot], "decode " + std::to_string(round));
        for (unsigned i = 0; i < 3; ++i) device.dispatch(first[slot], pipeline);
        device.end_label(first[slot]);
        device.end(first[slot]);
        device.submit({first[slot]});
        record(device, second[slot], pipeline, 2);
        device.submit({second[slot]}, fences[slot]);
    }
    check(vkDeviceWaitIdle(device.handle()), "vkDeviceWaitIdle");
    std::printf("{\"dispatches\":%u,\"steps\":%u}\n", 1 + 5 * rounds, rounds);
    return 0;
}

int run_neversubmit(unsigned rounds) {
    VulkanDevice device;
    const VkPipeline pipeline = device.make_pipeline("add_f32");
    const VkFence fence = device.make_fence();
    const VkCommandBuffer commands =
        device.make_commands(device.make_pool(VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT));
    for (unsigned round = 0; round < rounds; ++round) record(device, commands, pipeline, 10);
    record(device, commands, pipeline, 3);
    device.submit({commands}, fence);
    device.wait(fence);
    std::printf("{\"dispatches\":3,\"recorded\":%u}\n", 10 * rounds + 3);
    return 0;
}

int run_families(unsigned rounds) {
    VulkanDevice device;
    const VkPipeline pipeline = device.make_pipeline("add_f32");
    struct Lane {
        VulkanDevice::Queue queue;
        VkCommandPool pool;
        VkFence fence;
        bool computes;
    };
    std::vector<Lane> lanes;
    unsigned fills = 0;
    unsigned dispatches = 0;
    unsigned untimeable = 0;
    for (const VulkanDevice::Queue& queue : device.queues()) {
        lanes.push_back(
            {queue, device.make_pool_of(queue.family), device.make_fence(), (queue.flags & VK_QUEUE_COMPUTE_BIT) != 0});
        fills += 3 * rounds;
        dispatches += lanes.back().computes ? 2 * rounds : 0;
        if ((queue.flags & (VK_QUEUE_COMPUTE_BIT | VK_QUEUE_GRAPHICS_BIT)) == 0) untimeable += 3 * rounds;
    }
    std::vector<std::thread> threads;
    for (const Lane& lane : lanes)
        threads.emplace_back([&] {
            const VkCommandBuffer commands = device.make_commands(lane.pool);
            device.begin(commands);
            if (lane.computes)
                for (int i = 0; i < 2; ++i) device.dispatch(commands, pipeline);
            for (int i = 0; i < 3; ++i) vkCmdFillBuffer(commands, device.other(), 4096, 4096, 7);
            device.end(commands);
            VkSubmitInfo info{};
            info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
            info.commandBufferCount = 1;
            info.pCommandBuffers = &commands;
            for (unsigned round = 0; round < rounds; ++round) {
                check(vkQueueSubmit(lane.queue.handle, 1, &info, lane.fence), "vkQueueSubmit");
                device.wait(lane.fence);
            }
        });
    for (std::thread& thread : threads) thread.join();
    std::printf("{\"families\":%zu,\"dispatches\":%u,\"fills\":%u,\"untimeable\":%u}\n", lanes.size(), dispatches,
                fills, untimeable);
    return 0;
}

int run_devices(unsigned rounds) {
    const auto work = [rounds] {
        VulkanDevice device;
        const VkPipeline pipeline = device.make_pipeline("add_f32");
        const VkFence fence = device.make_fence();
        const VkCommandBuffer commands = device.make_commands(device.make_pool());
        record(device, commands, pipeline, 5);
        for (unsigned round = 0; round < rounds; ++round) {
            device.submit({commands}, fence);
            device.wait(fence);
        }
    };
    std::thread first(work);
    std::thread second(work);
    first.join();
    second.join();
    std::printf("{\"dispatches\":%u}\n", 2 * 5 * rounds);
    return 0;
}

int run_lost(unsigned rounds) {
    VulkanDevice device;
    const VkPipeline pipeline = device.make_pipeline("add_f32");
    const VkFence fence = device.make_fence();
    const VkCommandPool pool = device.make_pool();
    const VkCommandBuffer commands = device.make_commands(pool);
    record(device, commands, pipeline, 10, {}, VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT);
    VkSubmitInfo info{};
    info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
    info.commandBufferCount = 1;
    info.pCommandBuffers = &commands;
    unsigned accepted = 0;
    VkResult result = VK_SUCCESS;
    for (unsigned round = 0; round < rounds && result == VK_SUCCESS; ++round) {
        const bool look = round % 2 == 0;
        result = vkQueueSubmit(device.queue(), 1, &info, look ? fence : VK_NULL_HANDLE);
        accepted += result == VK_SUCCESS ? 1 : 0;
        if (result == VK_SUCCESS && look) device.wait(fence);
    }
    vkDeviceWaitIdle(device.handle());
    std::printf("{\"dispatches\":%u,\"result\":%d}\n", 10 * accepted, static_cast<int>(result));
    return 0;
}

[[noreturn]] void run_exit(unsigned rounds, bool busy) {
    VulkanDevice device;    // exit() does not destroy it
    const VkPipeline pipeline = device.make_pipeline("add_f32");
    const VkFence fence = device.make_fence();
    const VkCommandPool pool = device.make_pool(VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT);
    const VkCommandBuffer commands = device.make_commands(pool);
    for (unsigned round = 0; round < rounds; ++round) {
        record(device, commands, pipeline, 1);
        device.submit({commands}, fence);
        device.wait(fence);
    }
    if (busy) {
        const VkCommandBuffer unfinished = device.make_commands(pool);
        record(device, unfinished, pipeline, 10, {.iterations = 2000, .groups = 64});
        device.submit({unfinished});
    }
    std::printf("{\"dispatches\":%u,\"seen_complete\":%u}\n", rounds + (busy ? 10u : 0u), rounds);
    std::exit(0);
}

int run(std::string_view mode, double ms, unsigned rounds) {
    if (mode == "burn") return run_burn(ms);
    if (mode == "inflight") return run_inflight(ms);
    if (mode == "sequence") return run_sequence(rounds);
    if (mode == "stamps") return run_stamps();
    if (mode == "resubmit") return run_resubmit(rounds);
    if (mode == "pipelined") return run_pipelined(rounds);
    if (mode == "neversubmit") return run_neversubmit(rounds);
    if (mode == "families") return run_families(rounds);
    if (mode == "devices") return run_devices(rounds);
    if (mode == "lost") return run_lost(rounds);
    if (mode == "exit-without-destroy") run_exit(rounds, false);
    if (mode == "exit-while-busy") run_exit(rounds, true);
    if (mode == "nothing") {
        const VulkanDevice device;
        std::puts("{\"dispatches\":0}");
        return 3;
    }
    std::fputs("usage: vk_run MODE [--ms N] [--rounds N]; the modes are described in vk_run.cpp\n", stderr);
    return 2;
}

}    // namespace
}    // namespace programs

int main(int argc, char** argv) {
    double ms = 200;
    unsigned rounds = 4;
    for (int i = 2; i + 1 < argc; i += 2) {
        const std::string_view option = argv[i];
        if (option == "--ms") ms = std::atof(argv[i + 1]);
        if (option == "--rounds") rounds = static_cast<unsigned>(std::atoi(argv[i + 1]));
    }
    return programs::run(argc > 1 ? argv[1] : "", ms, rounds);
}
