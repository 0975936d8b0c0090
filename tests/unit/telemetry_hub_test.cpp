// The hub's device side: steps, lanes and kernels over streams and devices.
#include <gtest/gtest.h>

#include <thread>

#include "unit/telemetry_server.hpp"

namespace lapwing {
namespace {

using test::TelemetryServer;

constinit Telemetry g_constant;

TEST(TelemetryConstruction, IsConstantAndKnowsTheBuiltInLanesBeforeItIsUsed) {
    EXPECT_EQ(g_constant.lane("admit").value(), 0u);
    EXPECT_EQ(g_constant.lane("prefill").value(), 1u);
    EXPECT_EQ(g_constant.lane("decode").value(), 2u);
    EXPECT_EQ(g_constant.name_of_lane(2), "decode");
    EXPECT_EQ(g_constant.name_of_lane(3), "");
    const TelemetrySnapshot snapshot = g_constant.snapshot();
    EXPECT_FALSE(snapshot.gpu.has_value());
    EXPECT_EQ(snapshot.kernel_span_every, 0u);
    EXPECT_EQ(&telemetry(), &telemetry());
}

TEST_F(TelemetryServer, TheFirstStepIsArmedThenEveryNth) {
    add_device();
    configure("kernel", 4);
    for (int step = 0; step <= 8; ++step) {
        EXPECT_EQ(hub.step_begin(), step % 4 == 0) << step;
        EXPECT_EQ(hub.kernel_spans_armed(), step % 4 == 0) << step;
    }
    EXPECT_EQ(hub.snapshot().steps, 9u);
    EXPECT_EQ(hub.snapshot().armed_steps, 3u);
    EXPECT_EQ(hub.kernel_span_every(), 4u);
}

TEST_F(TelemetryServer, LeavingLevelKernelDisarmsAndConfiguringArmsTheNextStep) {
    add_device();
    configure("kernel", 4);
    EXPECT_TRUE(hub.step_begin());
    set_level(Level::kLane);
    EXPECT_FALSE(hub.kernel_spans_armed());
    EXPECT_FALSE(hub.step_begin());
    set_level(Level::kKernel);
    EXPECT_FALSE(hub.kernel_spans_armed()) << "not before a step decides";
    configure("kernel", 4);
    EXPECT_TRUE(hub.step_begin());
    EXPECT_TRUE(hub.kernel_spans_armed());
    configure("kernel", 4);
    EXPECT_FALSE(hub.kernel_spans_armed()) << "configuring disarms";
    EXPECT_TRUE(hub.step_begin());
}

TEST_F(TelemetryServer, LanesOfSeveralQueuesAndDevicesAreKeptByDevice) {
    add_device(2);
    add_device(1);
    configure("lane");
    for (int step = 0; step < 10; ++step) {
        hub.step_begin();
        lane(kPrefill, 2'000'000, 0, 0);
        lane(kDecode, 3000, 0, 0);
        lane(kDecode, 3000, 1, 0);
        lane(kDecode, 900, 2, 1);
    }
    hub.step_begin();
    EXPECT_EQ(lane_count("prefill", 1), 10u);
    EXPECT_EQ(lane_count("decode", 1), 20u);
    EXPECT_EQ(lane_count("decode", 2), 10u);
    const TelemetrySnapshot snapshot = hub.snapshot();
    ASSERT_EQ(snapshot.lanes.size(), 6u);
    EXPECT_EQ(snapshot.lanes[1].time_ns->cumulative[NsHistogram::bucket_of(2'000'100)], 10u);
    EXPECT_EQ(snapshot.lanes[1].time_ns->sum, 10u * 2'000'100u);
    EXPECT_FALSE(snapshot.lanes[0].time_ns.has_value()) << "absent, not 0";
    EXPECT_EQ(snapshot.lanes[0].reason, "no span of it has finished yet");
    EXPECT_EQ(snapshot.gpu->begun, 40u);
    EXPECT_EQ(snapshot.gpu->recorded, 40u);
    EXPECT_EQ(snapshot.gpu->lanes.ended, 40u);
    EXPECT_TRUE(snapshot.kernels.empty()) << "lanes are no kernels";
}

TEST_F(TelemetryServer, MisuseOfLanesIsCountedAndIgnored) {
    add_device();
    configure("lane");
    hub.step_begin();
    hub.lane_end(kDecode);
    hub.lane_begin(7);
    hub.lane_begin(kDecode);
    hub.lane_begin(kDecode);
    hub.lane_end(kDecode);
    hub.lane_begin(kAdmit);
    hub.lane_begin(kDecode, 9);
    hub.step_begin();
    hub.step_begin();
    const TelemetrySnapshot snapshot = hub.snapshot();
    EXPECT_EQ(snapshot.gpu->lanes.ended_without_begin, 1u);
    EXPECT_EQ(snapshot.gpu->lanes.out_of_range, 1u);
    EXPECT_EQ(snapshot.gpu->lanes.begun_twice, 1u);
    EXPECT_EQ(snapshot.gpu->lanes.left_open, 1u);
    EXPECT_EQ(snapshot.gpu->lanes.open, 0u);
    EXPECT_EQ(snapshot.misuse.no_stream, 1u);
    EXPECT_EQ(snapshot.gpu->in_flight, 0u);
    EXPECT_EQ(lane_count("decode"), 2u);
    EXPECT_EQ(lane_count("admit"), 1u);
}

TEST_F(TelemetryServer, UserLanesAreNumberedBehindTheBuiltInOnes) {
    EXPECT_EQ(hub.add_lane("draft").value(), 3u);
    EXPECT_EQ(hub.lane("draft").value(), 3u);
    EXPECT_EQ(hub.add_lane("draft").error().code, Errc::kInvalidArgument);
    EXPECT_EQ(hub.add_lane("").error().code, Errc::kInvalidArgument);
    const auto unknown = hub.lane("drfat");
    ASSERT_FALSE(unknown.ok());
    EXPECT_EQ(unknown.error().code, Errc::kNotFound);
    EXPECT_NE(unknown.error().message.find("'drfat'"), std::string::npos);
    EXPECT_NE(unknown.error().message.find("'prefill', 'decode', 'draft'"), std::string::npos);
    for (int i = 4; i < 32; ++i) EXPECT_TRUE(hub.add_lane(std::string("lane ").append(std::to_string(i))).ok());
    EXPECT_EQ(hub.add_lane("one too many").error().code, Errc::kExhausted);
    add_device();
    EXPECT_EQ(hub.add_lane("late").error().code, Errc::kInvalidArgument);
    configure("lane");
    hub.step_begin();
    lane(3, 500);
    lane(31, 500);
    hub.step_begin();
    EXPECT_EQ(lane_count("draft"), 1u);
    EXPECT_EQ(lane_count("lane 31"), 1u);
}

TEST_F(TelemetryServer, ALevelRaisedAtRunTimeStartsSpansAndALoweredOneClosesThem) {
    add_device();
    const KernelId gemm = hub.kernels().kernel("", "gemm");
    configure("basic");
    EXPECT_FALSE(hub.step_begin());
    lane(kDecode, 500);
    kernel(gemm, 500);
    EXPECT_EQ(devices[0].sim->marks(), 0u);
    set_level(Level::kKernel);    // by anybody: no call of the hub's
    EXPECT_TRUE(hub.step_begin());
    hub.lane_begin(kDecode);
    const KernelSpan span = hub.kernel_begin(gemm);
    set_level(Level::kOff);
    hub.kernel_end(span);
    hub.lane_end(kDecode);
    lane(kPrefill, 500);
    kernel(gemm, 500);
    EXPECT_FALSE(hub.step_begin()) << "off, and it still harvests what was begun";
    EXPECT_EQ(lane_count("decode"), 1u);
    const TelemetrySnapshot snapshot = hub.snapshot();
    ASSERT_EQ(snapshot.kernels.size(), 1u);
    EXPECT_EQ(snapshot.kernels[0].samples, 1u);
    EXPECT_EQ(snapshot.gpu->in_flight, 0u);
    EXPECT_EQ(snapshot.gpu->begun, 2u);
    const uint64_t polls = devices[0].sim->polls();
    EXPECT_FALSE(hub.step_begin());
    EXPECT_EQ(devices[0].sim->polls(), polls) << "nothing is in flight any more: off means off";
}

TEST_F(TelemetryServer, ALaneLeftOpenByALoweredLevelEndsWithItsStep) {
    add_device();
    configure("lane");
    hub.step_begin();
    hub.lane_begin(kDecode);
    set_level(Level::kOff);
    hub.step_begin();
    EXPECT_EQ(hub.snapshot().gpu->lanes.left_open, 1u);
    EXPECT_EQ(hub.snapshot().gpu->lanes.open, 0u);
    hub.step_begin();
    EXPECT_EQ(lane_count("decode"), 1u);
}

TEST_F(TelemetryServer, KernelsAreTimedInArmedStepsAndTheirLaunchesAlwaysCounted) {
    add_device();
    configure("kernel", 4);
    const KernelId gemm = hub.kernels().kernel("ffn.ptx", "gemm");
    for (int step = 0; step < 40; ++step) {
        hub.step_begin();
        for (int i = 0; i < 3; ++i) kernel(gemm, 900);
    }
    hub.step_begin();
    const TelemetrySnapshot snapshot = hub.snapshot();
    ASSERT_EQ(snapshot.kernels.size(), 1u);
    const KernelRow& row = snapshot.kernels[0];
    EXPECT_EQ(row.name, "ffn.ptx:gemm");
    EXPECT_EQ(row.samples, 30u);
    EXPECT_EQ(row.launches, 120u);
    EXPECT_EQ(row.total_ns, 30 * 1000);
    EXPECT_DOUBLE_EQ(row.scaled->total_ns, 120 * 1000.0);
    EXPECT_DOUBLE_EQ(*row.scaled->error_ns, 0.0) << "all alike";
    EXPECT_EQ(row.min_ns, 1000);
    EXPECT_EQ(row.p99_ns, 1000);
}

TEST_F(TelemetryServer, HandlesAreKernelsAndGetTheirNames) {
    add_device();
    configure("kernel");
    hub.step_begin();
    for (const uint64_t handle : {0x1f40u, 0x2000u, 0u}) {
        const KernelSpan span = hub.handle_begin(handle);
        devices[0].sim->advance(900);
        hub.kernel_end(span);
    }
    ASSERT_TRUE(hub.kernels().name_handle(0x2000, "", "rope").ok());
    hub.step_begin();
    const TelemetrySnapshot snapshot = hub.snapshot();
    ASSERT_EQ(snapshot.kernels.size(), 2u);
    EXPECT_EQ(snapshot.kernels[0].name, "fn@1f40");
    EXPECT_EQ(snapshot.kernels[1].name, "rope");
    EXPECT_EQ(snapshot.kernel_losses.handle_zero, 1u);
}

TEST_F(TelemetryServer, WhatTheDeviceDoesNotGiveIsLostWithItsReasonAndNothingWaits) {
    add_device(1, {}, {.initial_spans = 8, .max_spans = 8});
    configure("kernel");
    const KernelId gemm = hub.kernels().kernel("", "gemm");
    hub.step_begin();
    devices[0].sim->hold(true);
    for (int i = 0; i < 10; ++i) kernel(gemm, 10);
    hub.step_begin();
    EXPECT_EQ(hub.snapshot().gpu->in_flight, 8u) << "pending stays";
    EXPECT_EQ(hub.snapshot().gpu->lost[LossReason::kRingFull], 2u);
    devices[0].sim->hold(false);
    hub.step_begin();
    hub.step_begin();
    EXPECT_EQ(hub.snapshot().kernels[0].samples, 8u) << "landed once";

    devices[0].sim->script(SimFault::kMarkFails, 1);
    kernel(gemm, 10);
    devices[0].sim->script(SimFault::kResultFails, 1);
    kernel(gemm, 10);
    devices[0].sim->set_capturing({0}, true);
    kernel(gemm, 10);
    devices[0].sim->set_capturing({0}, false);
    kernel(gemm, 10);
    hub.kernel_end({});
    hub.step_begin();
    const GpuSpanFigures gpu = *hub.snapshot().gpu;
    EXPECT_EQ(gpu.lost[LossReason::kDriverError], 2u);
    EXPECT_EQ(gpu.lost[LossReason::kCapture], 1u);
    EXPECT_EQ(gpu.begun, gpu.recorded + gpu.lost.total() + gpu.in_flight);
    EXPECT_EQ(hub.snapshot().kernels[0].samples, 9u) << "the slots are usable again";
    EXPECT_EQ(hub.snapshot().kernels[0].launches, 14u);
}

TEST_F(TelemetryServer, AQueueWithoutTimestampsGivesNoTimesAndTheReason) {
    add_device(1, {.valid_bits = 0});
    configure("lane");
    hub.step_begin();
    lane(kDecode, 900);
    hub.step_begin();
    const TelemetrySnapshot snapshot = hub.snapshot();
    ASSERT_EQ(snapshot.lanes.size(), 3u);
    for (const LaneFigures& figures : snapshot.lanes) {
        EXPECT_FALSE(figures.time_ns.has_value());
        EXPECT_NE(figures.reason, "");
        EXPECT_NE(figures.reason, "no span of it has finished yet");
    }
    ASSERT_EQ(snapshot.gpu->unsupported.size(), 1u);
    EXPECT_EQ(snapshot.gpu->unsupported[0].rfind("device 1, stream 0: ", 0), 0u) << snapshot.gpu->unsupported[0];
    EXPECT_EQ(snapshot.gpu->lost[LossReason::kUnsupported], 1u);
}

TEST_F(TelemetryServer, BelowLevelLaneTheReasonIsTheLevel) {
    add_device();
    configure("basic");
    EXPECT_NE(hub.snapshot().lanes.at(0).reason.find("'basic'"), std::string::npos);
}

TEST_F(TelemetryServer, StreamsComeAndGoAndTheirCountsStay) {
    add_device(2);
    configure("lane");
    hub.step_begin();
    lane(kDecode, 900, 0);
    lane(kDecode, 900, 1);
    hub.step_begin();
    EXPECT_EQ(hub.snapshot().gpu->recorded, 2u);
    devices[0].streams.pop_back();
    EXPECT_EQ(hub.snapshot().gpu->recorded, 2u) << "one ring, counted once";
    EXPECT_EQ(hub.snapshot().gpu->lanes.ended, 2u);
    devices[0].streams.clear();
    EXPECT_EQ(hub.snapshot().gpu->recorded, 2u);
    EXPECT_EQ(hub.snapshot().gpu->lanes.ended, 2u);
    hub.lane_begin(kDecode, 0);
    EXPECT_EQ(hub.snapshot().misuse.no_stream, 1u);
    EXPECT_EQ(lane_count("decode"), 2u);
}

// A stream that counts how often it is harvested.
struct CountedStream final : TelemetryQueue {
    explicit CountedStream(const void* of) : the_ring(of) {}
    void lane_begin(uint32_t) noexcept override {}
    void lane_end(uint32_t) noexcept override {}
    void begin_step(uint32_t) noexcept override {}
    DeviceToken kernel_begin(SiteId) noexcept override { return {}; }
    void kernel_end(DeviceToken) noexcept override {}
    Status harvest() noexcept override {
        ++harvests;
        return {};
    }
    bool busy() const noexcept override { return is_busy; }
    const void* ring() const noexcept override { return the_ring; }
    DeviceRingStats ring_stats() const noexcept override { return {}; }
    LaneStats lane_stats() const noexcept override { return {}; }
    uint32_t device() const noexcept override { return 1; }
    const char* unsupported_reason() const noexcept override { return ""; }

