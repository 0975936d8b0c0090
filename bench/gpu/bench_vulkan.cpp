// Spans through the Vulkan backend beside bare timestamps, on the driver that VK_ICD_FILENAMES names.
//   bench_vulkan [ROUNDS]
//   bench_vulkan record N    records N x 1000 dispatches with barriers, without any timing of ours, and prints the
//                            median ns of one: for layer_cost.py, which puts the layer in front of it
//
// Recording: 256 dispatches a command buffer, bound once; what is timed is the host's recording of them. A round gives
// each row 10 command buffers in turn; "added" is what a row costs beyond the bare dispatch, and the ratio compares
// that with two bare vkCmdWriteTimestamp. Harvest: 128 spans (256 stamps) that are complete, and 80 harvests made while
// a long dispatch is in flight.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lapwing/clock.hpp"
#include "lapwing/device_ring.hpp"
#include "lapwing/level.hpp"
#include "lapwing/vulkan_backend.hpp"
#include "vulkan_device.hpp"

namespace lapwing::bench {
namespace {

constexpr int kDispatches = 256;
constexpr int kBuffersARound = 10;
constexpr int kHarvestSpans = 128;
constexpr int kHarvestsInFlight = 80;
constexpr SiteId kSite = 7;
constexpr double kLongMs = 150;

double median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

double ns_since(HostTicks begin) {
    return static_cast<double>(tick().value - begin.value) * host_clock().ns_per_tick;
}

[[noreturn]] void give_up(const std::string& what) {
    std::fprintf(stderr, "bench_vulkan: %s\n", what.c_str());
    std::exit(1);
}

class Bench {
public:
    Bench()
        : fence_(device_.make_fence()),
          pipeline_(device_.make_pipeline("bench_f32")),
          commands_(device_.make_commands(device_.make_pool(VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT))) {
        VulkanBackendOptions options;
        options.instance = device_.instance();
        options.physical_device = device_.physical();
        options.device = device_.handle();
        options.get_instance_proc_addr = vkGetInstanceProcAddr;
        auto backend = VulkanBackend::create(options);
        if (!backend.ok()) give_up(backend.error().message);
        backend_ = std::move(*backend);
        auto queue = backend_->open_queue(device_.family());
        if (!queue.ok()) give_up(queue.error().message);
        queue_ = *queue;
        ring_ = std::make_unique<DeviceRing<VulkanBackend>>(*backend_);
        const auto number = ring_->add_queue(queue_, 1);
        if (!number.ok()) give_up(number.error().message);
        VkQueryPoolCreateInfo info{};
        info.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO;
        info.queryType = VK_QUERY_TYPE_TIMESTAMP;
        info.queryCount = 2 * kDispatches;
        programs::check(vkCreateQueryPool(device_.handle(), &info, nullptr, &bare_), "vkCreateQueryPool");
        set_level(Level::kKernel);
    }
    ~Bench() {
        set_level(Level::kOff);
        (void)backend_->shutdown();
        vkDestroyQueryPool(device_.handle(), bare_, nullptr);
    }
    Bench(const Bench&) = delete;
    Bench& operator=(const Bench&) = delete;

    // Each records one command buffer and runs it; returns the host's ns a dispatch, of recording alone.

    double dispatch() {
        return frame(false, [this] {
            for (int i = 0; i < kDispatches; ++i) vkCmdDispatch(commands_, 1, 1, 1);
        });
    }
    double two_timestamps() {
        return frame(false, [this] {
            for (uint32_t i = 0; i < kDispatches; ++i) {
                vkCmdWriteTimestamp(commands_, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, bare_, 2 * i);
                vkCmdDispatch(commands_, 1, 1, 1);
                vkCmdWriteTimestamp(commands_, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, bare_, 2 * i + 1);
            }
        });
    }
    double span() {
        return frame(true, [this] {
            for (int i = 0; i < kDispatches; ++i) {
                const DeviceToken token = ring_->begin(0, kSite);
                vkCmdDispatch(commands_, 1, 1, 1);
                ring_->end(0, token);
            }
        });
    }
    double lap() {
        return frame(true, [this] {
            const LapChain chain = ring_->lap_begin(0);
            for (int i = 0; i < kDispatches; ++i) {
                vkCmdDispatch(commands_, 1, 1, 1);
                ring_->lap(0, chain, kSite);
            }
        });
    }

