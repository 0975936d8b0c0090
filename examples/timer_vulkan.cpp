// Times dispatches by the GPU's own stamps: timer_vulkan TRACE
// The device itself (programs::VulkanDevice) is what any Vulkan program has.
#include <cstdio>
#include <memory>

#include "lapwing/chrome.hpp"
#include "lapwing/probe_timer.hpp"
#include "lapwing/this_process.hpp"
#include "lapwing/vulkan_backend.hpp"
#include "programs/vulkan_device.hpp"

namespace {

using Timer = lapwing::BackendTimer<lapwing::VulkanBackend>;

constexpr int kSteps = 6;

int fail(const lapwing::Error& error) {
    std::fprintf(stderr, "%s\n", error.message.c_str());
    return 1;
}

// One command buffer: a dispatch with a timer around it, and a traced one.
class Engine {
public:
    Engine(programs::VulkanDevice& device, lapwing::VulkanBackend& backend, lapwing::VulkanBackend::Queue queue)
        : device_(device), backend_(backend), queue_(queue), pool_(backend, queue, {.name = "gpu"}) {}

    lapwing::TimerPool<lapwing::VulkanBackend>& timers() { return pool_; }

    lapwing::Status step(Timer& timer, lapwing::ProbeTrace& trace) {
        const VkCommandBuffer commands = device_.make_commands(commands_pool_);
        device_.begin(commands, VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT);
        if (lapwing::Status begun = backend_.begin_commands(queue_, commands, 4); !begun.ok()) return begun;
        timer.record_start();
        device_.dispatch(commands, pipeline_, {.iterations = 4000, .groups = 64});
        timer.record_end();
        device_.barrier(commands);
        {
            const lapwing::ProbeScope scope(true, pool_, &trace, "moe", "moe", 1);
            device_.dispatch(commands, pipeline_, {.iterations = 1000, .groups = 64});
        }
        backend_.end_commands(queue_);
        device_.end(commands);
        const VkFence fence = device_.make_fence();
        device_.submit({commands}, fence);
        backend_.submitted(queue_, {.fence = fence});
        const lapwing::TimerReading at_once = timer.try_elapsed();    // never waits: mostly "pending" here
        const auto elapsed = timer.elapsed({.deadline_ns = 60'000'000'000});
        if (!elapsed.ok()) return elapsed.error();
        std::printf("dispatch: %.3f us by %s, %s right after the submit\n", *elapsed->us(), to_text(elapsed->timed_by),
                    to_text(at_once.state));
        backend_.completed(queue_);
        backend_.release_fence(fence);
        device_.wait(fence);
        pool_.collect();
        return {};
    }

private:
    programs::VulkanDevice& device_;
    lapwing::VulkanBackend& backend_;
    lapwing::VulkanBackend::Queue queue_;
    lapwing::TimerPool<lapwing::VulkanBackend> pool_;
    VkCommandPool commands_pool_ = device_.make_pool();
    VkPipeline pipeline_ = device_.make_pipeline("burn");
};

int run(const char* path) {
    auto file = lapwing::open_chrome_writer(path);
    if (!file.ok()) return fail(file.error());
    lapwing::ProbeTrace trace(**file, {.process = lapwing::this_process()});

    programs::VulkanDevice device;
    auto backend = lapwing::VulkanBackend::create({.instance = device.instance(),
                                                   .physical_device = device.physical(),
                                                   .device = device.handle(),
                                                   .get_instance_proc_addr = vkGetInstanceProcAddr,
                                                   .instance_api_version = VK_API_VERSION_1_3});
    if (!backend.ok()) return fail(backend.error());
    auto queue = (*backend)->open_queue(device.family());
    if (!queue.ok()) return fail(queue.error());
    {
        Engine engine(device, **backend, *queue);
        Timer timer = lapwing::make_timer(engine.timers());
        for (int step = 0; step < kSteps; ++step)
            if (const lapwing::Status done = engine.step(timer, trace); !done.ok()) return fail(done.error());
        const lapwing::TimerPoolStats stats = engine.timers().stats();
        std::printf("%llu begun, %llu measured, %llu lost\n", static_cast<unsigned long long>(stats.begun),
                    static_cast<unsigned long long>(stats.measured),
                    static_cast<unsigned long long>(stats.lost.total()));
    }
    if (const lapwing::Status closed = trace.close(); !closed.ok()) return fail(closed.error());
    const lapwing::Status gone = (*backend)->shutdown();
    return gone.ok() ? 0 : fail(gone.error());
}

}    // namespace

int main(int argc, char** argv) {
    if (argc == 2) return run(argv[1]);
    std::fprintf(stderr, "usage: timer_vulkan TRACE\n");
    return 2;
}
