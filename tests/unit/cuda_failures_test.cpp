// Each driver call fails in turn, at each of its occasions: the program's work is as without us, spans are recorded or
// counted as lost, nothing leaks, and what is fatal has one reason.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/cuda/driver_errors.hpp"
#include "lapwing/device_ring.hpp"
#include "unit/cuda_rig.hpp"

namespace lapwing::testing {
namespace {

constexpr const char* kCalls[] = {"cuInit",
                                  "cuDriverGetVersion",
                                  "cuCtxGetCurrent",
                                  "cuCtxPushCurrent",
                                  "cuCtxPopCurrent",
                                  "cuStreamCreate",
                                  "cuStreamGetCtx",
                                  "cuStreamIsCapturing",
                                  "cuEventCreate",
                                  "cuEventRecord",
                                  "cuEventQuery",
                                  "cuEventElapsedTime",
                                  "cuThreadExchangeStreamCaptureMode"};
constexpr int kTransient[] = {1, 2, 801};
constexpr int kFatal[] = {4, 709, 719};

struct Outcome {
    uint64_t worked_ns = 0;
    bool capture_whole = false;
    bool created = false;
    uint64_t recorded = 0;
    uint64_t lost = 0;
    Status health;
    uint64_t failed_calls = 0;    // of the call that is scripted
};

// A program: work, a capture, work; harvests as it goes.
Outcome run_program(const char* call, int code, uint64_t after) {
    Outcome out;
    FakeCuda fake;
    CUctx_st* const context = fake.make_context();
    fake.make_current(context);
    CUstream_st* const stream = fake.make_stream(context, true);
    if (code != 0) fake.fail(call, code, 1, after);
    set_level(Level::kKernel);
    auto made =
        CudaBackend::create({.find_function = FakeCuda::find, .now = FakeCuda::host_clock, .now_context = &fake});
    std::unique_ptr<CudaBackend> backend;
    std::unique_ptr<DeviceRing<CudaBackend>> ring;
    bool queue_is_open = false;
    if (made.ok()) {
        out.created = true;
        backend = std::move(made).value();
        ring = std::make_unique<DeviceRing<CudaBackend>>(
            *backend,
            DeviceRingOptions{.initial_spans = 8, .max_spans = 8, .now = FakeCuda::host_clock, .now_context = &fake});
        if (auto queue = backend->open_queue(stream); queue.ok()) queue_is_open = ring->add_queue(*queue, 1).ok();
    } else {
        EXPECT_FALSE(made.error().message.empty());
    }
    std::vector<SpanRecord> records(16);
    for (SiteId site = 1; site <= 12; ++site) {
        if (site == 5) fake.begin_capture(stream);
        if (site == 7) out.capture_whole = fake.end_capture(stream);
        const DeviceToken token = queue_is_open ? ring->begin(0, site) : DeviceToken{};
        fake.work(stream, 20'000'000);
        if (queue_is_open) ring->end(0, token);
        fake.advance(30'000'000);
        if (queue_is_open) ring->harvest(records);
        if (queue_is_open && site == 9) static_cast<void>(ring->calibrate());
    }
    fake.stop_failing();
    fake.advance(1'000'000'000);
    if (ring != nullptr) {
        for (int i = 0; i < 3; ++i) ring->harvest(records);
        ring->abandon_all();
        const DeviceRingStats stats = ring->stats();
        EXPECT_EQ(stats.begun, stats.recorded + stats.lost.total());
        out.recorded = stats.recorded;
        out.lost = stats.lost.total();
    }
    out.worked_ns = fake.worked_ns(stream);
    if (backend != nullptr) {
        const uint64_t calls = fake.calls();
        backend->shutdown();
        out.health = backend->health();
        if (!out.health.ok()) {
            EXPECT_EQ(fake.calls(), calls) << "the driver was called after it was lost";
        }
    }
    if (out.health.ok() && (out.created || !cuda::is_fatal(code))) {
        EXPECT_EQ(fake.live_events(), 0u) << "events leak";
        EXPECT_EQ(fake.live_own_streams(), 0u) << "streams leak";
    }
    if (code != 4) {
        EXPECT_EQ(fake.context_depth(), 1u);
    }
    if (code != 4) {
        EXPECT_EQ(fake.capture_mode(), cuda::kCaptureModeGlobal);
    }
    EXPECT_EQ(fake.misuses(), std::vector<std::string>{});
    out.failed_calls = fake.calls(call);
    set_level(Level::kOff);
    return out;
}

class CudaFailures : public ::testing::TestWithParam<const char*> {};

TEST_P(CudaFailures, WithoutOneAllIsRecorded) {
    const Outcome plain = run_program(GetParam(), 0, 0);
    EXPECT_TRUE(plain.created);
    EXPECT_TRUE(plain.capture_whole);
    EXPECT_EQ(plain.recorded, 10u);
    EXPECT_EQ(plain.lost, 2u);    // those of the capture
    EXPECT_GT(plain.failed_calls, 0u) << "the program does not come to this call: nothing is tested";
}

TEST_P(CudaFailures, ATransientOneCostsAFewSpansAtMost) {
    const Outcome plain = run_program(GetParam(), 0, 0);
    for (const int code : kTransient) {
        for (uint64_t after = 0; after < plain.failed_calls; ++after) {
            SCOPED_TRACE(::testing::Message() << "code " << code << " after " << after << " calls");
            const Outcome outcome = run_program(GetParam(), code, after);
            EXPECT_EQ(outcome.worked_ns, plain.worked_ns);
            EXPECT_TRUE(outcome.capture_whole);
            EXPECT_TRUE(outcome.health.ok());
            if (outcome.recorded > 0) {
                EXPECT_GE(outcome.recorded, 8u);
            }
        }
    }
}

TEST_P(CudaFailures, AFatalOneStopsUsWithOneReasonAndNotTheProgram) {
    const Outcome plain = run_program(GetParam(), 0, 0);
    for (const int code : kFatal) {
        for (uint64_t after = 0; after < plain.failed_calls; ++after) {
            SCOPED_TRACE(::testing::Message() << "code " << code << " after " << after << " calls");
            const Outcome outcome = run_program(GetParam(), code, after);
            EXPECT_EQ(outcome.worked_ns, plain.worked_ns);
            EXPECT_TRUE(outcome.capture_whole);
            if (outcome.health.ok()) continue;    // at create, or on the way out of a scope
            EXPECT_EQ(outcome.health.error().driver_code, code);
            EXPECT_THAT(outcome.health.error().message, ::testing::HasSubstr(GetParam()));
        }
    }
}

INSTANTIATE_TEST_SUITE_P(EachCall, CudaFailures, ::testing::ValuesIn(kCalls),
                         [](const auto& which) { return std::string(which.param); });

// At shutdown nothing can be done about a refusal; it is not insisted on, and nothing that is gone is touched.
TEST(CudaFailures, OfShutdownItselfAreBorne) {
    for (const char* call : {"cuEventDestroy", "cuStreamDestroy", "cuCtxPushCurrent", "cuCtxPopCurrent",
                             "cuThreadExchangeStreamCaptureMode"}) {
        CudaRig rig;
        ASSERT_TRUE(rig.backend->reserve(0, 4));
        rig.fake.fail(call, 2);
        rig.backend->shutdown();
        EXPECT_EQ(rig.fake.misuses(), std::vector<std::string>{}) << call;
        EXPECT_EQ(rig.fake.context_depth(), 1u) << call;
        EXPECT_EQ(rig.fake.capture_mode(), cuda::kCaptureModeGlobal) << call;
        EXPECT_TRUE(rig.backend->health().ok()) << call;
    }
}

}    // namespace
}    // namespace lapwing::testing