    const void* the_ring;
    int harvests = 0;
    bool is_busy = false;
};

TEST_F(TelemetryServer, ARingIsHarvestedOnceAStepAndOffOnlyUntilNothingIsLeft) {
    const int rings[2]{};
    CountedStream first(&rings[0]);
    CountedStream second(&rings[0]);
    CountedStream third(&rings[1]);
    for (CountedStream* stream : {&first, &second, &third}) ASSERT_TRUE(hub.install(*stream).ok());
    configure("lane");
    hub.step_begin();
    hub.step_begin();
    EXPECT_EQ(first.harvests, 2);
    EXPECT_EQ(second.harvests, 0) << "of the first one's ring";
    EXPECT_EQ(third.harvests, 2);
    set_level(Level::kOff);
    third.is_busy = true;
    hub.step_begin();
    hub.step_begin();
    EXPECT_EQ(third.harvests, 4);
    third.is_busy = false;
    hub.step_begin();
    hub.step_begin();
    hub.step_begin();
    EXPECT_EQ(third.harvests, 5) << "settled: off means off";
    for (CountedStream* stream : {&first, &second, &third}) hub.uninstall(*stream);
}

TEST_F(TelemetryServer, ThereAreSixteenStreamsAtMost) {
    add_device(17, {}, {.initial_spans = 8, .max_spans = 64, .max_queues = 40});
    EXPECT_EQ(devices[0].streams[15]->number(), 15u);
    EXPECT_EQ(devices[0].streams[16]->number(), kMaxStreams);
    devices[0].streams.pop_back();
    EXPECT_EQ(hub.snapshot().gpu->lanes.begun, 0u);
}

TEST_F(TelemetryServer, AnotherProcessSpansAndBadOnesAreKeptApart) {
    SpanSink& sink = hub.sink();
    ASSERT_TRUE(sink.process({}).ok());
    ASSERT_TRUE(sink.device({.id = 5, .api = "", .name = "", .driver = "", .clock = {}}).ok());
    ASSERT_TRUE(sink.track({.id = 1, .kind = TrackKind::kDeviceQueue, .device = 5, .name = ""}).ok());
    Site site;
    site.lane = "verify";
    site.container = true;
    ASSERT_TRUE(sink.site(1, site).ok());
    const std::vector<SpanRecord> spans{{0, 10, 1, 0, 1}, {0, -1, 1, 0, 1}, {0, INT64_MAX, 1, 0, 1}, {0, 1, 1, 0, 9}};
    ASSERT_TRUE(sink.spans(spans).ok());
    EXPECT_EQ(lane_count("verify", 5), 1u);
    EXPECT_EQ(hub.snapshot().misuse.refused_durations, 2u);
    EXPECT_EQ(hub.snapshot().misuse.unplaced_spans, 1u);
}

TEST_F(TelemetryServer, ASnapshotIsTakenBesideTheServer) {
    add_device(1);
    configure("kernel", 2);
    const KernelId gemm = hub.kernels().kernel("", "gemm");
    std::atomic<bool> done{false};
    std::thread scrape([&] {
        uint64_t last = 0;
        while (!done.load()) {
            const TelemetrySnapshot snapshot = hub.snapshot();
            EXPECT_GE(snapshot.steps, last) << "counters never go down";
            last = snapshot.steps;
        }
    });
    for (int step = 0; step < 300; ++step) {
        hub.step_begin();
        lane(kDecode, 1000);
        kernel(gemm, 1000);
        const KernelSpan span = hub.handle_begin(0x40 * (1 + static_cast<uint64_t>(step)));
        hub.kernel_end(span);
        hub.tokens(TokenKind::kGenerated, 1);
        hub.sched_tick({.running = 3, .waiting = 4, .batch_tokens = 5, .cache_used = 0.5});
    }
    done = true;
    scrape.join();
    hub.step_begin();
    EXPECT_EQ(lane_count("decode"), 300u);
    EXPECT_EQ(hub.snapshot().tokens[1], 300u);
}

}    // namespace
}    // namespace lapwing
