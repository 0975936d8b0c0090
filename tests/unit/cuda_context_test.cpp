// Contexts: whose they are, and what happens when they go, with spans in flight.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "lapwing/device_ring.hpp"
#include "unit/cuda_rig.hpp"

namespace lapwing::testing {
namespace {

using ::testing::HasSubstr;

TEST(CudaContext, WithoutOneCreateSaysWhatToGive) {
    FakeCuda fake;
    const auto made = CudaBackend::create({.find_function = FakeCuda::find});
    ASSERT_FALSE(made.ok());
    EXPECT_EQ(made.error().code, Errc::kInvalidArgument);
    EXPECT_THAT(made.error().message, HasSubstr("primary"));
}

TEST(CudaContext, ThePrimaryOneIsHeldUntilShutdown) {
    FakeCuda fake({.devices = 2});
    auto made = CudaBackend::create({.primary_device = 1, .find_function = FakeCuda::find});
    ASSERT_TRUE(made.ok()) << made.error().message;
    EXPECT_EQ(fake.primary_references(1), 1);
    EXPECT_EQ(fake.primary_references(0), 0);
    (*made)->shutdown();
    (*made)->shutdown();
    EXPECT_EQ(fake.primary_references(1), 0);
    EXPECT_EQ(fake.live_events(), 0u);
    EXPECT_EQ(fake.misuses(), std::vector<std::string>{});
    EXPECT_FALSE(CudaBackend::create({.primary_device = 7, .find_function = FakeCuda::find}).ok());
}

TEST(CudaContext, EachContextAndDeviceHasABackendOfItsOwn) {
    CudaRig rig({.devices = 2});
    CUctx_st* const second = rig.fake.make_context(1);
    CUstream_st* const there = rig.fake.make_stream(second);
    const auto refused = rig.backend->open_queue(there);
    ASSERT_FALSE(refused.ok());
    EXPECT_THAT(refused.error().message, HasSubstr("another context"));

    CudaBackendOptions options = rig.backend_options();
    options.context = second;
    auto other = CudaBackend::create(options).value();
    CudaBackend::Queue queue = other->open_queue(there).value();
    CudaBackend::Queue first = rig.queue_on(rig.fake.make_stream(rig.context));
    ASSERT_TRUE(other->reserve(0, 1));
    ASSERT_TRUE(rig.backend->reserve(0, 1));
    EXPECT_TRUE(other->mark(queue, 0));    // the first context is current all the while
    EXPECT_TRUE(rig.backend->mark(first, 0));
    rig.fake.advance(1'000);
    const uint32_t slot = 0;
    Stamp stamp;
    other->poll({&slot, 1}, {&stamp, 1});
    EXPECT_EQ(stamp.state, StampState::kReady);
    EXPECT_EQ(rig.poll(0).state, StampState::kReady);
    other->shutdown();
    rig.expect_clean_end();
}

TEST(CudaContext, TheDefaultStreamOfAnotherContextIsRefusedAndNothingIsLostByIt) {
    CudaRig rig;
    CudaBackend::Queue queue = rig.queue_on(FakeCuda::legacy());
    ASSERT_TRUE(rig.backend->reserve(0, 1));
    CUctx_st* const second = rig.fake.make_context();
    rig.fake.make_current(second);
    EXPECT_FALSE(rig.backend->mark(queue, 0));
    rig.fake.make_current(rig.context);
    EXPECT_TRUE(rig.backend->mark(queue, 0));
    rig.expect_clean_end();
}

TEST(CudaContext, StreamsMayGoWithSpansInFlight) {
    CudaRig rig;
    CUstream_st* const stream = rig.fake.make_stream(rig.context);
    CudaBackend::Queue queue = rig.queue_on(stream);
    ASSERT_TRUE(rig.backend->reserve(0, 3));
    ASSERT_TRUE(rig.backend->mark(queue, 0));
    rig.fake.work(stream, 500'000);
    ASSERT_TRUE(rig.backend->mark(queue, 1));
    rig.backend->close_queue(queue);
    rig.fake.destroy_stream(stream);
    EXPECT_FALSE(rig.backend->mark(queue, 2));
    EXPECT_FALSE(rig.backend->is_capturing(queue));
    rig.fake.advance(1'000'000);
    EXPECT_EQ(rig.poll(1).ticks.value - rig.poll(0).ticks.value, 500'000u - 0u + 0u);
    rig.expect_clean_end();
}

// A stream that is destroyed without close_queue(): the driver's first answer is the last one asked for.
TEST(CudaContext, ADestroyedStreamIsAskedOnceAtMost) {
    CudaRig rig;
    CUstream_st* const stream = rig.fake.make_stream(rig.context);
    CudaBackend::Queue queue = rig.queue_on(stream);
    ASSERT_TRUE(rig.backend->reserve(0, 1));
    rig.fake.destroy_stream(stream);
    for (int i = 0; i < 5; ++i) {
        EXPECT_FALSE(rig.backend->is_capturing(queue));
        EXPECT_FALSE(rig.backend->mark(queue, 0));
    }
    EXPECT_EQ(rig.fake.misuses().size(), 1u);
    EXPECT_TRUE(rig.backend->health().ok());
}

TEST(CudaContext, DestroyedWithSpansInFlightItIsNotTouchedAgain) {
    CudaRig rig;
    set_level(Level::kKernel);
    CUstream_st* const stream = rig.fake.make_stream(rig.context);
    DeviceRing<CudaBackend> ring(*rig.backend, {.now = FakeCuda::host_clock, .now_context = &rig.fake});
    const uint32_t queue = ring.add_queue(rig.queue_on(stream), 1).value();
    for (SiteId site = 1; site <= 10; ++site) ring.end(queue, ring.begin(queue, site));
    rig.fake.destroy_context(rig.context);
    std::vector<SpanRecord> out(32);
    EXPECT_EQ(ring.harvest(out), 0u);
    EXPECT_EQ(ring.stats().lost[LossReason::kDeviceLost], 10u);
    EXPECT_EQ(ring.stats().in_flight, 0u);
    const Status health = rig.backend->health();
    ASSERT_FALSE(health.ok());
    EXPECT_EQ(health.error().code, Errc::kDeviceLost);
    EXPECT_THAT(health.error().message, HasSubstr("cuCtxPushCurrent"));
    const uint64_t calls = rig.fake.calls();
    ring.end(queue, ring.begin(queue, 11));
    EXPECT_EQ(ring.harvest(out), 0u);
    EXPECT_FALSE(rig.backend->reserve(8192, 8));
    EXPECT_FALSE(rig.backend->open_queue(stream).ok());
    rig.backend->shutdown();
    EXPECT_EQ(rig.fake.calls(), calls);
    EXPECT_EQ(rig.fake.misuses(), std::vector<std::string>{});
    set_level(Level::kOff);
}

// field-cases F5: the error stays with the context; the profiler stops.
TEST(CudaContext, AfterAKernelCrashedEverythingIsLostForOneReason) {
    for (const int code : {700, 702, 709, 710, 714, 719, 214, 999}) {
        CudaRig rig;
        CudaBackend::Queue queue = rig.queue_on(rig.fake.make_stream(rig.context));
        ASSERT_TRUE(rig.backend->reserve(0, 3));
        ASSERT_TRUE(rig.backend->mark(queue, 0));
        ASSERT_TRUE(rig.backend->mark(queue, 1));
        rig.fake.advance(1'000);
        EXPECT_EQ(rig.poll(0).state, StampState::kReady);
        rig.fake.poison(rig.context, code);
        EXPECT_EQ(rig.poll(1).state, StampState::kLost) << code;
        EXPECT_EQ(rig.poll(0).state, StampState::kReady) << "a result that was there is gone";
        EXPECT_EQ(rig.backend->health().error().driver_code, code);
        const uint64_t calls = rig.fake.calls();
        EXPECT_FALSE(rig.backend->mark(queue, 2));
        EXPECT_EQ(rig.poll(1).state, StampState::kLost);
        EXPECT_EQ(rig.backend->calibrate(queue).error().code, Errc::kDeviceLost);
        rig.backend->shutdown();
        EXPECT_EQ(rig.fake.calls(), calls) << code;
    }
}

// field-cases F3, F7: what is left is leaked on purpose.
TEST(CudaContext, TheDestructorCallsNoDriver) {
    FakeCuda fake({.devices = 2});
    auto backend = CudaBackend::create({.primary_device = 0, .find_function = FakeCuda::find}).value();
    ASSERT_TRUE(backend->reserve(0, 8));
    const uint64_t calls = fake.calls();
    fake.unload();
    backend.reset();
    EXPECT_EQ(fake.calls(), calls);
    EXPECT_EQ(fake.misuses(), std::vector<std::string>{});
}

TEST(CudaContext, ShutdownAfterTheDriverIsGoneStopsAtTheFirstAnswer) {
    FakeCuda fake;
    auto backend = CudaBackend::create({.primary_device = 0, .find_function = FakeCuda::find}).value();
    ASSERT_TRUE(backend->reserve(0, 8));
    fake.unload();
    const uint64_t calls = fake.calls();
    backend->shutdown();
    EXPECT_EQ(fake.calls() - calls, 1u);
    EXPECT_THAT(backend->health().error().message, HasSubstr("unloaded"));
}

TEST(CudaContext, WhatWasPendingHasFailedAfterShutdown) {
    CudaRig rig;
    CUstream_st* const stream = rig.fake.make_stream(rig.context);
    CudaBackend::Queue queue = rig.queue_on(stream);
    ASSERT_TRUE(rig.backend->reserve(0, 2));
    rig.fake.hold(stream, true);
    ASSERT_TRUE(rig.backend->mark(queue, 0));
    EXPECT_EQ(rig.poll(0).state, StampState::kPending);
    rig.expect_clean_end();
    EXPECT_EQ(rig.poll(0).state, StampState::kFailed);
    EXPECT_FALSE(rig.backend->mark(queue, 1));
    EXPECT_EQ(rig.backend->calibrate(queue).error().code, Errc::kUnsupported);
}

TEST(CudaContext, AnyThreadMayHarvestAndIsLeftAsItWas) {
    CudaRig rig;
    CudaBackend::Queue queue = rig.queue_on(rig.fake.make_stream(rig.context));
    ASSERT_TRUE(rig.backend->reserve(0, 1));
    ASSERT_TRUE(rig.backend->mark(queue, 0));
    rig.fake.advance(1'000);
    std::thread([&] {    // no context is current here
        EXPECT_EQ(rig.poll(0).state, StampState::kReady);
        EXPECT_EQ(rig.fake.context_depth(), 0u);
    })
        .join();
    rig.expect_clean_end();
}

}    // namespace
}    // namespace lapwing::testing
