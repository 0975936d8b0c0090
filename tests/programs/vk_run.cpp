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
//   nothing                opens Vulkan and submits nothing; exit code 3
#include "vk_run.hpp"

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

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
