#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <thread>

#include "vk_run.hpp"
#include "vulkan_device.hpp"

namespace programs {
namespace {

constexpr VkQueryResultFlags kFull = VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WITH_AVAILABILITY_BIT;

struct Stamp {
    uint64_t ticks = 0;
    uint64_t available = 0;
};

/// A program's own stamps around one dispatch, read in every way there is.
class Stamps {
public:
    explicit Stamps(VulkanDevice& device) : device_(device) {
        VkQueryPoolCreateInfo info{};
        info.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO;
        info.queryType = VK_QUERY_TYPE_TIMESTAMP;
        info.queryCount = 2;
        check(vkCreateQueryPool(device.handle(), &info, nullptr, &pool_), "vkCreateQueryPool");
    }
    ~Stamps() { vkDestroyQueryPool(device_.handle(), pool_, nullptr); }
    Stamps(const Stamps&) = delete;
    Stamps& operator=(const Stamps&) = delete;

    void record(VkCommandBuffer commands, VkPipeline pipeline) {
        device_.begin(commands, VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT);
        vkCmdResetQueryPool(commands, pool_, 0, 2);
        vkCmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, pool_, 0);
        device_.dispatch(commands, pipeline, {.iterations = 256, .groups = 256});
        vkCmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, pool_, 1);
        vkCmdCopyQueryPoolResults(commands, pool_, 0, 2, device_.other(), 0, sizeof(Stamp),
                                  kFull | VK_QUERY_RESULT_WAIT_BIT);
        device_.end(commands);
    }
    /// Polls until both are there, and counts the polls at which one was not.
    unsigned poll() {
        unsigned not_ready = 0;
        while (vkGetQueryPoolResults(device_.handle(), pool_, 0, 2, sizeof polled, polled, sizeof(Stamp), kFull) ==
               VK_NOT_READY) {
            ++not_ready;
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        return not_ready;
    }
    void read_waiting() {
        check(vkGetQueryPoolResults(device_.handle(), pool_, 0, 2, sizeof waited, waited, sizeof(Stamp),
                                    kFull | VK_QUERY_RESULT_WAIT_BIT),
              "vkGetQueryPoolResults");
    }
    Stamp polled[2];
    Stamp waited[2];

private:
    VulkanDevice& device_;
    VkQueryPool pool_ = VK_NULL_HANDLE;
};

void print_pair(const char* name, const Stamp* stamps) {
    std::printf("\"%s\":[%" PRIu64 ",%" PRIu64 "],\"%s_available\":[%" PRIu64 ",%" PRIu64 "],", name, stamps[0].ticks,
                stamps[1].ticks, name, stamps[0].available, stamps[1].available);
}

/// The device's clock now; null without VK_EXT_calibrated_timestamps.
void print_calibrated(VulkanDevice& device) {
    const auto calibrate = reinterpret_cast<PFN_vkGetCalibratedTimestampsEXT>(
        vkGetDeviceProcAddr(device.handle(), "vkGetCalibratedTimestampsEXT"));
    if (!device.calibrates() || calibrate == nullptr) {
        std::printf("\"calibrated\":null}\n");
        return;
    }
    VkCalibratedTimestampInfoEXT domain{};
    domain.sType = VK_STRUCTURE_TYPE_CALIBRATED_TIMESTAMP_INFO_EXT;
    domain.timeDomain = VK_TIME_DOMAIN_DEVICE_EXT;
    uint64_t ticks = 0;
    uint64_t deviation = 0;
    check(calibrate(device.handle(), 1, &domain, &ticks, &deviation), "vkGetCalibratedTimestampsEXT");
    std::printf("\"calibrated\":{\"ticks\":%" PRIu64 ",\"max_deviation_ns\":%" PRIu64 "}}\n", ticks, deviation);
}

}    // namespace

int run_stamps() {
    VulkanDevice device;
    Stamps stamps(device);
    const VkFence fence = device.make_fence();
    const VkPipeline pipeline = device.make_pipeline("stamp_f32");
    const VkCommandBuffer commands = device.make_commands(device.make_pool());
    stamps.record(commands, pipeline);
    const int64_t submitted_ns = now_ns();
    device.submit({commands}, fence);
    device.wait(fence);
    const int64_t elapsed_ns = now_ns() - submitted_ns;
    const unsigned not_ready = stamps.poll();
    stamps.read_waiting();
    Stamp copied[2];
    device.read_other(copied, sizeof copied);
    std::printf("{\"period\":%.9g,\"valid_bits\":%u,\"valid_bits2\":%u,\"submit_to_fence_ns\":%lld,\"not_ready\":%u,",
                static_cast<double>(device.timestamp_period()), device.valid_bits(), device.valid_bits2(),
                static_cast<long long>(elapsed_ns), not_ready);
    print_pair("polled", stamps.polled);
    print_pair("waited", stamps.waited);
    print_pair("copied", copied);
    print_calibrated(device);
    return 0;
}

}    // namespace programs
