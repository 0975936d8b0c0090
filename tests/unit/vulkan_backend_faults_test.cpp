// The Vulkan backend on a scripted driver: queues without timestamps, lost devices, refusals, the end of its life.
#include "lapwing/vulkan_devices.hpp"
#include "unit/vulkan_backend_fixture.hpp"

namespace lapwing::testing {
namespace {

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
}    // namespace lapwing::testing
