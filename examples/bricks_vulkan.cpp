// The device half of the bricks example: a command buffer a step, a dispatch a brick.
#include "bricks_engine.hpp"
#include "lapwing/device_bricks.hpp"
#include "lapwing/device_spans.hpp"
#include "lapwing/span_tee.hpp"
#include "lapwing/vulkan_backend.hpp"
#include "vulkan_device.hpp"

int run_on_vulkan(lapwing::SpanSink& file, lapwing::SiteTable& sites, lapwing::BrickProfiler& profiler,
                  lapwing::RecordingStats& stats) {
    programs::VulkanDevice vulkan;
    const VkPipeline pipeline = vulkan.make_pipeline("brick");
    const VkCommandPool pool = vulkan.make_pool();
    const VkFence fence = vulkan.make_fence();
    auto backend = lapwing::VulkanBackend::create({.instance = vulkan.instance(),
                                                   .physical_device = vulkan.physical(),
                                                   .device = vulkan.handle(),
                                                   .get_instance_proc_addr = vkGetInstanceProcAddr});
    if (!backend.ok()) return fail(backend.error());
    auto stream = (*backend)->open_queue(vulkan.family());
    if (!stream.ok()) return fail(stream.error());

    // [bricks-device]
    lapwing::DeviceRing<lapwing::VulkanBackend> ring(**backend);
    lapwing::SpanTee tee({&file, &profiler.device_view()});    // the recording, and the statistics
    lapwing::DeviceSpanCollector<lapwing::VulkanBackend> collector(
        ring, tee, {.id = 1, .api = "vulkan", .name = "first Vulkan device"},
        {.sites = &sites, .whole_recording = false});
    const auto queue = collector.add_queue(*stream, "queue 0");
    if (!queue.ok()) return fail(queue.error());
    lapwing::DeviceBricks<lapwing::VulkanBackend> bricks(ring, *queue);
    profiler.bind_device(&bricks);
    for (int step = 0; step < kSteps; ++step) {
        const VkCommandBuffer commands = vulkan.make_commands(pool);
        vulkan.begin(commands);
        if (const auto began = (*backend)->begin_commands(*stream, commands, 64); !began.ok())
            return fail(began.error());
        decode(profiler, [&](BrickId id) {
            vulkan.dispatch(commands, pipeline, {.iterations = id == BrickId::kUpProjection ? 4000u : 100u});
            vulkan.barrier(commands);
        });
        (*backend)->end_commands(*stream);
        vulkan.end(commands);
        vulkan.submit({commands}, fence);
        (*backend)->submitted(*stream, {.fence = fence});
        vulkan.wait_only(fence);
        if (const auto harvested = collector.harvest(); !harvested.ok()) return fail(harvested.error());
        (*backend)->release_fence(fence);
        vulkan.wait(fence);    // resets it
    }
    profiler.bind_device(nullptr);
    // [/bricks-device]
    if (const auto closed = collector.close(); !closed.ok()) return fail(closed.error());
    collector.add_to(stats);
    if (const auto gone = (*backend)->shutdown(); !gone.ok()) return fail(gone.error());
    return 0;
}
