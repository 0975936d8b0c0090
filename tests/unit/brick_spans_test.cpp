// Bricks as spans: what a sink gets, and what a device's harvest gives back.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lapwing/brick_profiler.hpp"
#include "lapwing/device_bricks.hpp"
#include "lapwing/device_spans.hpp"
#include "lapwing/sim_backend.hpp"
#include "lapwing/span_tee.hpp"
#include "unit/host_span_sink.hpp"

namespace lapwing {
namespace {

using test::KeepingSink;

struct Figures {
    uint64_t count = 0;
    int64_t total_ns = 0;
    friend bool operator==(const Figures&, const Figures&) = default;
};

// What the sink's spans come to, by brick and clock; warm-up apart.
std::map<std::string, Figures> figures_of(const KeepingSink& sink) {
    std::map<std::string, Figures> out;
    for (const SpanRecord& span : sink.kept) {
        const Site& site = sink.sites.at(span.site);
        EXPECT_FALSE(site.category.empty());
        const char* clock = site.kind == SpanKind::kHost ? " host" : " device";
        Figures& figures = out[site.op + clock + (site.warmup ? " warm-up" : "")];
        ++figures.count;
        figures.total_ns += span.duration_ns;
    }
    return out;
}
std::map<std::string, Figures> figures_of(const BrickSnapshot& bricks) {
    std::map<std::string, Figures> out;
    for (const BrickStats& brick : bricks.bricks) {
        const std::string key = brick.name + " " + to_text(brick.clock);
        if (brick.count() != 0) out[key] = {brick.count(), static_cast<int64_t>(brick.total_ns)};
        if (brick.warmup_count != 0)
            out[key + " warm-up"] = {brick.warmup_count, static_cast<int64_t>(brick.warmup_ns)};
    }
    return out;
}

void run_step(BrickProfiler& profiler) {
    for (int layer = 0; layer < 3; ++layer) {
        profiler.begin_layer(layer);
        {
            LAPWING_BRICK(profiler, BrickId::kGateProjection, 8);
            LAPWING_BRICK(profiler, BrickId::kActivation, 4);
        }
        BrickTimer named = profiler.start("router");
        (void)profiler.stop(named, 1);
        profiler.end_layer();
    }
}

TEST(BrickSpans, SinkGetsEverySampleWithTheSameNanoseconds) {
    KeepingSink sink;
    BrickProfiler profiler({.enabled = true, .warmup_samples = 2});
    run_step(profiler);    // before there is a sink
    profiler.reset();
    ASSERT_TRUE(profiler.attach(sink).ok());
    EXPECT_EQ(profiler.attach(sink).error().code, Errc::kInvalidArgument);
    for (int step = 0; step < 300; ++step) {
        run_step(profiler);
        if (step % 7 == 0) {
            ASSERT_TRUE(profiler.flush().ok());
        }
    }
    EXPECT_EQ(profiler.record_elapsed("LmHead", 5000, 1), BrickFault::kNone);
    EXPECT_EQ(profiler.record_elapsed("LmHead", -1, 1), BrickFault::kNegativeDuration);
    const BrickSnapshot now = profiler.snapshot();
    ASSERT_TRUE(profiler.detach().ok());
    EXPECT_EQ(figures_of(sink), figures_of(now));
    EXPECT_EQ(now.stats("Gate").value()->count(), 898u);
    EXPECT_EQ(profiler.lost_spans().total(), 0u);
    ASSERT_EQ(sink.processes.size(), 1u);
    ASSERT_EQ(sink.tracks.size(), 1u);
    EXPECT_EQ(sink.tracks.begin()->second.kind, TrackKind::kHostThread);
    EXPECT_TRUE(sink.last_stats.final);
    EXPECT_EQ(sink.closes, 1);
    std::map<int, int> layers;
    for (const SpanRecord& span : sink.kept) {
        const Site& site = sink.sites.at(span.site);
        EXPECT_EQ(site.category, site.op == "router" || site.op == "LmHead" ? "Other" : "FFN") << site.op;
        ++layers[site.layer];
    }
    EXPECT_EQ(layers, (std::map<int, int>{{-1, 1}, {0, 900}, {1, 900}, {2, 900}}));
    // Inner spans lie within the outer ones before them.
    for (std::size_t i = 0; i + 1 < sink.kept.size(); ++i) {
        if (sink.sites.at(sink.kept[i].site).op != "GateProjection") continue;
        EXPECT_LE(sink.kept[i].begin_ns, sink.kept[i + 1].begin_ns);
        EXPECT_GE(sink.kept[i].begin_ns + sink.kept[i].duration_ns,
                  sink.kept[i + 1].begin_ns + sink.kept[i + 1].duration_ns);
    }
    run_step(profiler);
    EXPECT_EQ(profiler.snapshot().stats("Gate").value()->count(), 901u);
    EXPECT_EQ(figures_of(sink), figures_of(now));    // detached
}

TEST(BrickSpans, SamplesBeyondTheRecordsAreInTheStatisticsAndCountedAsLostSpans) {
    KeepingSink sink;
    BrickProfiler profiler({.enabled = true, .max_record_bytes = 64 << 10});
    ASSERT_TRUE(profiler.attach(sink).ok());
    constexpr uint64_t kSamples = 10'000;
    for (uint64_t i = 0; i < kSamples; ++i) EXPECT_EQ(profiler.record_elapsed("LmHead", 5, 1), BrickFault::kNone);
    ASSERT_TRUE(profiler.flush().ok());
    EXPECT_EQ(profiler.snapshot().stats("LmHead").value()->count(), kSamples);
    EXPECT_GT(profiler.lost_spans()[LossReason::kRingFull], 0u);
    EXPECT_EQ(profiler.lost_spans().total() + sink.kept.size(), kSamples);
    ASSERT_TRUE(profiler.detach().ok());
    EXPECT_EQ(sink.last_stats.lost[LossReason::kRingFull], kSamples - sink.kept.size());
}

TEST(BrickSpans, RefusedBatchesAreCountedAndTheErrorStays) {
    KeepingSink sink;
    sink.fail_with = Error{Errc::kUnwritable, 28, "full"};
    BrickProfiler profiler({.enabled = true});
    ASSERT_TRUE(profiler.attach(sink).ok());
    run_step(profiler);
    EXPECT_EQ(profiler.flush().error().code, Errc::kUnwritable);
    EXPECT_EQ(profiler.flush().error().code, Errc::kUnwritable);
    EXPECT_EQ(profiler.lost_spans()[LossReason::kAbandoned], 9u);
    EXPECT_EQ(profiler.snapshot().stats("router").value()->count(), 3u);
}

// A device of scripted time that times the bricks of a profiler.
struct DeviceBrickTest : ::testing::Test {
    DeviceBrickTest() {
        queue = collector.add_queue({0}, "queue 0").value();
        bricks = std::make_unique<DeviceBricks<SimBackend>>(ring, queue);
        profiler.bind_device(bricks.get());
    }
    void brick(BrickId id, uint64_t ns, BrickFault expected = BrickFault::kNone) {
        BrickTimer timer = profiler.start_brick(id);
        sim.advance(ns - 100);    // the second mark itself takes 100
        EXPECT_EQ(profiler.stop_brick(timer, {.elements = 2, .input_bytes = 64}), expected);
    }

