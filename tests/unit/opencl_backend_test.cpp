// The OpenCL backend on a driver that lies, fails and is late.
#include "lapwing/opencl_backend.hpp"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>

#include "lapwing/clock.hpp"
#include "lapwing/device_ring.hpp"
#include "lapwing/level.hpp"
#include "lapwing/opencl_devices.hpp"
#include "unit/opencl_fake_driver.hpp"

namespace lapwing::testing {
namespace {

constexpr cl_ulong kT0 = 7'000'000'000;

struct OpenClBackendTest : ::testing::Test {
    FakeOpenCl driver;
    std::unique_ptr<OpenClBackend> backend;
    OpenClBackend::Queue queue;
    std::unique_ptr<DeviceRing<OpenClBackend>> ring;

    void SetUp() override { set_level(Level::kKernel); }
    void TearDown() override {
        set_level(Level::kOff);
        ring.reset();
        if (backend != nullptr) backend->shutdown();
    }
    void open() {
        auto made = OpenClBackend::create({.context = FakeOpenCl::context(),
                                           .device = FakeOpenCl::device(),
                                           .find_function = FakeOpenCl::find,
                                           .first_anchor_ns = 1'000'000});
        ASSERT_TRUE(made.ok()) << made.error().message;
        backend = std::move(made).value();
        auto opened = backend->open_queue(FakeOpenCl::queue());
        ASSERT_TRUE(opened.ok()) << opened.error().message;
        queue = *opened;
        ring = std::make_unique<DeviceRing<OpenClBackend>>(*backend);
        ASSERT_TRUE(ring->add_queue(queue, 1).ok());
    }
    void adopt(cl_ulong start, cl_ulong end) {
        EXPECT_TRUE(ring->adopt(0, driver.make_event({.queued = start, .start = start, .end = end}), 1));
    }
    std::vector<SpanRecord> harvest() {
        std::vector<SpanRecord> out(64);
        out.resize(ring->harvest(out));
        return out;
    }
    uint64_t lost(LossReason reason) { return ring->stats().lost[reason]; }
};

// field-cases A8: wgpu-profiler#64, chipStar#1549: an end a little before its begin is lost, not clamped.
TEST_F(OpenClBackendTest, ReversedTimesAreLostAndCounted) {
    open();
    adopt(kT0, kT0 - 1);
    adopt(kT0 + 10, kT0 + 30);
    const auto spans = harvest();
    ASSERT_EQ(spans.size(), 1u);
    EXPECT_EQ(spans[0].duration_ns, 20);
    EXPECT_EQ(lost(LossReason::kReversed), 1u);
}

// field-cases A5: chipStar#128: differences in ticks, converted last; near the top of 64 bits nothing overflows.
TEST_F(OpenClBackendTest, DurationsAreExactAtTheEndOfTheCountersRange) {
    open();
    const cl_ulong top = ~cl_ulong{0};
    adopt(top - 1000, top - 300);
    adopt(top - 200, 500);    // wrapped in between
    const auto spans = harvest();
    ASSERT_EQ(spans.size(), 2u);
    EXPECT_EQ(spans[0].duration_ns, 700);
    EXPECT_EQ(spans[1].duration_ns, 701);
}

TEST_F(OpenClBackendTest, ZeroTimesAreLost) {
    open();
    adopt(0, 0);
    EXPECT_TRUE(harvest().empty());
    EXPECT_EQ(lost(LossReason::kZeroStamp), 1u);
}

// rusticl (Mesa 22.3.6): profiles are 0, 1, 2, 3, and it says so by a resolution of 0.
TEST_F(OpenClBackendTest, ATimerWithoutResolutionIsNoTimer) {
    driver.resolution_ns = 0;
    open();
    EXPECT_FALSE(ring->info(0).supported);
    EXPECT_STREQ(ring->info(0).reason, "the driver states a timer resolution of 0 ns: its profiles are not times");
    EXPECT_FALSE(ring->adopt(0, driver.make_event({.queued = 1, .start = 2, .end = 3}), 1));
    EXPECT_EQ(lost(LossReason::kUnsupported), 1u);
}

TEST_F(OpenClBackendTest, AProfileThatRepeatsTheOneBeforeIsNotATime) {
    open();
    for (int i = 0; i < 4; ++i) adopt(kT0, kT0 + 500);
    EXPECT_EQ(harvest().size(), 1u) << "the first one may be true";
    EXPECT_EQ(lost(LossReason::kDriverError), 3u);
    EXPECT_EQ(backend->stats().nonsense, 3u);
}

TEST_F(OpenClBackendTest, ShortCommandsMayShareATickOfACoarseTimer) {
    driver.resolution_ns = 1000;
    open();
    adopt(kT0, kT0 + 1000);
    adopt(kT0, kT0 + 1000);
    EXPECT_EQ(harvest().size(), 2u);
    EXPECT_DOUBLE_EQ(ring->info(0).caps.resolution_ns, 1000);
}

TEST_F(OpenClBackendTest, ProfilesAreReadOfCompleteCommandsOnly) {
    open();
    cl_event const running = driver.make_event({.queued = kT0, .start = kT0, .end = kT0 + 5}, CL_RUNNING);
    ASSERT_TRUE(ring->adopt(0, running, 1));
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(harvest().empty());
    EXPECT_EQ(driver.at(running).references, 2);
    driver.at(running).status = CL_COMPLETE;
    EXPECT_EQ(harvest().size(), 1u);
    EXPECT_EQ(driver.reads_before_complete, 0u);
    EXPECT_EQ(driver.at(running).references, 1);
}

TEST_F(OpenClBackendTest, FailedCommandsAndUnreadableProfilesAreDriverErrors) {
    driver.queue_properties |= CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
    open();
    ASSERT_TRUE(ring->adopt(0, driver.make_event({.queued = kT0, .start = kT0, .end = kT0 + 5}, -14), 1));
    cl_event const mute = driver.make_event({.queued = kT0, .start = kT0, .end = kT0 + 5});
    driver.at(mute).profile_fails = true;
    ASSERT_TRUE(ring->adopt(0, mute, 1));
    EXPECT_TRUE(harvest().empty());
    EXPECT_EQ(lost(LossReason::kDriverError), 2u);
    EXPECT_EQ(backend->stats().failed_commands, 2u);
    EXPECT_EQ(backend->stats().events_held, 0u);
}

TEST_F(OpenClBackendTest, RefusedMarkersAreLost) {
    open();
    driver.markers_fail = true;
    ring->end(0, ring->begin(0, 1));
    EXPECT_EQ(lost(LossReason::kDriverError), 1u);
    EXPECT_EQ(backend->stats().refused, 1u);
}

TEST_F(OpenClBackendTest, ASlotThatIsGivenUpReleasesItsEventWhenItIsUsedAgain) {
    open();
    ASSERT_TRUE(backend->reserve(0, 1024));
    cl_event const first = driver.make_event({.queued = 1, .start = 1, .end = 2}, CL_RUNNING);
    cl_event const second = driver.make_event({.queued = kT0, .start = kT0, .end = kT0 + 9});
    ASSERT_TRUE(backend->adopt(queue, first, 10, 11));
    ASSERT_TRUE(backend->adopt(queue, second, 10, 11));
    EXPECT_EQ(driver.at(first).references, 1);
    std::array<Stamp, 2> out;
    backend->poll(std::array{10u, 11u}, out);    // the begin first
    EXPECT_EQ(out[0].state, StampState::kReady);
    EXPECT_EQ(out[0].ticks.value, kT0);
    EXPECT_EQ(out[1].ticks.value, kT0 + 9);
    EXPECT_EQ(driver.at(second).references, 1);
}

TEST_F(OpenClBackendTest, ShutdownReleasesWhatIsHeldAndRefusesMore) {
    open();
    cl_event const running = driver.make_event({.queued = kT0, .start = kT0, .end = kT0 + 5}, CL_RUNNING);
    ASSERT_TRUE(ring->adopt(0, running, 1));
    backend->shutdown();
    EXPECT_EQ(driver.at(running).references, 1);
    EXPECT_EQ(backend->stats().events_held, 0u);
    EXPECT_FALSE(ring->adopt(0, running, 1));
    EXPECT_TRUE(harvest().empty());
    EXPECT_EQ(lost(LossReason::kDriverError), 2u);
}

TEST_F(OpenClBackendTest, AQueueOfAnotherDeviceIsRefused) {
    driver.queue_device = FakeOpenCl::other_device();
    auto made = OpenClBackend::create(
        {.context = FakeOpenCl::context(), .device = FakeOpenCl::device(), .find_function = FakeOpenCl::find});
    ASSERT_TRUE(made.ok());
    const auto opened = (*made)->open_queue(FakeOpenCl::queue());
    ASSERT_FALSE(opened.ok());
    EXPECT_EQ(opened.error().code, Errc::kInvalidArgument);
    (*made)->shutdown();
}

TEST_F(OpenClBackendTest, MissingHandlesFunctionsAndLoadersAreNamed) {
    EXPECT_EQ(OpenClBackend::create({}).error().code, Errc::kInvalidArgument);
    driver.missing = "clEnqueueMarkerWithWaitList";
    const auto made = OpenClBackend::create(
        {.context = FakeOpenCl::context(), .device = FakeOpenCl::device(), .find_function = FakeOpenCl::find});
    ASSERT_FALSE(made.ok());
    EXPECT_EQ(made.error().code, Errc::kUnsupported);
    EXPECT_NE(made.error().message.find("clEnqueueMarkerWithWaitList"), std::string::npos);
    const auto listed = list_opencl_devices("libNoSuchOpenCL.so.9");
    ASSERT_FALSE(listed.ok());
    EXPECT_EQ(listed.error().code, Errc::kNotFound);
    EXPECT_NE(listed.error().message.find("ocl-icd-libopencl1"), std::string::npos);
}

// field-cases A14: OpenCL-CTS#1150, compute-runtime#400: no pair, a coarse one, a stale one.

TEST_F(OpenClBackendTest, ThePairOfTheDriverIsUsedWhereItWorks) {
    driver.device_timer_result = CL_SUCCESS;
    open();
    EXPECT_TRUE(ring->info(0).caps.calibrated);
    const HostNs before = host_now();
    const auto anchor = backend->calibrate(queue);
    const HostNs after = host_now();
    ASSERT_TRUE(anchor.ok());
    EXPECT_GE(anchor->host.value, before.value);
    EXPECT_LE(anchor->host.value, after.value);
    EXPECT_NEAR(static_cast<double>(anchor->device.value) - 5e9, static_cast<double>(anchor->host.value),
                static_cast<double>(anchor->uncertainty_ns));
}

TEST_F(OpenClBackendTest, ADeviceTimerThatStandsStillWidensTheUncertainty) {
    driver.device_timer_result = CL_SUCCESS;
    driver.device_times = {kT0};
    open();
    const HostNs before = host_now();
    const auto anchor = backend->calibrate(queue);
    const HostNs after = host_now();
    ASSERT_TRUE(anchor.ok());
    // It did not move for nearly the whole call, so it may be off by as much.
    EXPECT_GE(anchor->uncertainty_ns, (after.value - before.value) / 4);
}

TEST_F(OpenClBackendTest, WithoutAPairAMarkersQueuedTimeIsPairedWithTheHost) {
    open();    // the fake's QUEUED is the host's own time, so the anchor must be true to its uncertainty
    EXPECT_TRUE(ring->info(0).caps.calibrated);
    const auto anchor = backend->calibrate(queue);
    ASSERT_TRUE(anchor.ok()) << anchor.error().message;
    EXPECT_NEAR(static_cast<double>(anchor->device.value), static_cast<double>(anchor->host.value),
                static_cast<double>(anchor->uncertainty_ns));
    EXPECT_GT(anchor->uncertainty_ns, 0);
}

TEST_F(OpenClBackendTest, AMarkerThatHasNotRunGivesNoPairYet) {
    driver.marker_status = CL_SUBMITTED;
    open();
    EXPECT_FALSE(ring->info(0).caps.calibrated);
    EXPECT_STRNE(ring->info(0).caps.reason, "");
    EXPECT_EQ(backend->calibrate(queue).error().code, Errc::kExhausted);
}

TEST_F(OpenClBackendTest, QueuedTimesOfAnotherClockAreRefused) {
    driver.marker = {.queued = kT0, .start = 5, .end = 9};
    open();
    EXPECT_FALSE(ring->info(0).caps.calibrated);
    const auto anchor = backend->calibrate(queue);
    ASSERT_FALSE(anchor.ok());
    EXPECT_EQ(anchor.error().code, Errc::kUnsupported);
}

}    // namespace
}    // namespace lapwing::testing
