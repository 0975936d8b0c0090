// What telemetry costs that cannot be seen in its figures: clock reads and allocations, counted.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>

#include "unit/allocation_counter.hpp"
#include "unit/telemetry_server.hpp"

namespace lapwing {
namespace {

using test::CountingClock;

constexpr uint64_t kCalls = 10'000;
constexpr uint64_t kMeasured = 4;    // entry points of a round that measure a duration

struct TelemetryCost : test::TelemetryServer {
    void SetUp() override {
        gemm = hub.kernels().kernel("", "gemm");
        ASSERT_TRUE(hub.kernels().name_handle(0x40, "", "gemm").ok());
        add_device();
        uninstalled_off();
    }
    // A hub that nobody has configured: it must not even take its memory.
    void uninstalled_off() {
        static constinit Telemetry untouched{&CountingClock::now};
        set_level(Level::kOff);
        const uint64_t allocations = test::allocations();
        const uint64_t reads = CountingClock::reads.load();
        for (uint64_t i = 0; i < kCalls; ++i) round_of(untouched);
        EXPECT_EQ(CountingClock::reads.load() - reads, 0u);
        EXPECT_EQ(test::allocations() - allocations, 0u);
    }
    // Every entry point once.
    void round_of(Telemetry& t) {
        t.step_begin();
        t.lane_begin(kDecode);
        t.kernel_end(t.kernel_begin(gemm));
        t.kernel_end(t.handle_begin(0x40));
        t.lane_end(kDecode);
        t.tokens(TokenKind::kGenerated, 1);
        { const TelemetryScope scope = t.phase(3); }
        t.record_phase(3, 10);
        t.sched_tick({.running = 1, .waiting = 2, .batch_tokens = 3, .cache_used = 0.5});
        { const TelemetryScope scope = t.stream_sync(); }
        t.record_stream_sync(10);
        { const TelemetryScope scope = t.blocking_copy(CopyDirection::kDeviceToHost, 4096); }
        t.record_blocking_copy(CopyDirection::kHostToDevice, 4096, 10);
        { const TelemetryScope scope = t.graph_capture(); }
        t.record_graph_capture(10);
        t.graph_replay(7);
        t.spec_verified(4, 2);
        t.request_finished({.output_tokens = 4, .queue_ns = 1, .first_token_ns = 2, .total_ns = 8});
        sink += t.kernel_spans_armed() + t.lane_spans();
    }
    struct Cost {
        uint64_t allocations = 0;
        uint64_t reads = 0;
    };
    Cost run() {
        for (int i = 0; i < 100; ++i) round_of(hub);    // sites and tracks become known
        const uint64_t allocations = test::allocations();
        const uint64_t reads = CountingClock::reads.load();
        for (uint64_t i = 0; i < kCalls; ++i) round_of(hub);
        return {test::allocations() - allocations, CountingClock::reads.load() - reads};
    }

    KernelId gemm = 0;
    uint64_t sink = 0;
};

TEST_F(TelemetryCost, OffReadsNoClockAllocatesNothingAndRecordsNothing) {
    configure("off");
    const Cost cost = run();
    EXPECT_EQ(cost.reads, 0u);
    EXPECT_EQ(cost.allocations, 0u);
    EXPECT_EQ(devices[0].sim->marks(), 0u);
    EXPECT_EQ(devices[0].sim->polls(), 0u);
    const TelemetrySnapshot snapshot = hub.snapshot();
    EXPECT_EQ(snapshot.steps + snapshot.tokens[1] + snapshot.scheduler_ticks + snapshot.graph_replays, 0u);
    EXPECT_TRUE(snapshot.phases.empty());
    EXPECT_TRUE(snapshot.kernels.empty());
}

TEST_F(TelemetryCost, BasicReadsTheClockTwiceWhereADurationIsMeasuredAndAllocatesNothing) {
    configure("basic");
    const Cost cost = run();
    EXPECT_EQ(cost.reads, 2 * kMeasured * kCalls);
    EXPECT_EQ(cost.allocations, 0u);
    EXPECT_EQ(devices[0].sim->marks(), 0u);
    EXPECT_EQ(hub.snapshot().tokens[1], kCalls + 100);
}

TEST_F(TelemetryCost, LaneAllocatesNothingEither) {
    configure("lane");
    const Cost cost = run();
    EXPECT_EQ(cost.reads, 2 * kMeasured * kCalls);
    EXPECT_EQ(cost.allocations, 0u);
    hub.step_begin();
    EXPECT_EQ(lane_count("decode"), kCalls + 100);
}

TEST_F(TelemetryCost, KernelAllocatesNothingOnceItsKernelsAreKnown) {
    configure("kernel", 4);
    const Cost cost = run();
    EXPECT_EQ(cost.reads, 2 * kMeasured * kCalls);
    EXPECT_EQ(cost.allocations, 0u);
    hub.step_begin();
    EXPECT_EQ(hub.snapshot().kernels.at(0).launches, 2 * (kCalls + 100));
}

}    // namespace
}    // namespace lapwing