    /// ns a span of harvesting kHarvestSpans that are complete, the completion check included.
    double harvest() {
        submit_spans(kHarvestSpans);
        device_.wait_only(fence_);
        const HostTicks begin = tick();
        const std::size_t got = ring_->harvest(out_);
        const double ns = ns_since(begin) / kHarvestSpans;
        if (got != kHarvestSpans) give_up("a harvest gave " + std::to_string(got) + " spans of 128");
        release();
        return ns;
    }

    /// How many of kHarvestsInFlight harvests waited for the long dispatch that was in flight; and the longest, in ms.
    int blocked(double* longest_ms) {
        const uint32_t iterations = long_iterations();
        const VkFence own = device_.make_fence();
        const VkCommandBuffer long_commands = device_.make_commands(device_.make_pool());
        device_.begin(long_commands);
        device_.dispatch(long_commands, pipeline_, {.iterations = iterations, .groups = 64});
        device_.end(long_commands);
        int waited = 0;
        *longest_ms = 0;
        for (int i = 0; i < kHarvestsInFlight; ++i) {
            submit_spans(kHarvestSpans);    // complete by the time the long one runs
            device_.wait_only(fence_);
            device_.submit({long_commands}, own);
            const HostTicks begin = tick();
            const std::size_t got = ring_->harvest(out_);
            const double ms = ns_since(begin) * 1e-6;
            const bool still_running = vkGetFenceStatus(device_.handle(), own) == VK_NOT_READY;
            // What took as long as the dispatch has waited for it; a thread that lost its core meanwhile has not.
            if (!still_running && ms > kLongMs / 2) ++waited;
            *longest_ms = std::max(*longest_ms, ms);
            if (got != kHarvestSpans) give_up("spans that were complete were not harvested");
            device_.wait(own);
            release();
        }
        return waited;
    }

private:
    double frame(bool ours, const std::function<void()>& record) {
        device_.begin(commands_, VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT);
        if (ours) {
            if (!backend_->begin_commands(queue_, commands_, 2 * kDispatches).ok()) give_up("no queries");
        } else {
            vkCmdResetQueryPool(commands_, bare_, 0, 2 * kDispatches);
        }
        device_.bind(commands_, pipeline_, 1);
        const HostTicks begin = tick();
        record();
        const double ns = ns_since(begin) / kDispatches;
        if (ours) backend_->end_commands(queue_);
        device_.end(commands_);
        device_.submit({commands_}, fence_);
        if (ours) backend_->submitted(queue_, {.fence = fence_});
        device_.wait_only(fence_);
        if (ours && ring_->harvest(out_) != kDispatches) give_up("a span was lost");
        release();
        return ns;
    }
    void submit_spans(int spans) {
        device_.begin(commands_, VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT);
        if (!backend_->begin_commands(queue_, commands_, static_cast<uint32_t>(2 * spans)).ok()) give_up("no queries");
        for (int i = 0; i < spans; ++i) ring_->end(0, ring_->begin(0, kSite));
        backend_->end_commands(queue_);
        device_.end(commands_);
        device_.submit({commands_}, fence_);
        backend_->submitted(queue_, {.fence = fence_});
    }
    void release() {
        backend_->release_fence(fence_);
        programs::check(vkResetFences(device_.handle(), 1, &fence_), "vkResetFences");
    }
    uint32_t long_iterations() {
        uint32_t iterations = 256;
        for (int attempt = 0; attempt < 12; ++attempt) {
            device_.begin(commands_, VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT);
            device_.dispatch(commands_, pipeline_, {.iterations = iterations, .groups = 64});
            device_.end(commands_);
            const HostTicks begin = tick();
            device_.submit({commands_}, fence_);
            device_.wait(fence_);
            const double ms = ns_since(begin) * 1e-6;
            if (ms > kLongMs * 0.8) break;
            iterations = static_cast<uint32_t>(iterations * std::clamp(kLongMs / ms, 1.2, 8.0)) + 1;
        }
        return iterations;
    }

