// The Vulkan backend on a scripted driver: what it calls, and when a stamp is there.
#include <numeric>
#include <vector>

#include "unit/vulkan_backend_fixture.hpp"

namespace lapwing::testing {
namespace {

TEST_F(VulkanBackendTest, StampsArePendingUntilTheFenceIsSignalledAndThenExact) {
    open();
    record(kCommands, {5, 6});
    EXPECT_EQ(poll(5).state, StampState::kPending);
    backend->submitted(queue, {.fence = kFence});
    EXPECT_EQ(poll(5).state, StampState::kPending);
    driver.execute(kCommands);
    EXPECT_EQ(poll(5).state, StampState::kPending) << "completion is what the fence says";
    driver.signal(kFence);
    EXPECT_EQ(poll(5).state, StampState::kReady);
    EXPECT_EQ(poll(5).ticks.value, 1000u);
    EXPECT_EQ(poll(6).ticks.value, 1100u);
}

TEST_F(VulkanBackendTest, PollNeverReadsAQueryPool) {
    open();
    record(kCommands, {0, 1, 2});
    driver.execute(kCommands);
    backend->submitted(queue, {.fence = kFence});
    poll(0);
    driver.signal(kFence);
    EXPECT_EQ(poll(2).state, StampState::kReady);
    EXPECT_EQ(driver.calls["GetQueryPoolResults"], 0u);
}

TEST_F(VulkanBackendTest, MarkIsOneDriverCall) {
    open();
    ASSERT_TRUE(backend->begin_commands(queue, kCommands, 8).ok());
    const uint64_t before = driver.total_calls();
    EXPECT_TRUE(backend->mark(queue, 0));
    EXPECT_EQ(driver.total_calls(), before + 1);
    EXPECT_EQ(driver.calls["CmdWriteTimestamp"], 1u);
    backend->end_commands(queue);
}

TEST_F(VulkanBackendTest, AnyNonZeroAvailabilityIsReady) {
    driver.availability = 2;    // SwiftShader
    open();
    record(kCommands, {0});
    driver.execute(kCommands);
    backend->submitted(queue, {.fence = kFence});
    driver.signal(kFence);
    EXPECT_EQ(poll(0).state, StampState::kReady);
}

TEST_F(VulkanBackendTest, CopiesAreMadeVisibleToTheHost) {
    open();
    record(kCommands, {0, 1});
    ASSERT_GE(driver.commands[kCommands].size(), 2u);
    EXPECT_EQ(driver.commands[kCommands].rbegin()[1].kind, FakeCommand::Kind::kCopy);
    EXPECT_EQ(driver.commands[kCommands].back().kind, FakeCommand::Kind::kBarrier);
}

TEST_F(VulkanBackendTest, CompleteWorkWithoutAResultHasFailedAndIsNotZero) {
    open();
    driver.writes_results = false;
    record(kCommands, {0});
    driver.execute(kCommands);
    backend->submitted(queue, {.fence = kFence});
    driver.signal(kFence);
    EXPECT_EQ(poll(0).state, StampState::kFailed);
    EXPECT_EQ(backend->stats().failed_marks, 1u);
}

TEST_F(VulkanBackendTest, ResultOfAnEarlierRecordingDoesNotAnswerForALaterOne) {
    open();
    record(kCommands, {0});
    driver.execute(kCommands);
    backend->submitted(queue, {.fence = kFence});
    driver.signal(kFence);
    EXPECT_EQ(poll(0).state, StampState::kReady);
    driver.writes_results = false;    // the same memory again, and nothing written to it
    record(kOtherCommands, {0});
    backend->submitted(queue, {.fence = kOtherFence});
    driver.execute(kOtherCommands);
    driver.signal(kOtherFence);
    EXPECT_EQ(poll(0).state, StampState::kFailed);
}

TEST_F(VulkanBackendTest, SlotGivenUpAndMarkedAgainGetsTheNewTime) {
    open();
    record(kCommands, {7});
    backend->submitted(queue, {.fence = kFence});
    record(kOtherCommands, {7});
    backend->submitted(queue, {.fence = kOtherFence});
    driver.execute(kCommands);
    driver.signal(kFence);
    EXPECT_EQ(poll(7).state, StampState::kPending) << "the old result is not the new mark's";
    driver.execute(kOtherCommands);
    driver.signal(kOtherFence);
    EXPECT_EQ(poll(7).ticks.value, 1100u);
}

TEST_F(VulkanBackendTest, LaterFenceCompletesEarlierSubmissionsWithoutOne) {
    open();
    record(kCommands, {0});
    backend->submitted(queue, {});
    record(kOtherCommands, {1});
    backend->submitted(queue, {.fence = kFence});
    driver.execute(kCommands);
    driver.execute(kOtherCommands);
    EXPECT_EQ(poll(0).state, StampState::kPending);
    driver.signal(kFence);
    EXPECT_EQ(poll(0).state, StampState::kReady);
    EXPECT_EQ(poll(1).state, StampState::kReady);
}

TEST_F(VulkanBackendTest, TimelineValueCompletesOnlyWhatItCovers) {
    open();
    const auto timeline = FakeDriver::handle<VkSemaphore>(0x300);
    record(kCommands, {0});
    backend->submitted(queue, {.timeline = timeline, .value = 1});
    record(kOtherCommands, {1});
    backend->submitted(queue, {.timeline = timeline, .value = 2});
    driver.execute(kCommands);
    driver.timeline_value = 1;
    EXPECT_EQ(poll(0).state, StampState::kReady);
    EXPECT_EQ(poll(1).state, StampState::kPending);
    driver.execute(kOtherCommands);
    driver.timeline_value = 7;
    EXPECT_EQ(poll(1).state, StampState::kReady);
}

TEST_F(VulkanBackendTest, ReleasedFenceIsCompleteAndNotAskedAgain) {
    open();
    record(kCommands, {0});
    driver.execute(kCommands);
    backend->submitted(queue, {.fence = kFence});
    backend->release_fence(kFence);
    EXPECT_EQ(poll(0).state, StampState::kReady);
    EXPECT_EQ(driver.calls["GetFenceStatus"], 0u);
}

TEST_F(VulkanBackendTest, CompletedMakesEverythingOfTheQueueReadable) {
    open();
    record(kCommands, {0});
    driver.execute(kCommands);
    backend->submitted(queue, {});
    EXPECT_EQ(poll(0).state, StampState::kPending);
    backend->completed(queue);
    EXPECT_EQ(poll(0).state, StampState::kReady);
}

TEST_F(VulkanBackendTest, DiscardedRecordingFailsItsSlotsAndFreesItsQueries) {
    open();
    for (int i = 0; i < 1000; ++i) {
        record(kCommands, {3});
        backend->discarded(queue);
        ASSERT_EQ(poll(3).state, StampState::kFailed);
    }
    EXPECT_EQ(backend->stats().query_pools, 1u);
}

TEST_F(VulkanBackendTest, QueriesAreReusedOnceTheirResultsAreIn) {
    open();
    for (uint64_t i = 0; i < 1000; ++i) {
        record(kCommands, {0, 1, 2, 3});
        driver.execute(kCommands);
        backend->submitted(queue, {.fence = kFence});
        driver.signal(kFence);
        ASSERT_EQ(poll(3).ticks.value, 1000 + 400 * i + 300);
    }
    EXPECT_EQ(backend->stats().query_pools, 1u);
    EXPECT_EQ(backend->stats().marks, 4000u);
}

TEST_F(VulkanBackendTest, MarksBeyondWhatWasReservedAreRefusedAndCounted) {
    open();
    EXPECT_FALSE(backend->mark(queue, 0)) << "no recording is open";
    ASSERT_TRUE(backend->begin_commands(queue, kCommands, 2).ok());
    EXPECT_TRUE(backend->mark(queue, 0));
    EXPECT_FALSE(backend->mark(queue, 1u << 20)) << "never reserved";
    EXPECT_TRUE(backend->mark(queue, 1));
    EXPECT_FALSE(backend->mark(queue, 2));
    backend->end_commands(queue);
    EXPECT_EQ(backend->stats().refused_marks, 3u);
    EXPECT_EQ(backend->stats().marks, 2u);
}

TEST_F(VulkanBackendTest, OnlyReservedSlotsHaveAnAnswer) {
    open();
    EXPECT_EQ(poll(1u << 20).state, StampState::kFailed);
    EXPECT_TRUE(backend->reserve((1u << 20) - 1, 2));
    EXPECT_EQ(poll((1u << 20) - 1).state, StampState::kPending);
    EXPECT_EQ(poll(1u << 20).state, StampState::kPending);
    EXPECT_FALSE(backend->reserve((1u << 24) - 1, 2));
    EXPECT_FALSE(backend->reserve(0xffff'ffff, 0xffff'ffff));
}

TEST_F(VulkanBackendTest, LongRecordingSpansSeveralPoolsAndKeepsItsOrder) {
    open();
    std::vector<uint32_t> slots(1000);
    std::iota(slots.begin(), slots.end(), 0u);
    for (int i = 0; i < 5; ++i) {    // 5 x 16 chunks: the fifth begins in one pool and ends in the next
        const auto commands = FakeDriver::handle<VkCommandBuffer>(0x1000 + 0x10 * i);
        const uint64_t base = driver.next_tick;
        record(commands, slots);
        driver.execute(commands);
        backend->submitted(queue, {});
        if (i < 4) continue;
        EXPECT_EQ(backend->stats().query_pools, 2u);
        backend->completed(queue);
        for (uint32_t slot = 0; slot < 1000; ++slot) ASSERT_EQ(poll(slot).ticks.value, base + 100 * slot);
    }
}

TEST_F(VulkanBackendTest, OnlyWrittenQueriesAreCopied) {
    open();
    for (int i = 0; i < 4; ++i) record(FakeDriver::handle<VkCommandBuffer>(0x1000 + 0x10 * i), {0});
    // The rest of the first pool and the beginning of the second one, and a single mark.
    ASSERT_TRUE(backend->begin_commands(queue, kCommands, 5000).ok());
    EXPECT_TRUE(backend->mark(queue, 1));
    backend->end_commands(queue);
    EXPECT_EQ(backend->stats().query_pools, 2u);
    EXPECT_EQ(count(kCommands, FakeCommand::Kind::kReset), 2u);
    EXPECT_EQ(count(kCommands, FakeCommand::Kind::kCopy), 1u);
}

// field-cases B5: ByroRedux#1478, dive#746.
TEST_F(VulkanBackendTest, HostResetIsUsedOnlyWhereTheFeatureIsEnabled) {
    open({.prefer_host_reset = true});
    record(kCommands, {0});
    EXPECT_EQ(driver.calls["ResetQueryPool"], 0u);
    EXPECT_EQ(count(kCommands, FakeCommand::Kind::kReset), 1u);

    VkPhysicalDeviceVulkan12Features features{};
    features.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
    features.hostQueryReset = VK_TRUE;
    VkDeviceCreateInfo info{};
    info.pNext = &features;
    open({.device_create_info = &info, .prefer_host_reset = true});
    record(kCommands, {0});
    EXPECT_EQ(driver.calls["ResetQueryPool"], 1u);
    EXPECT_EQ(count(kCommands, FakeCommand::Kind::kReset), 0u);
}

}    // namespace
}    // namespace lapwing::testing
