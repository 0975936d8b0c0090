// From recorded commands to spans, on a scripted driver.
#include <gtest/gtest.h>

#include <algorithm>

#include "unit/vulkan_layer/scripted_device.hpp"

namespace lapwing::vulkan_layer {
namespace {

using testing::FakeCommand;
using testing::FakeDriver;
using testing::ScriptedDevice;

VkFence fence(uint64_t number) {
    return ScriptedDevice::fence(number);
}

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

TEST(LayerResults, SurviveResetRerecordingAndFree) {
    ScriptedDevice scripted;
    auto buffer = scripted.command_buffer();
    scripted.record(*buffer, 10);
    scripted.submit({buffer.get()}, fence(1));
    scripted.record(*buffer, 7);    // before anybody looked at the fence
    scripted.submit({buffer.get()}, fence(2));
    buffer->drop_recording();
    buffer.reset();
    scripted.see(fence(2));
    EXPECT_EQ(scripted.recorded(), 17u);
    EXPECT_EQ(scripted.lost().total(), 0u);
}

// tracy#1317, #538: a recorded command buffer submitted again.
TEST(LayerResults, ResubmittedAfterCompletionWasSeenIsASpanEachTime) {
    ScriptedDevice scripted;
    const auto buffer = scripted.command_buffer();
    scripted.record(*buffer, 10);
    for (int i = 0; i < 5; ++i) {
        scripted.submit({buffer.get()}, fence(1));
        scripted.see(fence(1));
    }
    EXPECT_EQ(scripted.recorded(), 50u);
    EXPECT_TRUE(scripted.balanced());
}

TEST(LayerResults, ResubmittedBeforeThatLosesTheEarlierOnesAsOverwritten) {
    ScriptedDevice scripted;
    const auto buffer = scripted.command_buffer();
    scripted.record(*buffer, 10);
    for (int i = 0; i < 5; ++i) scripted.submit({buffer.get()}, fence(i));
    scripted.submit({buffer.get(), buffer.get()}, fence(9));
    scripted.see(fence(9));
    EXPECT_EQ(scripted.begun(), 70u);
    EXPECT_EQ(scripted.recorded(), 10u);
    EXPECT_EQ(scripted.lost()[LossReason::kOverwritten], 60u);
    EXPECT_TRUE(scripted.balanced());
}

TEST(LayerResults, EndlessResubmissionWithoutCompletionKeepsNothing) {
    ScriptedDevice scripted;
    const auto buffer = scripted.command_buffer();
    scripted.record(*buffer, 1);
    for (int i = 0; i < 20'000; ++i) scripted.submit({buffer.get()}, fence(1), VK_SUCCESS, false);
    EXPECT_GE(scripted.lost()[LossReason::kOverwritten], 10'000u) << "they must be let go on the way";
    scripted.device().queues().abandon_at_exit();
    EXPECT_EQ(scripted.begun(), 20'000u);
    EXPECT_TRUE(scripted.balanced());
}

TEST(LayerResults, NeverSubmittedRecordingsCountNothingAndGiveTheirQueriesBack) {
    ScriptedDevice scripted;
    const auto buffer = scripted.command_buffer();
    for (int i = 0; i < 10'000; ++i) scripted.record(*buffer, 15);
    EXPECT_EQ(scripted.begun(), 0u);
    EXPECT_EQ(scripted.driver.calls["CreateQueryPool"], 1u);
}

TEST(LayerResults, ARefusedSubmitNeverWas) {
    ScriptedDevice scripted;
    scripted.driver.device_name = "llvmpipe";    // read only when nothing is left to wait for
    const auto buffer = scripted.command_buffer();
    scripted.record(*buffer, 10);
    scripted.submit({buffer.get()}, fence(1));
    scripted.submit({buffer.get()}, fence(2), VK_ERROR_OUT_OF_HOST_MEMORY);
    scripted.see(fence(1));
    EXPECT_EQ(scripted.begun(), 10u);
    EXPECT_EQ(scripted.recorded(), 10u) << "the refused submit must not count as an overwrite";
    ASSERT_EQ(scripted.stream.steps.size(), 1u) << "nor must it be waited for";
    EXPECT_EQ(scripted.stream.steps[0].dispatches, 10u);
}

// gapid#2022: the device goes away.
TEST(LayerResults, ALostDeviceLosesWhatIsPendingAndIsLeftAlone) {
    ScriptedDevice scripted;
    const auto buffer = scripted.command_buffer();
    scripted.record(*buffer, 10);
    scripted.submit({buffer.get()}, fence(1));
    scripted.submit({buffer.get()}, fence(2), VK_ERROR_DEVICE_LOST);
    const uint64_t calls = scripted.driver.total_calls();
    scripted.see(fence(1));
    EXPECT_EQ(scripted.lost()[LossReason::kDeviceLost], 10u);
    EXPECT_TRUE(scripted.balanced());
    EXPECT_EQ(scripted.driver.total_calls(), calls);
    scripted.record(*buffer, 1);
    EXPECT_EQ(scripted.driver.total_calls(), calls) << "no more stamps either";
}

// gapid#3661, dive#329: VK_NOT_READY for work that is complete.
TEST(LayerResults, NotReadyStaysPendingAndComesLater) {
    ScriptedDevice scripted;
    const auto buffer = scripted.command_buffer();
    scripted.record(*buffer, 10);
    scripted.submit({buffer.get()}, fence(1), VK_SUCCESS, false);
    scripted.see(fence(1));
    EXPECT_EQ(scripted.recorded() + scripted.lost().total(), 0u);
    for (auto& [commands, list] : scripted.driver.commands) scripted.driver.execute(commands);
    scripted.see(fence(1));
    EXPECT_EQ(scripted.recorded(), 10u);
    EXPECT_TRUE(scripted.balanced());
}

TEST(LayerResults, WhatNeverComesIsLostAsADriverError) {
    ScriptedDevice scripted;
    const auto buffer = scripted.command_buffer();
    scripted.record(*buffer, 10);
    scripted.submit({buffer.get()}, fence(1), VK_SUCCESS, false);
    for (int i = 0; i < 100; ++i) scripted.see(fence(1));
    EXPECT_EQ(scripted.lost()[LossReason::kDriverError], 10u);
    EXPECT_TRUE(scripted.balanced());
}

TEST(LayerResults, AreNeverWaitedFor) {
    ScriptedDevice scripted;
    const auto buffer = scripted.command_buffer();
    scripted.record(*buffer, 10);
    scripted.submit({buffer.get()}, fence(1));
    scripted.see(fence(1));
    scripted.device().queues().finish(scripted.tick());
    ASSERT_FALSE(scripted.driver.read_flags.empty());
    for (const VkQueryResultFlags flags : scripted.driver.read_flags) {
        EXPECT_EQ(flags & VK_QUERY_RESULT_WAIT_BIT, 0u);
        EXPECT_NE(flags & VK_QUERY_RESULT_WITH_AVAILABILITY_BIT, 0u);
    }
    for (const char* call : {"WaitForFences", "QueueWaitIdle", "DeviceWaitIdle", "WaitSemaphores", "QueueSubmit"})
        EXPECT_EQ(scripted.driver.calls[call], 0u) << call;
}

// Lavapipe blocks in any result read until the whole device is idle.
TEST(LayerResults, WhereReadsBlockNothingIsReadWhileAnythingRuns) {
    ScriptedDevice scripted;
    scripted.driver.device_name = "llvmpipe (LLVM 15.0.6, 256 bits)";
    const auto first = scripted.command_buffer();
    const auto second = scripted.command_buffer();
    scripted.record(*first, 4);
    scripted.record(*second, 4);
    scripted.submit({first.get()}, fence(1));
    scripted.submit({second.get()}, fence(2));
    scripted.see(fence(1));
    EXPECT_EQ(scripted.driver.reads.size(), 0u);
    scripted.see(fence(2));
    EXPECT_GT(scripted.driver.reads.size(), 0u);
    EXPECT_EQ(scripted.recorded(), 8u);
}

TEST(LayerResults, ElsewhereFinishedWorkIsReadWhileLaterWorkRuns) {
    ScriptedDevice scripted;
    const auto first = scripted.command_buffer();
    const auto second = scripted.command_buffer();
    scripted.record(*first, 4);
    scripted.record(*second, 4);
    scripted.submit({first.get()}, fence(1));
    scripted.submit({second.get()}, fence(2), VK_SUCCESS, false);
    scripted.see(fence(1));
    EXPECT_EQ(scripted.recorded(), 4u);
}

TEST(LayerLosses, AFamilyWithoutTimestampsGetsNoStampAndSaysSo) {
    ScriptedDevice scripted;
    scripted.driver.families[0].timestampValidBits = 0;
    const auto buffer = scripted.command_buffer();
    scripted.record(*buffer, 5);
    scripted.submit({buffer.get()}, fence(1));
    scripted.see(fence(1));
    EXPECT_EQ(scripted.driver.calls["CmdWriteTimestamp"], 0u);
    EXPECT_EQ(scripted.lost()[LossReason::kUnsupported], 5u);
    EXPECT_TRUE(scripted.balanced());
    EXPECT_EQ(Counters::read(scripted.session().counters().executed_dispatches), 5u);
}

TEST(LayerLosses, AQueueThatOnlyCopiesCannotResetQueries) {
    ScriptedDevice scripted;
    scripted.driver.families[0].queueFlags = VK_QUEUE_TRANSFER_BIT;
    const auto buffer = scripted.command_buffer();
    buffer->begin({});
    scripted.command(*buffer, SpanKind::kCopy);
    EXPECT_EQ(scripted.driver.calls["CmdResetQueryPool"], 0u);
}

TEST(LayerLosses, WithoutQueryPoolsTheCommandsGoThroughAndCount) {
    ScriptedDevice scripted;
    scripted.driver.create_query_pool_result = VK_ERROR_OUT_OF_DEVICE_MEMORY;
    const auto buffer = scripted.command_buffer();
    scripted.record(*buffer, 5);
    scripted.submit({buffer.get()}, fence(1));
    scripted.see(fence(1));
    EXPECT_EQ(scripted.lost()[LossReason::kRingFull], 5u);
    EXPECT_TRUE(scripted.balanced());
}

TEST(LayerLosses, AfterARenderPassALyingDriversTimesAreNotReported) {
    ScriptedDevice scripted;
    scripted.driver.device_name = "llvmpipe";
    const auto buffer = scripted.command_buffer();
    scripted.record(*buffer, 2);
    scripted.submit({buffer.get()}, fence(1));
    scripted.see(fence(1));
    buffer->begin({});
    buffer->begin_render_pass();
    buffer->end_render_pass();
    scripted.submit({buffer.get()}, fence(2));
    scripted.record(*buffer, 3);
    scripted.submit({buffer.get()}, fence(3));
    scripted.see(fence(3));
    EXPECT_EQ(scripted.recorded(), 2u);
    EXPECT_EQ(scripted.lost()[LossReason::kUnreliableDriver], 3u);
    EXPECT_TRUE(scripted.balanced());
}

TEST(LayerLosses, NothingIsStampedInsideARenderPass) {
    ScriptedDevice scripted;
    const auto buffer = scripted.command_buffer();
    scripted.record(*buffer, 1);
    const uint64_t stamps = scripted.driver.calls["CmdWriteTimestamp"];
    buffer->begin_render_pass();
    scripted.command(*buffer);
    EXPECT_EQ(scripted.driver.calls["CmdWriteTimestamp"], stamps);
    buffer->end_render_pass();
    scripted.command(*buffer);
    EXPECT_EQ(scripted.driver.calls["CmdWriteTimestamp"], stamps + 2) << "the pass must not be charged to it";
}

TEST(LayerLosses, ATimeLongerThanItsSubmissionIsImplausible) {
    ScriptedDevice scripted;
    const auto buffer = scripted.command_buffer();
    scripted.record(*buffer, 1);
    scripted.submit({buffer.get()}, fence(1), VK_SUCCESS, false);
    for (auto& [commands, list] : scripted.driver.commands) scripted.driver.execute(commands);
    auto& queries = scripted.driver.pools.begin()->second;
    queries[1].ticks = queries[0].ticks + 1'000'000'000;    // 52 s in a window of milliseconds
    scripted.see(fence(1));
    EXPECT_EQ(scripted.lost()[LossReason::kImplausible], 1u);
    EXPECT_TRUE(scripted.balanced());
}

TEST(LayerLosses, WhatIsInFlightAtExitIsAbandoned) {
    ScriptedDevice scripted;
    const auto buffer = scripted.command_buffer();
    scripted.record(*buffer, 10);
    scripted.submit({buffer.get()}, fence(1), VK_SUCCESS, false);
    const uint64_t calls = scripted.driver.total_calls();
    scripted.device().queues().abandon_at_exit();
    EXPECT_EQ(scripted.lost()[LossReason::kAbandoned], 10u);
    EXPECT_TRUE(scripted.balanced());
    EXPECT_EQ(scripted.driver.total_calls(), calls) << "no driver call is safe at exit";
}

TEST(LayerLosses, WhatTheRecorderDropsIsARingThatWasFull) {
    ScriptedDevice scripted;
    const auto buffer = scripted.command_buffer();
    scripted.record(*buffer, 10);
    scripted.submit({buffer.get()}, fence(1));
    scripted.stream.to_drop = 4;
    scripted.see(fence(1));
    EXPECT_EQ(scripted.recorded(), 6u);
    EXPECT_EQ(scripted.lost()[LossReason::kRingFull], 4u);
    EXPECT_TRUE(scripted.balanced());
}

TEST(LayerSecondaries, AreTimedWithThePrimaryThatExecutesThem) {
    ScriptedDevice scripted;
    const auto primary = scripted.command_buffer();
    const auto secondary = scripted.command_buffer();
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
}    // namespace lapwing::vulkan_layer
