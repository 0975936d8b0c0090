// What a device's timestamps are worth, as described by a scripted driver.
#include <gtest/gtest.h>
#include <time.h>

#include <cmath>
#include <limits>
#include <string>

#include "backends/vulkan/device_clock.hpp"
#include "unit/vulkan_fake_driver.hpp"

namespace lapwing::vulkan {
namespace {

using testing::FakeDriver;

EnabledFeatures with_calibration() {
    EnabledFeatures out;
    out.calibrated_timestamps = true;
    return out;
}

DeviceTraits describe(const EnabledFeatures& enabled = {}, uint32_t instance_api = VK_API_VERSION_1_3) {
    return describe_device(FakeDriver::instance_table(), FakeDriver::physical_device(), instance_api, enabled);
}

int64_t monotonic_ns() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// field-cases A6: wgpu#1907, MoltenVK#1438 and #1997 (period 0/0).
TEST(VulkanDeviceClock, UnusablePeriodMeansNoTimestampsWithTheReason) {
    FakeDriver driver;
    for (const float period :
         {0.0F, -1.0F, std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
        driver.period = period;
        const DeviceTraits traits = describe();
        EXPECT_FALSE(traits.period_usable) << period;
        EXPECT_EQ(traits.caps(0).valid_bits, 0u) << period;
        EXPECT_STRNE(traits.caps(0).reason, "") << period;
    }
}

TEST(VulkanDeviceClock, UsablePeriodsAreKeptExactly) {
    FakeDriver driver;
    for (const float period : {1.0F, 41.67F, 52.083F, 83.33F}) {
        driver.period = period;
        const Caps caps = describe().caps(0);
        EXPECT_EQ(caps.ns_per_tick, double{period});
        EXPECT_EQ(caps.resolution_ns, double{period});
        EXPECT_EQ(caps.valid_bits, 36u);
    }
}

// field-cases A4: Vulkan-Samples#1368 (a period, and yet no valid bits on this family).
TEST(VulkanDeviceClock, FamilyWithoutValidBitsIsUnsupportedAndOthersAreNot) {
    FakeDriver driver;
    driver.families.push_back(driver.families[0]);
    driver.families[1].timestampValidBits = 0;
    const DeviceTraits traits = describe();
    EXPECT_EQ(traits.caps(0).valid_bits, 36u);
    EXPECT_EQ(traits.caps(1).valid_bits, 0u);
    EXPECT_NE(std::string(traits.caps(1).reason).find("timestampValidBits"), std::string::npos);
    EXPECT_EQ(traits.caps(2).valid_bits, 0u);
}

// field-cases B7: gapid#2022, VulkanProfiler#8/#9.
TEST(VulkanDeviceClock, TransferOnlyFamilyIsUnsupportedEvenWithValidBits) {
    FakeDriver driver;
    driver.families[0].queueFlags = VK_QUEUE_TRANSFER_BIT;
    const Caps caps = describe().caps(0);
    EXPECT_EQ(caps.valid_bits, 0u);
    EXPECT_NE(std::string(caps.reason).find("neither graphics nor compute"), std::string::npos);
}

TEST(VulkanDeviceClock, LavapipeIsKnownByItsDriverIdAndByItsName) {
    FakeDriver driver;
    EXPECT_FALSE(describe().result_reads_block);
    EXPECT_FALSE(describe().wrong_after_render_pass);
    driver.driver_id = VK_DRIVER_ID_MESA_LLVMPIPE;
    EXPECT_TRUE(describe().result_reads_block);
    EXPECT_TRUE(describe().wrong_after_render_pass);
    driver.driver_id = VK_DRIVER_ID_MESA_RADV;
    driver.device_name = "llvmpipe (LLVM 15.0.6, 256 bits)";
    EXPECT_TRUE(describe().result_reads_block);
}

TEST(VulkanDeviceClock, DriverIsNamedAsItNamesItself) {
    FakeDriver driver;
    EXPECT_EQ(describe().driver, "fake 1.2.3");
    driver.driver_info.clear();
    EXPECT_EQ(describe().driver, "fake 7.8.9");
}

TEST(VulkanDeviceClock, InstanceOfVulkan10IsNotAskedNewerQuestions) {
    FakeDriver driver;
    EXPECT_EQ(describe({}, VK_API_VERSION_1_0).driver, "driver 7.8.9");
    EXPECT_EQ(driver.calls["GetPhysicalDeviceProperties2"], 0u);
}

// field-cases B5: ByroRedux#1478, dive#746 (vkResetQueryPool without the feature).
TEST(VulkanDeviceClock, FeaturesCountOnlyWhereTheProgramEnabledThem) {
    VkDeviceCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
    EXPECT_FALSE(EnabledFeatures::from(info).host_query_reset);

    VkPhysicalDeviceVulkan12Features core12{};
    core12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
    VkPhysicalDeviceVulkan13Features core13{};
    core13.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES;
    core13.pNext = &core12;
    info.pNext = &core13;
    EXPECT_FALSE(EnabledFeatures::from(info).host_query_reset) << "present in the chain, not enabled";
    core12.hostQueryReset = VK_TRUE;
    core12.timelineSemaphore = VK_TRUE;
    core13.synchronization2 = VK_TRUE;
    const EnabledFeatures core = EnabledFeatures::from(info);
    EXPECT_TRUE(core.host_query_reset && core.timeline_semaphore && core.synchronization2);

    VkPhysicalDeviceHostQueryResetFeatures reset{};
    reset.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_HOST_QUERY_RESET_FEATURES;
    reset.hostQueryReset = VK_TRUE;
    info.pNext = &reset;
    EXPECT_TRUE(EnabledFeatures::from(info).host_query_reset);
    EXPECT_FALSE(EnabledFeatures::from(info).timeline_semaphore);
}

TEST(VulkanDeviceClock, EitherCalibrationExtensionCounts) {
    VkDeviceCreateInfo info{};
    const char* names[] = {"VK_KHR_calibrated_timestamps", "VK_EXT_calibrated_timestamps", "VK_EXT_other"};
    info.enabledExtensionCount = 1;
    for (const char*& name : names) {
        info.ppEnabledExtensionNames = &name;
        EXPECT_EQ(EnabledFeatures::from(info).calibrated_timestamps, std::string(name) != "VK_EXT_other") << name;
    }
}

TEST(VulkanCalibration, IsUnsupportedWithAReasonWhereItWasNotEnabled) {
    FakeDriver driver;
    const DeviceTraits traits = describe();
    const auto anchor = calibrate(FakeDriver::device_table(), FakeDriver::device(), traits);
    ASSERT_FALSE(anchor.ok());
    EXPECT_EQ(anchor.error().code, Errc::kUnsupported);
    EXPECT_NE(anchor.error().message.find("not enabled"), std::string::npos);
    EXPECT_EQ(driver.calls["GetCalibratedTimestampsEXT"], 0u);
}

TEST(VulkanCalibration, IsUnsupportedWithoutAHostClockThatWeKnow) {
    FakeDriver driver;
    driver.domains = {VK_TIME_DOMAIN_DEVICE_EXT, VK_TIME_DOMAIN_QUERY_PERFORMANCE_COUNTER_EXT};
    EXPECT_FALSE(describe(with_calibration()).calibrated);
    driver.domains = {VK_TIME_DOMAIN_CLOCK_MONOTONIC_EXT};
    EXPECT_FALSE(describe(with_calibration()).calibrated);
}

TEST(VulkanCalibration, UncertaintyIsTheDriversDeviationAndHalfOfTheBracket) {
    FakeDriver driver;
    driver.next_tick = 4711;
    const DeviceTraits traits = describe(with_calibration());
    EXPECT_TRUE(traits.calibrated);
    EXPECT_TRUE(traits.caps(0).calibrated);
    const int64_t before = monotonic_ns();
    const auto anchor = calibrate(FakeDriver::device_table(), FakeDriver::device(), traits);
    const int64_t after = monotonic_ns();
    ASSERT_TRUE(anchor.ok());
    EXPECT_EQ(anchor->device.value, 4711u);
    EXPECT_GE(anchor->host.value, before);
    EXPECT_LE(anchor->host.value, after);
    EXPECT_GE(anchor->uncertainty_ns, 25);
    EXPECT_LE(anchor->uncertainty_ns, 25 + (after - before + 1) / 2);
}

// field-cases A13: MoltenVK#1713, tracy#1393 (slow calibration calls).
TEST(VulkanCalibration, SlowDriverCostsAFewTriesAndTheBracketIsInTheUncertainty) {
    FakeDriver driver;
    driver.calibrate_takes_ns = 2'000'000;
    const auto anchor = calibrate(FakeDriver::device_table(), FakeDriver::device(), describe(with_calibration()));
    ASSERT_TRUE(anchor.ok());
    EXPECT_GE(anchor->uncertainty_ns, 25 + 1'000'000);
    EXPECT_LE(driver.calls["GetCalibratedTimestampsEXT"], 8u);
}

TEST(VulkanCalibration, HostTimeOfAnotherClockIsReplacedByTheBracket) {
    FakeDriver driver;
    driver.host_time_error_ns = 11'850'000'000;    // blade#388
    const int64_t before = monotonic_ns();
    const auto anchor = calibrate(FakeDriver::device_table(), FakeDriver::device(), describe(with_calibration()));
    const int64_t after = monotonic_ns();
    ASSERT_TRUE(anchor.ok());
    EXPECT_GE(anchor->host.value, before);
    EXPECT_LE(anchor->host.value, after);
}

TEST(VulkanCalibration, RawMonotonicClockIsUsedThroughTheBracketOnly) {
    FakeDriver driver;
    driver.domains = {VK_TIME_DOMAIN_DEVICE_EXT, VK_TIME_DOMAIN_CLOCK_MONOTONIC_RAW_EXT};
    driver.host_time_error_ns = 5'000;    // the raw clock is near, and still another one
    const DeviceTraits traits = describe(with_calibration());
    ASSERT_TRUE(traits.calibrated);
    EXPECT_EQ(traits.host_domain, VK_TIME_DOMAIN_CLOCK_MONOTONIC_RAW_EXT);
    const int64_t before = monotonic_ns();
    const auto anchor = calibrate(FakeDriver::device_table(), FakeDriver::device(), traits);
    const int64_t after = monotonic_ns();
    ASSERT_TRUE(anchor.ok());
    EXPECT_GE(anchor->host.value, before);
    EXPECT_LE(anchor->host.value, after);
}

TEST(VulkanCalibration, DriverErrorsAreReportedWithTheDriversCode) {
    FakeDriver driver;
    driver.calibrate_result = VK_ERROR_OUT_OF_HOST_MEMORY;
    const DeviceTraits traits = describe(with_calibration());
    auto anchor = calibrate(FakeDriver::device_table(), FakeDriver::device(), traits);
    ASSERT_FALSE(anchor.ok());
    EXPECT_EQ(anchor.error().code, Errc::kDriver);
    EXPECT_EQ(anchor.error().driver_code, VK_ERROR_OUT_OF_HOST_MEMORY);
    EXPECT_EQ(driver.calls["GetCalibratedTimestampsEXT"], 1u);
    driver.calibrate_result = VK_ERROR_DEVICE_LOST;
    anchor = calibrate(FakeDriver::device_table(), FakeDriver::device(), traits);
    EXPECT_EQ(anchor.error().code, Errc::kDeviceLost);
}

TEST(VulkanEntryPoints, SuffixedNameIsUsedWhereTheCoreNameIsMissing) {
    FakeDriver driver;    // offers vkWaitSemaphoresKHR and not vkWaitSemaphores
    const DeviceTable table = FakeDriver::device_table();
    EXPECT_NE(table.WaitSemaphores, nullptr);
    EXPECT_EQ(table.SignalSemaphore, nullptr);
    driver.missing = {"vkCreateQueryPool"};
    EXPECT_EQ(FakeDriver::device_table().CreateQueryPool, nullptr);
}

}    // namespace
}    // namespace lapwing::vulkan
