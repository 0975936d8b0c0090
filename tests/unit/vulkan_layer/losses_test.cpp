// Commands that get no time, each with its reason.
#include <gtest/gtest.h>

#include "unit/vulkan_layer/scripted_device.hpp"

namespace lapwing::attach::vulkan_layer {
namespace {

using testing::fence;
using testing::ScriptedDevice;

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
    buffer->begin_render_pass(false, false);
    buffer->end_render_pass();
    scripted.submit({buffer.get()}, fence(2));
    scripted.record(*buffer, 3);
    scripted.submit({buffer.get()}, fence(3));
    scripted.see(fence(3));
    EXPECT_EQ(scripted.recorded(), 2u);
    EXPECT_EQ(scripted.lost()[LossReason::kUnreliableDriver], 4u) << "the pass and what came behind it";
    EXPECT_TRUE(scripted.balanced());
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

// vkCmdTraceRaysKHR and its like: no span, and the next one is not charged for it.
TEST(LayerLosses, WorkThatIsNotTimedIsCountedAndBreaksTheChain) {
    ScriptedDevice scripted;
    const auto buffer = scripted.command_buffer();
    scripted.record(*buffer, 1);
    buffer->pass_over();
    scripted.command(*buffer);
    scripted.submit({buffer.get()}, fence(1));
    scripted.see(fence(1));
    EXPECT_EQ(scripted.begun(), 3u);
    EXPECT_EQ(scripted.recorded(), 2u);
    EXPECT_EQ(scripted.lost()[LossReason::kUnsupported], 1u);
    EXPECT_EQ(Counters::read(scripted.session().counters().stamps), 4u)
        << "the second dispatch begins at its own stamp";
    EXPECT_TRUE(scripted.balanced());
}

}    // namespace
}    // namespace lapwing::attach::vulkan_layer
