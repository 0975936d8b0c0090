// Probes: off, on, and traced.
#include "lapwing/probe_timer.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "lapwing/cpu_timer.hpp"
#include "lapwing/sim_backend.hpp"
#include "unit/trace/capture_sink.hpp"

namespace lapwing {
namespace {

class Probes : public testing::Test {
protected:
    Probes() { trace.emplace(sink, ProbeTraceOptions{.process = {7, "engine", "v", "kernel"}}); }

    // A probe of `ticks` of work, traced.
    std::optional<TimerReading> traced(const char* name, const char* category, uint32_t tid, uint64_t ticks = 1000) {
        auto timer = start_probe_timer_if(true, *pool);
        backend.advance(ticks);
        auto reading = finish_probe_timer_traced(timer, &*trace, name, category, tid);
        EXPECT_FALSE(timer) << "taken";
        return reading;
    }

    SimBackend backend;
    test::CaptureSink sink;
    std::optional<ProbeTrace> trace;
    std::optional<TimerPool<SimBackend>> pool{
        std::in_place, backend, SimBackend::Queue{1},
        TimerPoolOptions{.name = "gpu", .now = SimBackend::host_clock, .now_context = &backend}};
};

TEST_F(Probes, OffIsNoTimerNoStampAndNoResult) {
    auto timer = start_probe_timer_if(false, *pool);
    EXPECT_FALSE(timer);
    EXPECT_FALSE(finish_probe_timer(timer));
    EXPECT_FALSE(finish_probe_timer_traced(timer, &*trace, "attn", "attention", 3));
    {
        ProbeScope scope(false, *pool, &*trace, "attn", "attention", 3);
        EXPECT_FALSE(scope.finish());
    }
    { const ProbeScope scope(true, *pool, nullptr, "attn", "attention", 3); }
    EXPECT_EQ(backend.marks(), 0u);
    EXPECT_EQ(pool->stats().begun, 0u);
    EXPECT_EQ(trace->recorded() + trace->lost().total(), 0u);
}

TEST_F(Probes, OnGivesTheTimeOnceTheDeviceIsThere) {
    auto timer = start_probe_timer_if(true, *pool);
    backend.advance(1900);
    backend.hold(true);
    EXPECT_EQ(finish_probe_timer(timer)->state, TimerState::kPending);
    backend.hold(false);
    EXPECT_EQ(timer->elapsed()->duration_ns, 2000);
    auto waited = start_probe_timer_if(true, *pool);
    EXPECT_EQ(finish_probe_timer(waited, {.deadline_ns = 1'000'000'000})->duration_ns, 100);
}

TEST_F(Probes, TracedOnesBecomeSpansWithNameCategoryAndTrack) {
    traced("attn", "attention", 3);
    traced("moe", "moe", 3, 500);
    traced("attn", "attention", 4);
    pool->collect();
    ASSERT_TRUE(trace->close().ok());
    ASSERT_EQ(sink.all.size(), 3u);
    EXPECT_EQ(sink.used_before_announced, 0);
    EXPECT_EQ(sink.processes.at(0).command, "engine");
    EXPECT_EQ(sink.devices.at(1).name, "gpu");
    EXPECT_EQ(sink.sites.size(), 2u);
    EXPECT_EQ(sink.sites.at(sink.all[1].site).op, "moe");
    EXPECT_EQ(sink.sites.at(sink.all[1].site).category, "moe");
    EXPECT_EQ(sink.sites.at(sink.all[0].site).category, "attention");
    EXPECT_EQ(sink.all[1].duration_ns, 600);
    EXPECT_EQ(sink.tracks.at(sink.all[0].track).name, "tid 3");
    EXPECT_EQ(sink.all[0].track, sink.all[1].track);
    EXPECT_EQ(sink.tracks.at(sink.all[2].track).name, "tid 4");
    EXPECT_LT(sink.all[0].begin_ns, sink.all[1].begin_ns);
    EXPECT_EQ(sink.latest_stats->begun, 3u);
    EXPECT_TRUE(sink.latest_stats->final);
    EXPECT_EQ(sink.closes, 1);
}

TEST_F(Probes, PendingOnesAreHandedOnInOrderAndNothingWaits) {
    backend.hold(true);
    for (int i = 0; i < 10; ++i) EXPECT_EQ(traced("op", "c", 0)->state, TimerState::kPending);
    EXPECT_EQ(pool->collect(), 0u);
    EXPECT_TRUE(sink.all.empty());
    EXPECT_EQ(pool->stats().timers, 10u);
    backend.hold(false);
    EXPECT_EQ(pool->collect(), 10u);
    ASSERT_EQ(sink.all.size(), 10u);
    EXPECT_TRUE(std::is_sorted(sink.all.begin(), sink.all.end(),
                               [](const SpanRecord& a, const SpanRecord& b) { return a.begin_ns < b.begin_ns; }));
    for (int i = 0; i < 10; ++i) traced("op", "c", 0);
    EXPECT_EQ(pool->stats().timers, 10u) << "their stamps are used again";
}

TEST_F(Probes, LostOnesAreCountedInTheTraceByReason) {
    backend.script(SimFault::kZero, 1, 1);
    traced("op", "c", 0);
    backend.set_capturing({1}, true);
    traced("op", "c", 0);
    backend.set_capturing({1}, false);
    backend.hold(true);
    traced("op", "c", 0);
    pool.reset();    // gives up what is in flight
    ASSERT_TRUE(trace->flush().ok());
    EXPECT_TRUE(sink.all.empty());
    EXPECT_EQ(sink.latest_stats->lost[LossReason::kZeroStamp], 1u);
    EXPECT_EQ(sink.latest_stats->lost[LossReason::kCapture], 1u);
    EXPECT_EQ(sink.latest_stats->lost[LossReason::kAbandoned], 1u);
    EXPECT_EQ(sink.latest_stats->begun, 3u);
}

TEST_F(Probes, ScopeCannotLeak) {
    const auto leaves = [&](int how) {
        ProbeScope scope(true, *pool, &*trace, "scope", "c", 0);
        backend.advance(200);
        if (how == 0) return;
        if (how == 1) {
            EXPECT_TRUE(scope.finish());
            EXPECT_FALSE(scope.finish()) << "the second time";
        }
        backend.advance(5000);
    };
    for (int how = 0; how < 3; ++how) leaves(how);
    pool->collect();
    ASSERT_EQ(sink.all.size(), 3u);
    EXPECT_EQ(sink.all[0].duration_ns, 300);
    EXPECT_EQ(sink.all[1].duration_ns, 300);
    EXPECT_EQ(sink.all[2].duration_ns, 5300);
    EXPECT_EQ(pool->stats().lost.total(), 0u);
}

TEST_F(Probes, WithoutATraceTheTimerStaysWithTheCaller) {
    auto timer = start_probe_timer_if(true, *pool);
    EXPECT_TRUE(finish_probe_timer_traced(timer, nullptr, "op", "c", 0)->ready());
    ASSERT_TRUE(timer);
    EXPECT_EQ(timer->elapsed()->duration_ns, 100);
}

TEST_F(Probes, HostProbesGetTracksOfTheHost) {
    auto timer = start_probe_timer_if(true, cpu_timer_pool());
    EXPECT_TRUE(finish_probe_timer_traced(timer, &*trace, "route", "moe", 0)->ready()) << "there at once";
    traced("op", "c", 0);
    ASSERT_EQ(sink.all.size(), 2u);
    EXPECT_EQ(sink.tracks.at(sink.all[0].track).kind, TrackKind::kHostThread);
    EXPECT_EQ(sink.sites.at(sink.all[0].site).kind, SpanKind::kHost);
    EXPECT_EQ(sink.tracks.at(sink.all[1].track).kind, TrackKind::kDeviceQueue);
}

TEST_F(Probes, TracksBeyondTheMostShareOne) {
    trace.emplace(sink, ProbeTraceOptions{.max_tracks = 3});
    for (uint32_t tid = 0; tid < 6; ++tid) traced("op", "c", tid);
    pool->collect();
    EXPECT_EQ(sink.all.size(), 6u);
    EXPECT_EQ(sink.tracks.size(), 3u);
    EXPECT_EQ(sink.tracks.at(3).name, "other probes");
}

TEST_F(Probes, SinkThatFailsIsReportedAndWhatItRefusedIsCounted) {
    traced("op", "c", 0);
    sink.answer = Error{Errc::kUnwritable, 28, "disk full"};
    traced("op", "c", 0);
    traced("op", "c", 0);
    pool->collect();
    EXPECT_EQ(trace->flush().error().message, "disk full");
    EXPECT_EQ(trace->recorded(), 1u);
    EXPECT_EQ(trace->lost()[LossReason::kAbandoned], 2u);
}

}    // namespace
}    // namespace lapwing