    SimBackend sim;
    DeviceRing<SimBackend> ring{
        sim, {.initial_spans = 8, .max_spans = 8, .now = SimBackend::host_clock, .now_context = &sim}};
    KeepingSink sink;
    BrickProfiler profiler{{.enabled = true, .warmup_samples = 1}};
    SpanTee tee{{&sink, &profiler.device_view()}};
    DeviceSpanCollector<SimBackend> collector{ring, tee, {.id = 1, .api = "sim", .name = "sim"}};
    uint32_t queue = 0;
    std::unique_ptr<DeviceBricks<SimBackend>> bricks;
};

TEST_F(DeviceBrickTest, EachBrickGetsItsOwnDeviceTime) {
    for (int step = 0; step < 3; ++step) {
        brick(BrickId::kRmsNorm, 25'000);
        brick(BrickId::kUpProjection, 595'000);
        ASSERT_TRUE(collector.harvest().ok());
    }
    const BrickSnapshot now = profiler.snapshot();
    const BrickStats& norm = *now.stats("RmsNorm").value();
    const BrickStats& gemv = *now.stats("Up").value();
    EXPECT_EQ(norm.clock, BrickClock::kDevice);
    EXPECT_EQ(norm.mode(), SyncMode::kDeferred);
    EXPECT_EQ(norm.count(), 2u);
    EXPECT_EQ(norm.total_ns, 50'000u);
    EXPECT_EQ(norm.warmup_ns, 25'000u);
    EXPECT_EQ(gemv.total_ns, 1'190'000u);
    EXPECT_EQ(gemv.total_elements, 4u);
    EXPECT_EQ(gemv.total_bytes, 128u);
    EXPECT_EQ(figures_of(sink), figures_of(now));
    EXPECT_FALSE(now.stats("RmsNorm", BrickClock::kHost).ok());    // launches are in no statistics
    // The same stream once more, or a stranger's, is not taken for ours.
    ASSERT_TRUE(profiler.device_view().spans(sink.kept).ok());
    EXPECT_EQ(profiler.snapshot().stats("RmsNorm").value()->count(), 2u);
}

TEST_F(DeviceBrickTest, LostSpansAreCountedAndNeverZeros) {
    for (int i = 0; i < 8; ++i) brick(BrickId::kRmsNorm, 1000);
    brick(BrickId::kRmsNorm, 1000, BrickFault::kDeviceLost);    // the ring is full
    ASSERT_TRUE(collector.harvest().ok());
    sim.script(SimFault::kZero, 1, 1);
    brick(BrickId::kRmsNorm, 1000);
    ASSERT_TRUE(collector.harvest().ok());
    const BrickSnapshot now = profiler.snapshot();
    EXPECT_EQ(now.stats("RmsNorm").value()->count(), 7u);
    EXPECT_EQ(now.faults[static_cast<std::size_t>(BrickFault::kDeviceLost)], 1u);
    EXPECT_EQ(ring.stats().lost[LossReason::kZeroStamp], 1u);
    EXPECT_EQ(ring.stats().lost[LossReason::kRingFull], 1u);
    BrickTimer nothing = profiler.start_brick(BrickId::kRmsNorm);
    EXPECT_EQ(profiler.stop_brick(nothing, 0), BrickFault::kNoElements);
    EXPECT_EQ(profiler.stop_brick(nothing, 1), BrickFault::kAlreadyStopped);
    brick(BrickId::kRmsNorm, 1000);
    ASSERT_TRUE(collector.harvest().ok());
    EXPECT_EQ(profiler.snapshot().stats("RmsNorm").value()->count(), 8u);
}

TEST_F(DeviceBrickTest, OtherModesTimeOnTheHostAgain) {
    ASSERT_TRUE(profiler.set_sync_mode(SyncMode::kNone).ok());
    brick(BrickId::kRmsNorm, 1000);
    brick(BrickId::kRmsNorm, 1000);
    EXPECT_EQ(ring.stats().begun, 0u);
    EXPECT_EQ(profiler.snapshot().stats("RmsNorm").value()->clock, BrickClock::kHost);
    ASSERT_TRUE(profiler.set_sync_mode(SyncMode::kDeferred).ok());
    profiler.bind_device(nullptr);
    brick(BrickId::kRmsNorm, 1000);
    EXPECT_EQ(ring.stats().begun, 0u);
}

}    // namespace
}    // namespace lapwing