    programs::VulkanDevice device_;
    VkFence fence_;
    VkPipeline pipeline_;
    VkCommandBuffer commands_;
    VkQueryPool bare_ = VK_NULL_HANDLE;
    std::unique_ptr<VulkanBackend> backend_;
    VulkanBackend::Queue queue_;
    std::unique_ptr<DeviceRing<VulkanBackend>> ring_;
    std::vector<SpanRecord> out_ = std::vector<SpanRecord>(4096);
};

void run(int rounds) {
    Bench bench;
    struct Row {
        const char* name;
        double (Bench::*measure)();
        std::vector<double> rounds{};
    };
    std::vector<Row> rows{{"floor/dispatch", &Bench::dispatch},
                          {"floor/two_timestamps", &Bench::two_timestamps},
                          {"span/enabled", &Bench::span},
                          {"lap/enabled", &Bench::lap},
                          {"harvest/256", &Bench::harvest}};
    for (Row& row : rows) (bench.*row.measure)();    // compiles, touches
    for (int round = 0; round < rounds; ++round) {
        std::vector<std::vector<double>> blocks(rows.size());
        for (int i = 0; i < kBuffersARound; ++i)
            for (std::size_t row = 0; row < rows.size(); ++row) blocks[row].push_back((bench.*rows[row].measure)());
        for (std::size_t row = 0; row < rows.size(); ++row) rows[row].rounds.push_back(median(blocks[row]));
    }
    std::printf("%-22s %9s %9s   %9s %9s\n", "ns a dispatch or span", "best", "median", "added", "x two");
    for (const Row& row : rows) {
        std::printf("%-22s %9.1f %9.1f", row.name, *std::min_element(row.rounds.begin(), row.rounds.end()),
                    median(row.rounds));
        if (row.measure != &Bench::harvest) {
            std::vector<double> added;
            std::vector<double> ratios;
            for (std::size_t i = 0; i < row.rounds.size(); ++i) {
                added.push_back(row.rounds[i] - rows[0].rounds[i]);
                ratios.push_back(added.back() / (rows[1].rounds[i] - rows[0].rounds[i]));
            }
            std::printf("   %9.1f %9.3f", median(added), median(ratios));
        }
        std::printf("\n");
    }
    double longest_ms = 0;
    const int blocked = bench.blocked(&longest_ms);
    std::printf("harvest beside a dispatch of %.0f ms: blocked %d of %d, longest %.3f ms\n", kLongMs, blocked,
                kHarvestsInFlight, longest_ms);
}

void record_only(int buffers) {
    constexpr int kRecorded = 1000;
    programs::VulkanDevice device;
    const VkPipeline pipeline = device.make_pipeline("record_f32");
    const VkCommandPool pool = device.make_pool(VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT);
    const VkCommandBuffer commands = device.make_commands(pool);
    std::vector<double> blocks;
    for (int buffer = 0; buffer < buffers; ++buffer) {
        device.begin(commands, VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT);
        device.bind(commands, pipeline, 1);
        const HostTicks begin = tick();
        for (int i = 0; i < kRecorded; ++i) {
            vkCmdDispatch(commands, 1, 1, 1);
            device.barrier(commands);
        }
        blocks.push_back(ns_since(begin) / kRecorded);
        device.end(commands);
    }
    std::printf("%.2f\n", median(blocks));
}

}    // namespace
}    // namespace lapwing::bench

int main(int argc, char** argv) {
    if (argc == 3 && std::string(argv[1]) == "record") {
        lapwing::bench::record_only(std::max(1, std::atoi(argv[2])));
        return 0;
    }
    lapwing::bench::run(argc > 1 ? std::max(1, std::atoi(argv[1])) : 12);
    return 0;
}
