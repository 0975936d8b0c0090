// The Vulkan backend on a scripted driver: what it calls, and what it makes of faults.
#include "lapwing/vulkan_backend.hpp"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <numeric>
#include <vector>

#include "lapwing/vulkan_devices.hpp"
#include "unit/vulkan_fake_driver.hpp"

namespace lapwing {
namespace {

using testing::FakeCommand;
using testing::FakeDriver;

const auto kCommands = FakeDriver::handle<VkCommandBuffer>(0x100);
const auto kOtherCommands = FakeDriver::handle<VkCommandBuffer>(0x110);
const auto kFence = FakeDriver::handle<VkFence>(0x200);
const auto kOtherFence = FakeDriver::handle<VkFence>(0x210);

struct VulkanBackendTest : ::testing::Test {
    FakeDriver driver;
    std::unique_ptr<VulkanBackend> backend;
    VulkanBackend::Queue queue;

    void open(VulkanBackendOptions options = {}, uint32_t family = 0) {
        options.instance = FakeDriver::instance();
        options.physical_device = FakeDriver::physical_device();
        options.device = FakeDriver::device();
        options.get_instance_proc_addr = FakeDriver::instance_entry;
        options.instance_api_version = VK_API_VERSION_1_3;
        auto made = VulkanBackend::create(options);
        ASSERT_TRUE(made.ok()) << made.error().message;
        backend = std::move(made).value();
        queue = backend->open_queue(family).value();
        ASSERT_TRUE(backend->reserve(0, 1024));
    }
    // Records marks of these slots; the caller submits.
    void record(VkCommandBuffer commands, const std::vector<uint32_t>& slots) {
        driver.commands[commands].clear();
        ASSERT_TRUE(backend->begin_commands(queue, commands, static_cast<uint32_t>(slots.size())).ok());
        for (const uint32_t slot : slots) ASSERT_TRUE(backend->mark(queue, slot));
        backend->end_commands(queue);
    }
    Stamp poll(uint32_t slot) {
        std::array<Stamp, 1> out;
        backend->poll(std::array{slot}, out);
        return out[0];
    }
    uint64_t count(VkCommandBuffer commands, FakeCommand::Kind kind) {
        uint64_t n = 0;
        for (const FakeCommand& command : driver.commands[commands]) n += command.kind == kind ? 1 : 0;
        return n;
    }
};

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

// field-cases B7: gapid#2022, VulkanProfiler#8/#9 (device lost).
TEST_F(VulkanBackendTest, QueueWithoutTimestampsNeverGetsAStamp) {
    driver.families.push_back(driver.families[0]);
    driver.families[1].timestampValidBits = 0;
    open({}, 1);
    EXPECT_EQ(backend->caps(queue).valid_bits, 0u);
    EXPECT_STRNE(backend->caps(queue).reason, "");
    const Status begun = backend->begin_commands(queue, kCommands, 4);
    ASSERT_FALSE(begun.ok());
    EXPECT_EQ(begun.error().code, Errc::kUnsupported);
    EXPECT_EQ(begun.error().message, backend->caps(queue).reason);
    EXPECT_FALSE(backend->mark(queue, 0));
    backend->end_commands(queue);
    EXPECT_TRUE(driver.commands[kCommands].empty());
    EXPECT_EQ(driver.calls["CreateQueryPool"], 0u);
    EXPECT_EQ(backend->calibrate(queue).error().code, Errc::kUnsupported);
}

// field-cases F5: gapid#2022, blade.
TEST_F(VulkanBackendTest, LostDeviceIsFoundOutByPollAndNotTouchedAgain) {
    open();
    record(kCommands, {0});
    driver.execute(kCommands);
    backend->submitted(queue, {.fence = kFence});
    driver.signal(kFence);
    EXPECT_EQ(poll(0).state, StampState::kReady);
    record(kOtherCommands, {1});
    backend->submitted(queue, {.fence = kOtherFence});
    driver.fence_result = VK_ERROR_DEVICE_LOST;
    EXPECT_EQ(poll(1).state, StampState::kLost);
    EXPECT_EQ(poll(0).state, StampState::kReady) << "what was known before stays known";

    const uint64_t before = driver.total_calls();
    EXPECT_EQ(poll(1).state, StampState::kLost);
    EXPECT_EQ(backend->begin_commands(queue, kCommands, 1).error().code, Errc::kDeviceLost);
    EXPECT_FALSE(backend->mark(queue, 2));
    EXPECT_EQ(backend->calibrate(queue).error().code, Errc::kDeviceLost);
    EXPECT_TRUE(backend->shutdown().ok());
    backend.reset();
    EXPECT_EQ(driver.total_calls(), before);
}

TEST_F(VulkanBackendTest, DeviceLostByTheProgramsWordEndsAnOpenRecordingToo) {
    open();
    ASSERT_TRUE(backend->begin_commands(queue, kCommands, 4).ok());
    EXPECT_TRUE(backend->mark(queue, 0));
    backend->device_lost();
    const uint64_t before = driver.total_calls();
    EXPECT_FALSE(backend->mark(queue, 1));
    backend->end_commands(queue);
    EXPECT_EQ(poll(0).state, StampState::kLost);
    EXPECT_EQ(driver.total_calls(), before);
}

TEST_F(VulkanBackendTest, ShutdownRefusesWhileWorkIsInFlightAndLeavesNothingAfterIt) {
    open();
    record(kCommands, {0});
    EXPECT_EQ(backend->shutdown().error().code, Errc::kInvalidArgument);
    backend->submitted(queue, {.fence = kFence});
    EXPECT_EQ(backend->shutdown().error().code, Errc::kInvalidArgument);
    EXPECT_GT(driver.live_objects, 0u);
    driver.execute(kCommands);
    driver.signal(kFence);
    EXPECT_TRUE(backend->shutdown().ok());
    EXPECT_EQ(driver.live_objects, 0u);
    EXPECT_TRUE(backend->shutdown().ok());
    EXPECT_EQ(poll(0).state, StampState::kReady) << "results outlive the device objects";
    EXPECT_FALSE(backend->begin_commands(queue, kCommands, 1).ok());
}

// field-cases F3: rmm#2366, slang#10596 (handles destroyed after the driver is gone).
TEST_F(VulkanBackendTest, DestructorTouchesNoDriver) {
    open();
    record(kCommands, {0});
    backend->submitted(queue, {.fence = kFence});
    const uint64_t before = driver.total_calls();
    backend.reset();
    EXPECT_EQ(driver.total_calls(), before);
}

TEST_F(VulkanBackendTest, RefusedPoolOrMemoryIsAnErrorAndLeavesTheCommandsAlone) {
    open();
    driver.create_query_pool_result = VK_ERROR_OUT_OF_DEVICE_MEMORY;
    Status begun = backend->begin_commands(queue, kCommands, 4);
    EXPECT_EQ(begun.error().code, Errc::kDriver);
    EXPECT_EQ(begun.error().driver_code, VK_ERROR_OUT_OF_DEVICE_MEMORY);
    driver.create_query_pool_result = VK_SUCCESS;
    driver.allocate_memory_result = VK_ERROR_OUT_OF_DEVICE_MEMORY;
    for (int i = 0; i < 100; ++i) begun = backend->begin_commands(queue, kCommands, 4);
    EXPECT_EQ(begun.error().code, Errc::kDriver);
    EXPECT_FALSE(backend->mark(queue, 0));
    EXPECT_TRUE(driver.commands[kCommands].empty());
    driver.allocate_memory_result = VK_SUCCESS;
    EXPECT_TRUE(backend->begin_commands(queue, kCommands, 4).ok());
    backend->end_commands(queue);
    EXPECT_EQ(backend->stats().query_pools, 1u) << "refusals kept queries";
}

TEST_F(VulkanBackendTest, MissingDriverFunctionIsNamed) {
    driver.missing = {"vkCmdCopyQueryPoolResults"};
    const auto made = VulkanBackend::create({.instance = FakeDriver::instance(),
                                             .physical_device = FakeDriver::physical_device(),
                                             .device = FakeDriver::device(),
                                             .get_instance_proc_addr = FakeDriver::instance_entry});
    ASSERT_FALSE(made.ok());
    EXPECT_EQ(made.error().code, Errc::kUnsupported);
    EXPECT_EQ(made.error().message, "the driver lacks vkCmdCopyQueryPoolResults");
    EXPECT_EQ(VulkanBackend::create({}).error().code, Errc::kInvalidArgument);
}

TEST(VulkanDevices, MissingLoaderIsOneClearLineWithTheRemedy) {
    const auto devices = list_vulkan_devices("liblapwing_no_such_loader.so");
    ASSERT_FALSE(devices.ok());
    EXPECT_EQ(devices.error().code, Errc::kNotFound);
    EXPECT_EQ(devices.error().message,
              "the Vulkan loader liblapwing_no_such_loader.so could not be opened: install libvulkan1");
}

}    // namespace
}    // namespace lapwing
