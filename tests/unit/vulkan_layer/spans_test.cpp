// From recorded commands to spans, on a scripted driver.
#include <gtest/gtest.h>

#include <algorithm>

#include "unit/vulkan_layer/scripted_device.hpp"

namespace lapwing::attach::vulkan_layer {
namespace {

using testing::FakeDriver;
using testing::fence;
using testing::ScriptedDevice;

TEST(LayerSpans, NeighboursShareTheirStamp) {
    ScriptedDevice scripted;
    const auto buffer = scripted.command_buffer();
    scripted.record(*buffer, 3);
    scripted.submit({buffer.get()}, fence(1));
    scripted.see(fence(1));

    EXPECT_EQ(scripted.driver.calls["CmdWriteTimestamp"], 4u);
    EXPECT_EQ(scripted.driver.calls["CmdResetQueryPool"], 1u);
    const std::vector<SpanRecord> spans = scripted.stream.device_spans();
    ASSERT_EQ(spans.size(), 3u);
    for (std::size_t i = 1; i < spans.size(); ++i)
        EXPECT_EQ(spans[i].begin_ns, spans[i - 1].begin_ns + spans[i - 1].duration_ns);
    for (const SpanRecord& span : spans) EXPECT_NEAR(static_cast<double>(span.duration_ns), 100 * 52.083, 1.0);
    EXPECT_EQ(scripted.stream.unannounced, 0u);
    EXPECT_TRUE(scripted.balanced());
}

// A15: nvbench#184.
TEST(LayerSpans, FirstRecordingsBeginWithAnEmptyPairThatTellsTheFloor) {
    ScriptedDevice scripted;
    scripted.empty_pairs = true;
    for (int i = 0; i < 10; ++i) {
        const auto buffer = scripted.command_buffer();
        scripted.record(*buffer, 1);
        scripted.submit({buffer.get()}, fence(1));
        scripted.see(fence(1));
    }
    EXPECT_EQ(scripted.driver.calls["CmdWriteTimestamp"], 10 * 2 + 8u);
    EXPECT_EQ(scripted.stream.device_spans().size(), 10u) << "an empty pair is no span";
    scripted.device().queues().finish(scripted.tick());
    const ClockInfo clock = scripted.stream.devices.back().clock;
    EXPECT_EQ(clock.floor_ns, 5208) << "100 ticks of 52.083 ns";
    EXPECT_EQ(clock.floor_pairs, 8u);
    EXPECT_TRUE(scripted.balanced());
}

TEST(LayerSpans, OneRecordingThatIsSubmittedAgainTellsTheFloorForAll) {
    ScriptedDevice scripted;
    scripted.empty_pairs = true;
    const auto first = scripted.command_buffer();
    const auto second = scripted.command_buffer();
    scripted.record(*first, 1, 0);
    scripted.record(*second, 1, 0);
    for (int i = 0; i < 3; ++i) {
        scripted.submit({first.get(), second.get()}, fence(1));
        scripted.see(fence(1));
    }
    EXPECT_EQ(scripted.stream.device_spans().size(), 6u);
    scripted.device().queues().finish(scripted.tick());
    const ClockInfo clock = scripted.stream.devices.back().clock;
    EXPECT_EQ(clock.floor_ns, 5208);
    EXPECT_EQ(clock.floor_pairs, 3u) << "each of its submits measures, and the other recording carries no stamp more";
    EXPECT_TRUE(scripted.balanced());
}

TEST(LayerSpans, LieWithinTheirSubmission) {
    ScriptedDevice scripted;
    const auto buffer = scripted.command_buffer();
    for (int i = 0; i < 5; ++i) {
        scripted.record(*buffer, 2);
        const int64_t before = scripted.tick();
        scripted.submit({buffer.get()}, fence(1));
        scripted.see(fence(1));
        const int64_t after = scripted.tick();
        const std::vector<SpanRecord> spans = scripted.stream.device_spans();
        EXPECT_GE(spans[2 * i].begin_ns, before);
        EXPECT_LE(spans.back().begin_ns + spans.back().duration_ns, after);
    }
}

TEST(LayerSpans, ALongRecordingTakesChunksAndLosesNothing) {
    ScriptedDevice scripted;
    const auto buffer = scripted.command_buffer();
    scripted.record(*buffer, 3000);
    scripted.submit({buffer.get()}, fence(1));
    scripted.see(fence(1));
    EXPECT_EQ(scripted.recorded(), 3000u);
    EXPECT_EQ(scripted.lost().total(), 0u);
    EXPECT_EQ(scripted.driver.reads.size(), 4u) << "one read a pool of 1024 queries: 200 chunks are adjacent";
}

TEST(LayerSpans, CopiesAndFillsAreSpansOfTheirKind) {
    ScriptedDevice scripted;
    const auto buffer = scripted.command_buffer();
    buffer->begin({});
    scripted.command(*buffer, SpanKind::kCopy);
    scripted.command(*buffer, SpanKind::kFill);
    scripted.submit({buffer.get()}, fence(1));
    scripted.see(fence(1));
    const std::vector<SpanRecord> spans = scripted.stream.device_spans();
    ASSERT_EQ(spans.size(), 2u);
    EXPECT_EQ(scripted.stream.site_of(spans[0]).kind, SpanKind::kCopy);
    EXPECT_EQ(scripted.stream.site_of(spans[1]).kind, SpanKind::kFill);
    EXPECT_EQ(Counters::read(scripted.session().counters().executed_dispatches), 0u);
}

TEST(LayerSecondaries, AreTimedWithThePrimaryThatExecutesThem) {
    ScriptedDevice scripted;
    // The secondary first: the fake driver runs buffers in this order, so its stamps are earlier, and listed later.
    const auto secondary = scripted.command_buffer();
    const auto primary = scripted.command_buffer();
    scripted.record(*secondary, 8);
    for (int i = 0; i < 3; ++i) {
        scripted.record(*primary, 1);
        primary->execute(*secondary);
        scripted.command(*primary);
        // The fake driver runs one buffer at a time: the secondary's stamps, then those of the primary.
        scripted.submit({primary.get()}, fence(1), VK_SUCCESS, false);
        for (auto& [commands, list] : scripted.driver.commands) scripted.driver.execute(commands);
        scripted.see(fence(1));
    }
    EXPECT_EQ(scripted.recorded(), 30u);
    EXPECT_EQ(scripted.lost().total(), 0u);
    const std::vector<SpanRecord> spans = scripted.stream.device_spans();
    EXPECT_TRUE(std::is_sorted(spans.begin(), spans.end(),
                               [](const SpanRecord& a, const SpanRecord& b) { return a.begin_ns < b.begin_ns; }));
}

TEST(LayerWarmup, OnlyThePipelinesFirstDispatchIsMarked) {
    ScriptedDevice scripted;
    const auto pipeline = FakeDriver::handle<VkPipeline>(0x123);
    VkComputePipelineCreateInfo info{};
    info.stage.pName = "main";
    scripted.device().pipelines().add_compute_pipeline(pipeline, info);
    const auto buffer = scripted.command_buffer();
    for (int i = 0; i < 3; ++i) {
        buffer->begin({});
        buffer->bind_compute_pipeline(pipeline);
        scripted.command(*buffer);
        scripted.command(*buffer);
        scripted.submit({buffer.get()}, fence(1), VK_SUCCESS);
        scripted.see(fence(1));
        scripted.driver.commands.clear();
    }
    std::vector<bool> warmup;
    for (const SpanRecord& span : scripted.stream.device_spans())
        warmup.push_back(scripted.stream.site_of(span).warmup);
    EXPECT_EQ(warmup, (std::vector<bool>{true, false, false, false, false, false}));
}

TEST(LayerWarmup, AFirstUseWithoutStampsIsOneAllTheSame) {
    ScriptedDevice scripted(2);    // steps 0, 2, 4, ... are timed
    const auto pipeline = FakeDriver::handle<VkPipeline>(0x123);
    const auto buffer = scripted.command_buffer();
    scripted.record(*buffer, 1);
    scripted.submit({buffer.get()}, fence(1));
    scripted.see(fence(1));
    VkComputePipelineCreateInfo info{};
    scripted.device().pipelines().add_compute_pipeline(pipeline, info);
    for (int i = 0; i < 2; ++i) {
        scripted.driver.commands.clear();
        buffer->begin({});
        buffer->bind_compute_pipeline(pipeline);
        scripted.command(*buffer);
        scripted.submit({buffer.get()}, fence(1));
        scripted.see(fence(1));
    }
    const std::vector<SpanRecord> spans = scripted.stream.device_spans();
    ASSERT_EQ(spans.size(), 2u);
    EXPECT_EQ(scripted.stream.site_of(spans[1]).kernel.substr(0, 5), "main@");
    EXPECT_FALSE(scripted.stream.site_of(spans[1]).warmup);
}

TEST(LayerArming, OneStepInNIsTimedTheFirstIncludedAndAllAreCounted) {
    ScriptedDevice scripted(4);
    const auto buffer = scripted.command_buffer();
    for (int i = 0; i < 10; ++i) {
        scripted.record(*buffer, 5);
        scripted.submit({buffer.get()}, fence(1));
        scripted.see(fence(1));
    }
    ASSERT_EQ(scripted.stream.steps.size(), 10u);
    for (std::size_t i = 0; i < 10; ++i) {
        EXPECT_EQ(scripted.stream.steps[i].index, i);
        EXPECT_EQ(scripted.stream.steps[i].armed, i % 4 == 0);
        EXPECT_EQ(scripted.stream.steps[i].dispatches, 5u);
    }
    EXPECT_EQ(scripted.recorded(), 15u);
    EXPECT_EQ(Counters::read(scripted.session().counters().executed_dispatches), 50u);
    for (const SpanRecord& span : scripted.stream.device_spans()) EXPECT_EQ(span.step % 4, 0u);
}

}    // namespace
}    // namespace lapwing::attach::vulkan_layer
