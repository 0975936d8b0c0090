// When results are read, and what a submit that was refused or never completed leaves behind.
#include <gtest/gtest.h>

#include "unit/vulkan_layer/scripted_device.hpp"

namespace lapwing::attach::vulkan_layer {
namespace {

using testing::fence;
using testing::ScriptedDevice;

// One-time recordings, whose results are read in place, and others, whose results are copied out.
TEST(LayerResults, SurviveResetRerecordingAndFree) {
    for (const VkCommandBufferUsageFlags flags : {VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT + 0u, 0u}) {
        ScriptedDevice scripted;
        auto buffer = scripted.command_buffer();
        scripted.record(*buffer, 10, flags);
        scripted.submit({buffer.get()}, fence(1));
        scripted.record(*buffer, 7, flags);    // before anybody looked at the fence
        scripted.submit({buffer.get()}, fence(2));
        buffer->drop_recording();
        buffer.reset();
        scripted.see(fence(2));
        EXPECT_EQ(scripted.recorded(), 17u);
        EXPECT_TRUE(scripted.balanced());
        EXPECT_EQ(scripted.lost().total(), 0u);
    }
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

}    // namespace
}    // namespace lapwing::attach::vulkan_layer
