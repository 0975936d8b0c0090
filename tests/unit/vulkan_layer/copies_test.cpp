// Recordings that may be submitted again: the device copies the results of each execution out.
#include <gtest/gtest.h>

#include <algorithm>

#include "unit/vulkan_layer/scripted_device.hpp"

namespace lapwing::attach::vulkan_layer {
namespace {

using testing::FakeCommand;
using testing::FakeDriver;
using testing::fence;
using testing::ScriptedDevice;

constexpr VkCommandBufferUsageFlags kReusable = 0;

std::vector<int64_t> begins(const std::vector<SpanRecord>& spans) {
    std::vector<int64_t> out;
    for (const SpanRecord& span : spans) out.push_back(span.begin_ns);
    return out;
}

// tracy#1317, #538: a recorded command buffer submitted again before anybody looked.
TEST(LayerCopies, ASubmitIsASpanHoweverSoonTheNextOneComes) {
    ScriptedDevice scripted;
    const auto buffer = scripted.command_buffer();
    scripted.record(*buffer, 10, kReusable);
    for (int i = 0; i < 5; ++i) scripted.submit({buffer.get()}, fence(i));
    scripted.submit({buffer.get(), buffer.get(), buffer.get()}, fence(9));
    scripted.see(fence(9));
    EXPECT_EQ(scripted.begun(), 80u);
    EXPECT_EQ(scripted.recorded(), 80u);
    const std::vector<int64_t> moments = begins(scripted.stream.device_spans());
    EXPECT_TRUE(std::is_sorted(moments.begin(), moments.end()));
    EXPECT_EQ(std::adjacent_find(moments.begin(), moments.end()), moments.end()) << "each execution has its own times";
    EXPECT_EQ(scripted.driver.reads.size(), 0u) << "they are in memory";
}

TEST(LayerCopies, AOneTimeRecordingIsReadInPlace) {
    ScriptedDevice scripted;
    const auto buffer = scripted.command_buffer();
    scripted.record(*buffer, 10);
    scripted.submit({buffer.get()}, fence(1));
    scripted.see(fence(1));
    EXPECT_EQ(scripted.recorded(), 10u);
    EXPECT_EQ(scripted.driver.calls["CmdCopyQueryPoolResults"], 0u);
    EXPECT_EQ(scripted.driver.calls["CreateCommandPool"], 0u);
    EXPECT_EQ(scripted.driver.calls["AllocateMemory"], 0u);
}

TEST(LayerCopies, InSteadyStateASubmitCallsNothing) {
    ScriptedDevice scripted;
    const auto buffer = scripted.command_buffer();
    scripted.record(*buffer, 100, kReusable);
    scripted.submit({buffer.get(), buffer.get()}, fence(1));
    scripted.see(fence(1));
    const uint64_t calls = scripted.driver.total_calls();
    const uint64_t copies = scripted.driver.calls["CmdCopyQueryPoolResults"];
    EXPECT_EQ(copies, 2u) << "adjacent chunks are one copy an execution";
    for (int i = 0; i < 100; ++i) {
        scripted.submit({buffer.get(), buffer.get()}, fence(1));
        scripted.see(fence(1));
    }
    EXPECT_EQ(scripted.driver.total_calls(), calls);
    EXPECT_EQ(scripted.recorded(), 20'200u);
}

TEST(LayerCopies, CopyOnlyWhatIsSurelyWritten) {
    ScriptedDevice scripted;
    const auto buffer = scripted.command_buffer();
    scripted.record(*buffer, 20, kReusable);    // 16 and 6 stamps: the second chunk is not full
    scripted.submit({buffer.get()}, fence(1));
    uint32_t copied = 0;
    for (const auto& [commands, list] : scripted.driver.commands)
        for (const FakeCommand& command : list)
            if (command.kind == FakeCommand::Kind::kCopy) {
                copied += command.count;
                EXPECT_NE(command.flags & VK_QUERY_RESULT_WAIT_BIT, 0u);
            }
    EXPECT_EQ(copied, 22u);
    scripted.see(fence(1));
    EXPECT_EQ(scripted.recorded(), 20u);
}

TEST(LayerCopies, ASecondaryRecordedAndNotExecutedIsNotWaitedFor) {
    ScriptedDevice scripted;
    const auto executed = scripted.command_buffer();
    const auto idle = scripted.command_buffer();
    const auto primary = scripted.command_buffer();
    scripted.record(*executed, 3, kReusable);
    scripted.record(*idle, 3, kReusable);
    scripted.begin(*primary);    // one-time itself, but its secondary may be executed by others
    primary->execute(*executed);
    scripted.submit({executed.get()}, fence(8));    // the fake driver knows no vkCmdExecuteCommands: its stamps, first
    scripted.submit({primary.get()}, fence(1));
    scripted.submit({primary.get()}, fence(2));
    scripted.see(fence(2));
    EXPECT_EQ(scripted.recorded(), 9u);
}

TEST(LayerCopies, OnADriverWhoseReadsBlockTheyAreReadWhileTheDeviceIsBusy) {
    ScriptedDevice scripted;
    scripted.driver.device_name = "llvmpipe";
    const auto first = scripted.command_buffer();
    const auto second = scripted.command_buffer();
    scripted.record(*first, 4, kReusable);
    scripted.record(*second, 4);
    scripted.submit({first.get()}, fence(1));
    scripted.submit({second.get()}, fence(2), VK_SUCCESS, false);
    scripted.see(fence(1));
    EXPECT_EQ(scripted.recorded(), 4u);
    EXPECT_EQ(scripted.driver.reads.size(), 0u);
}

TEST(LayerCopies, AreReadOnceTheProgramSawThemComplete) {
    ScriptedDevice scripted;
    const auto buffer = scripted.command_buffer();
    scripted.record(*buffer, 4, kReusable);
    scripted.submit({buffer.get()}, fence(1));
    scripted.submit({buffer.get()}, fence(2), VK_SUCCESS, false);
    EXPECT_EQ(scripted.recorded(), 0u) << "in memory, but not known to be whole";
    scripted.see(fence(2));
    EXPECT_EQ(scripted.recorded(), 4u) << "the second one's results are late";
    scripted.run_last_submit();
    scripted.see(fence(2));
    EXPECT_EQ(scripted.recorded(), 8u);
    EXPECT_TRUE(scripted.balanced());
}

// At exit no driver call is safe, but memory may be read.
TEST(LayerCopies, AtExitWhatWasSeenCompleteIsReadFromMemory) {
    ScriptedDevice scripted;
    scripted.driver.device_name = "llvmpipe";
    const auto in_place = scripted.command_buffer();
    const auto copied = scripted.command_buffer();
    scripted.record(*in_place, 2);
    scripted.record(*copied, 3, kReusable);
    scripted.submit({in_place.get()}, fence(1));
    scripted.submit({copied.get()}, fence(2));
    scripted.submit({copied.get()}, fence(3), VK_SUCCESS, false);
    scripted.see(fence(2));
    EXPECT_EQ(scripted.recorded(), 0u) << "behind one that cannot be read while the device is busy";
    const uint64_t calls = scripted.driver.total_calls();
    scripted.device().queues().abandon_at_exit();
    EXPECT_EQ(scripted.driver.total_calls(), calls);
    EXPECT_EQ(scripted.recorded(), 3u);
    EXPECT_EQ(scripted.lost()[LossReason::kAbandoned], 5u);
    EXPECT_TRUE(scripted.balanced());
}

TEST(LayerCopies, ARefusedSubmitGivesItsCopiesBack) {
    ScriptedDevice scripted;
    const auto buffer = scripted.command_buffer();
    scripted.record(*buffer, 10, kReusable);
    scripted.submit({buffer.get()}, fence(1), VK_ERROR_OUT_OF_HOST_MEMORY);
    const uint64_t calls = scripted.driver.total_calls();
    scripted.submit({buffer.get()}, fence(1));
    EXPECT_EQ(scripted.driver.total_calls(), calls) << "the same copy serves again";
    scripted.see(fence(1));
    EXPECT_EQ(scripted.begun(), 10u);
    EXPECT_EQ(scripted.recorded(), 10u);
}

TEST(LayerCopies, AreRecycledWhenTheirRecordingGoes) {
    ScriptedDevice scripted;
    const auto buffer = scripted.command_buffer();
    for (int i = 0; i < 10'000; ++i) {
        scripted.record(*buffer, 15, kReusable);
        scripted.submit({buffer.get()}, fence(1));
        scripted.see(fence(1));
    }
    EXPECT_EQ(scripted.recorded(), 150'000u);
    EXPECT_LE(scripted.driver.calls["AllocateCommandBuffers"], 2u);
    EXPECT_EQ(scripted.driver.calls["AllocateMemory"], 1u);
}

TEST(LayerCopies, EndlessResubmissionWithoutCompletionIsBoundedAndSaysSo) {
    ScriptedDevice scripted;
    const auto buffer = scripted.command_buffer();
    scripted.record(*buffer, 1, kReusable);
    for (int i = 0; i < 20'000; ++i) scripted.submit({buffer.get()}, fence(1), VK_SUCCESS, false);
    EXPECT_EQ(scripted.driver.calls["AllocateCommandBuffers"], CopyStore::kMaxCopies);
    EXPECT_GE(scripted.lost()[LossReason::kRingFull], 10'000u) << "they must be let go on the way";
    scripted.device().queues().abandon_at_exit();
    EXPECT_EQ(scripted.begun(), 20'000u);
    EXPECT_TRUE(scripted.balanced());
}

TEST(LayerCopies, ASecondaryExecutedTwiceByOnePrimaryLosesTheFirstAsOverwritten) {
    ScriptedDevice scripted;
    const auto secondary = scripted.command_buffer();
    const auto primary = scripted.command_buffer();
    scripted.record(*secondary, 2, kReusable);
    scripted.begin(*primary, kReusable);
    primary->execute(*secondary);
    primary->execute(*secondary);
    scripted.submit({secondary.get()});    // stands for both executions
    scripted.submit({primary.get()}, fence(1));
    scripted.see(fence(1));
    EXPECT_EQ(scripted.recorded(), 4u);
    EXPECT_EQ(scripted.lost()[LossReason::kOverwritten], 2u);
    EXPECT_TRUE(scripted.balanced());
}

// Two queues that execute one recording at a time write the same queries: no time of either can be trusted.
TEST(LayerCopies, OneRecordingOnTwoQueuesAtOnceHasNoTimes) {
    ScriptedDevice scripted;
    const auto buffer = scripted.command_buffer();
    scripted.record(*buffer, 2, VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT);
    const auto other = FakeDriver::handle<VkQueue>(0x5800);
    scripted.device().queues().add_queue(other, 0, 1);
    scripted.submit({buffer.get()}, fence(1));
    scripted.submit_to(other, {buffer.get()}, fence(2));
    scripted.see(fence(1));
    scripted.see(fence(2));
    EXPECT_EQ(scripted.recorded(), 0u);
    EXPECT_EQ(scripted.lost()[LossReason::kOverwritten], 4u);
    scripted.submit_to(other, {buffer.get()}, fence(2));
    scripted.see(fence(2));
    EXPECT_EQ(scripted.recorded(), 2u) << "one after the other is fine";
    EXPECT_TRUE(scripted.balanced());
}

TEST(LayerCopies, ABatchThatTakesNoneIsReadInPlaceAndLosesAsUnsupported) {
    ScriptedDevice scripted;
    const auto buffer = scripted.command_buffer();
    scripted.record(*buffer, 2, kReusable);
    scripted.takes_copies = false;
    scripted.submit({buffer.get()}, fence(1));
    scripted.submit({buffer.get()}, fence(2));
    scripted.see(fence(2));
    EXPECT_EQ(scripted.driver.calls["CmdCopyQueryPoolResults"], 0u);
    EXPECT_EQ(scripted.recorded(), 2u);
    EXPECT_EQ(scripted.lost()[LossReason::kUnsupported], 2u);
}

// A semaphore that waits for some stages only may be signalled in front of our copies, whose command buffers must not
// be used again before they are done.
TEST(LayerCopies, ASignalOfSomeStagesDoesNotCompleteThem) {
    ScriptedDevice scripted;
    const auto semaphore = FakeDriver::handle<VkSemaphore>(0x777);
    DeviceQueues& queues = scripted.device().queues();
    queues.add_timeline(semaphore);
    const auto buffer = scripted.command_buffer();
    scripted.record(*buffer, 2, kReusable);
    scripted.signals = {{semaphore, 1, false}};
    scripted.submit({buffer.get()}, fence(1));
    queues.timeline_reached(semaphore, 1, scripted.tick());
    EXPECT_EQ(scripted.recorded(), 0u);
    scripted.see(fence(1));
    EXPECT_EQ(scripted.recorded(), 2u);
}

// Each call that the copies need, failing at once and later on: the program's submits go on, nothing is leaked, and
// what could not be copied is read in place where nothing overwrites it.
class LayerCopyFaults : public ::testing::TestWithParam<std::tuple<const char*, uint64_t>> {};

TEST_P(LayerCopyFaults, CostTimesAndNothingElse) {
    ScriptedDevice scripted;
    const auto& [call, first] = GetParam();
    scripted.driver.failures[call] = {VK_ERROR_OUT_OF_DEVICE_MEMORY, first};
    {
        const auto buffer = scripted.command_buffer();
        scripted.record(*buffer, 1100, kReusable);    // more than a slab's cells in 20 executions
        for (int i = 0; i < 20; ++i) scripted.submit({buffer.get()}, fence(i));
        scripted.see(fence(19));
        EXPECT_EQ(scripted.begun(), 22'000u);
        EXPECT_TRUE(scripted.balanced());
        EXPECT_GE(scripted.recorded(), 1100u) << "the last execution is there in place";
        EXPECT_GT(scripted.lost()[LossReason::kDriverError], 0u);
        EXPECT_EQ(scripted.lost()[LossReason::kDriverError], scripted.lost().total()) << "one clear reason";
        EXPECT_LE(scripted.driver.calls[call], first + CopyStore::kMaxDriverRefusals) << "not asked again for ever";
        scripted.device().queues().finish(scripted.tick());
    }
    scripted.device().copies().destroy();
    scripted.device().chunks().destroy();
    EXPECT_EQ(scripted.driver.live_objects, 0u) << "leaked";
}

INSTANTIATE_TEST_SUITE_P(EachCall, LayerCopyFaults,
                         ::testing::Values(std::tuple{"CreateCommandPool", 1}, std::tuple{"AllocateCommandBuffers", 1},
                                           std::tuple{"AllocateCommandBuffers", 3}, std::tuple{"BeginCommandBuffer", 1},
                                           std::tuple{"BeginCommandBuffer", 3}, std::tuple{"EndCommandBuffer", 1},
                                           std::tuple{"EndCommandBuffer", 3}, std::tuple{"CreateBuffer", 1},
                                           std::tuple{"CreateBuffer", 2}, std::tuple{"AllocateMemory", 1},
                                           std::tuple{"AllocateMemory", 2}, std::tuple{"BindBufferMemory", 1},
                                           std::tuple{"BindBufferMemory", 2}, std::tuple{"MapMemory", 1},
                                           std::tuple{"MapMemory", 2}));

}    // namespace
}    // namespace lapwing::attach::vulkan_layer
