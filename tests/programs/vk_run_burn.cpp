#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>

#include "vk_run.hpp"
#include "vulkan_device.hpp"

namespace programs {
namespace {

constexpr uint32_t kGroups = VulkanDevice::kMaxGroups;

/// Runs single dispatches, one a submission, and counts them.
class Burner {
public:
    explicit Burner(VulkanDevice& device)
        : device_(device),
          fence_(device.make_fence()),
          commands_(device.make_commands(device.make_pool(VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT))) {}

    void submit(VkPipeline pipeline, const char* op, uint32_t iterations) {
        device_.begin(commands_, VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT);
        device_.begin_label(commands_, "submit");
        device_.begin_label(commands_, std::string(op) + " work-0");
        device_.dispatch(commands_, pipeline, {.iterations = iterations, .groups = kGroups});
        device_.end_label(commands_);
        device_.end_label(commands_);
        device_.end(commands_);
        submitted_ns_ = now_ns();
        device_.submit({commands_}, fence_);
        ++dispatches_;
    }
    /// Submit to fence of the last submission.
    int64_t finish() {
        check(vkWaitForFences(device_.handle(), 1, &fence_, VK_TRUE, UINT64_MAX), "vkWaitForFences");
        const int64_t ns = now_ns() - submitted_ns_;
        check(vkResetFences(device_.handle(), 1, &fence_), "vkResetFences");
        return ns;
    }
    /// Iterations that make one dispatch take about `ms` of submit-to-fence time.
    uint32_t calibrate(VkPipeline pipeline, double ms) {
        uint32_t iterations = 64;
        submit(pipeline, "WARM_UP", iterations);    // compiles
        finish();
        for (int attempt = 0; attempt < 12; ++attempt) {
            submit(pipeline, "CALIBRATE", iterations);
            const double took_ms = static_cast<double>(finish()) / 1e6;
            if (took_ms > 0.8 * ms && took_ms < 1.5 * ms) break;
            iterations = static_cast<uint32_t>(iterations * std::clamp(ms / took_ms, 0.25, 8.0)) + 1;
        }
        return iterations;
    }
    VkFence fence() const { return fence_; }
    unsigned dispatches() const { return dispatches_; }

private:
    VulkanDevice& device_;
    VkFence fence_;
    VkCommandBuffer commands_;
    int64_t submitted_ns_ = 0;
    unsigned dispatches_ = 0;
};

}    // namespace

int run_burn(double ms) {
    VulkanDevice device;
    Burner burner(device);
    const uint32_t iterations = burner.calibrate(device.make_pipeline("calibrate_f32"), ms);
    const VkPipeline pipeline = device.make_pipeline("burn_f32");
    burner.submit(pipeline, "WARM_UP", 64);    // a pipeline's first dispatch may compile
    burner.finish();
    burner.submit(pipeline, "BURN", iterations);
    const int64_t ns = burner.finish();
    std::printf("{\"submit_to_fence_ns\":%lld,\"iterations\":%u,\"dispatches\":%u}\n", static_cast<long long>(ns),
                iterations, burner.dispatches());
    return 0;
}

int run_inflight(double ms) {
    VulkanDevice device;
    Burner burner(device);
    const VkPipeline pipeline = device.make_pipeline("burn_f32");
    const uint32_t iterations = burner.calibrate(pipeline, ms);
    const VkCommandPool pool = device.make_pool();

    int64_t longest_poll_ns = 0;
    int64_t longest_submit_ns = 0;
    unsigned polls = 0;
    unsigned small = 0;
    burner.submit(pipeline, "BURN", iterations);
    for (VkResult status = VK_NOT_READY; status == VK_NOT_READY;) {
        if (small < 20) {
            const VkCommandBuffer commands = device.make_commands(pool);
            device.begin(commands, VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT);
            device.dispatch(commands, pipeline);
            device.end(commands);
            const int64_t began_ns = now_ns();
            device.submit({commands}, device.make_fence());
            longest_submit_ns = std::max(longest_submit_ns, now_ns() - began_ns);
            ++small;
        }
        const int64_t began_ns = now_ns();
        status = vkGetFenceStatus(device.handle(), burner.fence());
        longest_poll_ns = std::max(longest_poll_ns, now_ns() - began_ns);
        ++polls;
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    const int64_t burn_ns = burner.finish();
    vkQueueWaitIdle(device.queue());
    std::printf(
        "{\"submit_to_fence_ns\":%lld,\"polls\":%u,\"small_submits\":%u,\"longest_poll_ns\":%lld,"
        "\"longest_submit_ns\":%lld,\"dispatches\":%u}\n",
        static_cast<long long>(burn_ns), polls, small, static_cast<long long>(longest_poll_ns),
        static_cast<long long>(longest_submit_ns), burner.dispatches() + small);
    return 0;
}

}    // namespace programs
