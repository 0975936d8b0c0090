// The telemetry hub on a real driver: a scheduler's lanes and kernels come out, and a lane contains its kernels.
#include <gtest/gtest.h>

#include <algorithm>

#include "conformance/vulkan_harness.hpp"
#include "lapwing/span_tee.hpp"
#include "lapwing/telemetry.hpp"
#include "lapwing/telemetry_stream.hpp"
#include "unit/host_span_sink.hpp"

namespace lapwing::testing {
namespace {

constexpr uint64_t kSteps = 4;

TEST(VulkanLanes, LanesAndKernelsComeOutAndALaneContainsItsKernels) {
    std::string why_not;
    const std::unique_ptr<VulkanHarness> vk = VulkanHarness::make({}, why_not);
    if (vk == nullptr) GTEST_SKIP() << why_not;
    const std::unique_ptr<VulkanBackend> backend = vk->make_backend();
    ASSERT_NE(backend, nullptr);
    VulkanBackend::Queue queue = backend->open_queue(vk->family()).value();
    Telemetry hub;
    test::KeepingSink kept;
    SpanTee tee({&kept, &hub.sink()});
    DeviceRing<VulkanBackend> ring(*backend);
    const DeviceInfo device{.id = 1, .api = "vulkan", .name = vk->device_name()};
    DeviceSpanCollector<VulkanBackend> collector(ring, tee, device, {.whole_recording = false});
    const StreamQueues numbers{collector.add_queue(queue, "kernels").value(),
                               collector.add_queue(queue, "lanes").value()};
    {
        const TelemetryStream<VulkanBackend> stream(hub, ring, collector, device, numbers);
        hub.configure(TelemetryConfig::make({.level = "kernel", .kernel_span_every = 1}).value());
        const KernelId burn = hub.kernels().kernel("", "burn");
        for (uint64_t step = 0; step < kSteps; ++step) {
            const VkCommandBuffer commands = vk->begin_commands();
            ASSERT_TRUE(backend->begin_commands(queue, commands, 32).ok());
            EXPECT_TRUE(hub.step_begin());
            for (const uint32_t lane : {kPrefill, kDecode}) {
                hub.lane_begin(lane);
                for (int i = 0; i < 2; ++i) {
                    const KernelSpan span = hub.kernel_begin(burn);
                    vk->dispatch(commands, 1);
                    hub.kernel_end(span);
                }
                hub.lane_end(lane);
            }
            backend->end_commands(queue);
            vk->end_commands(commands);
            const VkFence fence = vk->make_fence();
            vk->submit(commands, fence);
            backend->submitted(queue, {.fence = fence});
            vk->wait(fence);
        }
        set_level(Level::kOff);
        hub.step_begin();
    }
    ASSERT_TRUE(collector.close().ok());
    vk->wait_idle();
    EXPECT_TRUE(backend->shutdown().ok());

    const TelemetrySnapshot snapshot = hub.snapshot();
    EXPECT_EQ(snapshot.gpu->lost.total(), 0u);
    ASSERT_EQ(snapshot.kernels.size(), 1u);
    EXPECT_EQ(snapshot.kernels[0].samples, 4 * kSteps);
    EXPECT_EQ(snapshot.kernels[0].launches, 4 * kSteps);
    EXPECT_GT(snapshot.kernels[0].min_ns, 0);
    for (const LaneFigures& lane : snapshot.lanes) {
        if (lane.lane == "admit")
            EXPECT_FALSE(lane.time_ns.has_value());
        else
            EXPECT_EQ(lane.time_ns.value_or(Log2Snapshot{}).count(), kSteps) << lane.lane << ": " << lane.reason;
    }
    for (const SpanRecord& kernel : kept.kept) {
        if (kept.sites.at(kernel.site).container) continue;
        const auto around = std::count_if(kept.kept.begin(), kept.kept.end(), [&](const SpanRecord& lane) {
            return kept.sites.at(lane.site).container && lane.begin_ns <= kernel.begin_ns &&
                   lane.begin_ns + lane.duration_ns >= kernel.begin_ns + kernel.duration_ns;
        });
        EXPECT_EQ(around, 1) << "a kernel lies in one lane";
    }
}

}    // namespace
}    // namespace lapwing::testing
