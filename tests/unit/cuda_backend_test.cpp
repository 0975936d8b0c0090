// What a CUDA program must not notice, and which stream is stamped.
#include "lapwing/cuda_backend.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "lapwing/cuda_devices.hpp"
#include "lapwing/device_ring.hpp"
#include "unit/cuda_rig.hpp"

namespace lapwing::testing {
namespace {

using cuda::kCaptureModeGlobal;
using cuda::kCaptureModeRelaxed;

// field-cases B15: quadrants#407, pie#347.
TEST(CudaBackend, TheNullStreamIsRefusedAndTheDefaultOneIsSaidOnPurpose) {
    CudaRig rig;
    const auto refused = rig.backend->open_queue(nullptr);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, Errc::kInvalidArgument);
    EXPECT_THAT(refused.error().message, ::testing::HasSubstr("0x1"));
    EXPECT_TRUE(rig.backend->open_queue(FakeCuda::legacy()).ok());
    EXPECT_TRUE(rig.backend->open_queue(FakeCuda::per_thread()).ok());
    rig.expect_clean_end();
}

// The same: work on a non-blocking stream passes events on the default stream by.
TEST(CudaBackend, OnlyTheStreamThatWasGivenIsStamped) {
    CudaRig rig;
    CUstream_st* const stream = rig.fake.make_stream(rig.context);
    CudaBackend::Queue queue = rig.queue_on(stream);
    CudaBackend::Queue default_queue = rig.queue_on(FakeCuda::legacy());
    ASSERT_TRUE(rig.backend->reserve(0, 4));
    ASSERT_TRUE(rig.backend->mark(queue, 0));
    ASSERT_TRUE(rig.backend->mark(default_queue, 2));
    rig.fake.work(stream, 1'000'000);
    ASSERT_TRUE(rig.backend->mark(queue, 1));
    ASSERT_TRUE(rig.backend->mark(default_queue, 3));
    EXPECT_EQ(rig.fake.records_on(stream), 2u);
    rig.fake.advance(2'000'000);
    const uint64_t span = rig.poll(1).ticks.value - rig.poll(0).ticks.value;
    const uint64_t passed_by = rig.poll(3).ticks.value - rig.poll(2).ticks.value;
    EXPECT_GE(span, 1'000'000u);
    EXPECT_LT(passed_by, 10'000u) << "the stand-in does not show the hazard";
    rig.expect_clean_end();
}

TEST(CudaBackend, TheOwnStreamDelaysNobody) {
    CudaRig rig;
    CUstream_st* const stream = rig.fake.make_stream(rig.context, true);
    rig.fake.work(FakeCuda::legacy(), 3'000'000'000);    // blocking streams wait for it, ours does not
    EXPECT_TRUE(rig.backend->calibrate(*std::make_unique<CudaBackend::Queue>(rig.queue_on(stream))).ok());
    rig.expect_clean_end();
}

// field-cases B21: pytorch#158352.
TEST(CudaBackend, HarvestingOnOneThreadSparesACaptureOnAnother) {
    for (const int mode : {kCaptureModeGlobal, cuda::kCaptureModeThreadLocal, kCaptureModeRelaxed}) {
        CudaRig rig;
        CUstream_st* const timed = rig.fake.make_stream(rig.context);
        CUstream_st* const captured = rig.fake.make_stream(rig.context, true);
        CudaBackend::Queue queue = rig.queue_on(timed);
        ASSERT_TRUE(rig.backend->reserve(0, 64));
        rig.fake.begin_capture(captured, mode);
        std::thread harvester([&] {
            rig.fake.make_current(rig.context);
            for (uint32_t slot = 0; slot < 64; ++slot) {
                EXPECT_TRUE(rig.backend->mark(queue, slot));
                rig.fake.advance(60'000'000);
                EXPECT_EQ(rig.poll(slot).state, StampState::kReady);
            }
            EXPECT_TRUE(rig.backend->calibrate(queue).ok());
            EXPECT_TRUE(rig.backend->reserve(64, 64));
            EXPECT_EQ(rig.fake.capture_mode(), kCaptureModeGlobal) << "the thread's own mode is not given back";
            EXPECT_EQ(rig.fake.context_depth(), 1u);
        });
        harvester.join();
        // ... and on the capturing thread itself.
        EXPECT_EQ(rig.poll(0).state, StampState::kReady);
        EXPECT_TRUE(rig.fake.end_capture(captured)) << "mode " << mode;
        rig.expect_clean_end();
    }
}

// field-cases B17.
TEST(CudaBackend, CapturedStreamsGetNoStampAndAreCounted) {
    CudaRig rig;
    set_level(Level::kKernel);
    CUstream_st* const stream = rig.fake.make_stream(rig.context, true);
    DeviceRing<CudaBackend> ring(*rig.backend, {.now = FakeCuda::host_clock, .now_context = &rig.fake});
    const uint32_t queue = ring.add_queue(rig.queue_on(stream), 1).value();
    const uint32_t by_default = ring.add_queue(rig.queue_on(FakeCuda::legacy()), 2).value();
    const DeviceToken before = ring.begin(queue, 1);
    rig.fake.begin_capture(stream);
    ring.end(queue, before);
    ring.end(queue, ring.begin(queue, 2));
    // An event on the default stream would invalidate the capture of a blocking stream.
    ring.end(by_default, ring.begin(by_default, 3));
    EXPECT_TRUE(rig.fake.end_capture(stream));
    ring.end(queue, ring.begin(queue, 4));
    rig.fake.advance(1'000'000);
    std::vector<SpanRecord> out(8);
    ASSERT_EQ(ring.harvest(out), 1u);
    EXPECT_EQ(out[0].site, 4u);
    EXPECT_EQ(ring.stats().lost[LossReason::kCapture], 3u);
    EXPECT_EQ(ring.stats().lost.total(), 3u);
    set_level(Level::kOff);
    rig.expect_clean_end();
}

TEST(CudaBackend, AnEventThatBecameANodeFailsAlone) {
    CudaRig rig;
    CUstream_st* const stream = rig.fake.make_stream(rig.context);
    CudaBackend::Queue queue = rig.queue_on(stream);
    ASSERT_TRUE(rig.backend->reserve(0, 2));
    rig.fake.begin_capture(stream);
    EXPECT_TRUE(rig.backend->is_capturing(queue));
    EXPECT_TRUE(rig.backend->mark(queue, 0));    // against the contract
    EXPECT_TRUE(rig.fake.end_capture(stream));
    EXPECT_FALSE(rig.backend->is_capturing(queue));
    EXPECT_TRUE(rig.backend->mark(queue, 1));
    rig.fake.advance(1'000);
    EXPECT_EQ(rig.poll(0).state, StampState::kFailed);
    EXPECT_EQ(rig.poll(1).state, StampState::kReady);
    EXPECT_TRUE(rig.backend->health().ok());
    EXPECT_EQ(rig.backend->stats().failed, 1u);
}

TEST(CudaBackend, NotReadyIsPendingHoweverOftenItIsSaid) {
    CudaRig rig;
    CudaBackend::Queue queue = rig.queue_on(rig.fake.make_stream(rig.context));
    ASSERT_TRUE(rig.backend->reserve(0, 1));
    rig.fake.set_extra_not_ready(50);
    ASSERT_TRUE(rig.backend->mark(queue, 0));
    rig.fake.set_extra_not_ready(0);
    rig.fake.advance(1'000'000);
    for (int i = 0; i < 50; ++i) ASSERT_EQ(rig.poll(0).state, StampState::kPending) << i;
    EXPECT_EQ(rig.poll(0).state, StampState::kReady);
    rig.expect_clean_end();
}

TEST(CudaBackend, EventsAreMadeOnceAndUsedAgain) {
    CudaRig rig;
    CudaBackend::Queue queue = rig.queue_on(rig.fake.make_stream(rig.context));
    ASSERT_TRUE(rig.backend->reserve(0, 16));
    const uint64_t made = rig.fake.calls("cuEventCreate");
    for (int round = 0; round < 200; ++round) {
        for (uint32_t slot = 0; slot < 16; ++slot) ASSERT_TRUE(rig.backend->mark(queue, slot));
        rig.fake.advance(100);
        for (uint32_t slot = 0; slot < 16; ++slot) ASSERT_EQ(rig.poll(slot).state, StampState::kReady);
    }
    EXPECT_EQ(rig.fake.calls("cuEventCreate"), made);
    ASSERT_TRUE(rig.backend->reserve(0, 16));
    EXPECT_EQ(rig.fake.calls("cuEventCreate"), made) << "reserved twice";
    rig.expect_clean_end();
}

TEST(CudaBackend, AMarkIsOneDriverCallAndABatchIsOneQuery) {
    CudaRig rig;
    CudaBackend::Queue queue = rig.queue_on(rig.fake.make_stream(rig.context));
    ASSERT_TRUE(rig.backend->reserve(0, 32));
    std::vector<uint32_t> slots;
    const uint64_t before = rig.fake.calls();
    for (uint32_t slot = 0; slot < 32; ++slot) {
        ASSERT_TRUE(rig.backend->mark(queue, slot));
        slots.push_back(slot);
    }
    EXPECT_EQ(rig.fake.calls() - before, 32u);
    rig.fake.advance(1'000);
    const uint64_t queries = rig.fake.calls("cuEventQuery");
    std::vector<Stamp> out(32);
    rig.backend->poll(slots, out);
    EXPECT_EQ(rig.fake.calls("cuEventQuery") - queries, 1u);
    for (const Stamp& stamp : out) EXPECT_EQ(stamp.state, StampState::kReady);
    rig.expect_clean_end();
}

TEST(CudaDevices, AreListedByName) {
    FakeCuda fake({.devices = 2});
    const auto found = list_cuda_devices(FakeCuda::find);
    ASSERT_TRUE(found.ok());
    ASSERT_EQ(found->size(), 2u);
    EXPECT_EQ(found->at(1).name, "Stand-in 1");
    EXPECT_EQ(found->at(0).driver, "13.0");
    EXPECT_EQ(found->at(0).capability, "9.0");
    EXPECT_EQ(fake.calls("cuDevicePrimaryCtxRetain"), 0u);
}

TEST(CudaDevices, WhatIsMissingIsSaidWithWhatToDo) {
    const auto reason = [](const FakeCuda::Options& options, const char* call, int code) {
        FakeCuda fake(options);
        if (code != 0) fake.fail(call, code);
        const auto found = list_cuda_devices(FakeCuda::find);
        EXPECT_FALSE(found.ok());
        return found.ok() ? std::string() : found.error().message;
    };
    using ::testing::HasSubstr;
    EXPECT_THAT(reason({}, "cuInit", 34), HasSubstr("stub"));
    EXPECT_THAT(reason({}, "cuInit", 100), HasSubstr("/dev/nvidia"));
    EXPECT_THAT(reason({}, "cuInit", 803), HasSubstr("restart"));
    EXPECT_THAT(reason({}, "cuInit", 802), HasSubstr("fabric manager"));
    EXPECT_THAT(reason({}, "cuInit", 304), HasSubstr("may not reach"));
    EXPECT_THAT(reason({}, "cuDeviceGetCount", 100), HasSubstr("no GPU"));
    EXPECT_THAT(reason({.devices = 0}, "", 0), HasSubstr("no GPU"));
    EXPECT_THAT(reason({.version = 10020}, "", 0), HasSubstr("11.0"));
    EXPECT_THAT(reason({.missing = "cuThreadExchangeStreamCaptureMode"}, "", 0),
                HasSubstr("cuThreadExchangeStreamCaptureMode"));
}

TEST(CudaDevices, ADriverWithoutTheNewerFunctionsWillDo) {
    FakeCuda fake({.missing = "cuEventElapsedTime_v2"});
    EXPECT_TRUE(list_cuda_devices(FakeCuda::find).ok());
}

}    // namespace
}    // namespace lapwing::testing
