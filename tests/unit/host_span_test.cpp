#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "lapwing/clock.hpp"
#include "lapwing/host_spans.hpp"
#include "lapwing/span.hpp"
#include "unit/host_span_sink.hpp"

namespace lapwing {
namespace {

using test::KeepingSink;
using testing::ElementsAre;

constexpr std::size_t kChunkSpans = 4095;              // a 64 KiB chunk without its header cell
constexpr std::size_t kRingSpans = 2 * kChunkSpans;    // of the smallest ring: three chunks, one of them for drops

class HostSpan : public testing::Test {
protected:
    void SetUp() override {
        KeepingSink rest;
        ASSERT_TRUE(HostSpanCollector(rest).drain().ok());
        set_level(Level::kBasic);
    }
    void TearDown() override { set_level(Level::kOff); }

    KeepingSink sink_;
    HostSpanCollector collector_{sink_};
};

TEST_F(HostSpan, SpanLiesBetweenTheHostMomentsAroundItAndHasItsName) {
    const SiteId site = host_site("RmsNorm");
    const HostNs before = host_now();
    { const Span span(site); }
    const HostNs after = host_now();
    ASSERT_TRUE(collector_.drain().ok());
    ASSERT_EQ(sink_.kept.size(), 1u);
    const SpanRecord& span = sink_.kept.front();
    const int64_t slack = 1'000'000;    // the tick clock's rate is a few milliseconds young
    EXPECT_GE(span.begin_ns, before.value - slack);
    EXPECT_LE(span.begin_ns + span.duration_ns, after.value + slack);
    EXPECT_GE(span.duration_ns, 0);
    EXPECT_EQ(sink_.name_of(span), "RmsNorm");
    EXPECT_EQ(sink_.sites.at(span.site).kind, SpanKind::kHost);
    EXPECT_EQ(sink_.tracks.at(span.track).kind, TrackKind::kHostThread);
}

TEST_F(HostSpan, NothingIsRecordedWhileTheLevelIsOff) {
    set_level(Level::kOff);
    { const Span span(host_site("off")); }
    Lap lap;
    lap.lap(host_site("off"));
    ASSERT_TRUE(collector_.drain().ok());
    EXPECT_TRUE(sink_.kept.empty());
    EXPECT_EQ(collector_.lost().total(), 0u);
}

TEST_F(HostSpan, SpanThatWasBegunIsRecordedThoughTheLevelIsLowered) {
    { const Span first(host_site("first")); }
    {
        const Span span(host_site("open"));
        set_level(Level::kOff);
    }
    ASSERT_TRUE(collector_.drain().ok());
    EXPECT_THAT(sink_.names(), ElementsAre("first", "open"));
}

TEST_F(HostSpan, NestedSpansComeInOrderOfBegin) {
    {
        LAPWING_SPAN("outer");
        { LAPWING_SPAN("inner"); }
        LAPWING_SPAN("rest");
    }
    ASSERT_TRUE(collector_.drain().ok());
    EXPECT_THAT(sink_.names(), ElementsAre("outer", "inner", "rest"));
    const int64_t outer_end = sink_.kept[0].begin_ns + sink_.kept[0].duration_ns;
    for (const SpanRecord& span : sink_.kept) EXPECT_LE(span.begin_ns + span.duration_ns, outer_end);
}

TEST_F(HostSpan, EqualNamesGiveEqualNumbers) {
    EXPECT_EQ(host_site("same"), host_site(std::string("sa") + "me"));
    EXPECT_NE(host_site("same"), host_site("other name"));
    HostSite lazy("same");
    EXPECT_EQ(lazy.id(), host_site("same"));
}

TEST_F(HostSpan, LapsShareTheirBoundaries) {
    HostSite lazy("c");
    Lap lap;
    lap.lap(host_site("a"));
    lap.lap(host_site("b"));
    lap.lap(lazy);
    ASSERT_TRUE(collector_.drain().ok());
    EXPECT_THAT(sink_.names(), ElementsAre("a", "b", "c"));
    for (std::size_t i = 1; i < sink_.kept.size(); ++i)
        EXPECT_EQ(sink_.kept[i - 1].begin_ns + sink_.kept[i - 1].duration_ns, sink_.kept[i].begin_ns);
}

TEST_F(HostSpan, LapAcrossAPeriodThatWasOffIsNotRecorded) {
    Lap lap;
    set_level(Level::kOff);
    lap.lap(host_site("lowered"));
    set_level(Level::kBasic);
    lap.lap(host_site("raised"));
    lap.lap(host_site("whole"));
    lap.restart();
    lap.lap(host_site("after restart"));
    ASSERT_TRUE(collector_.drain().ok());
    EXPECT_THAT(sink_.names(), ElementsAre("whole", "after restart"));
}

TEST_F(HostSpan, DrainGivesEachSpanOnceThoughItsChunkIsStillOpen) {
    { const Span span(host_site("one")); }
    ASSERT_TRUE(collector_.drain().ok());
    ASSERT_TRUE(collector_.drain().ok());
    { const Span span(host_site("two")); }
    ASSERT_TRUE(collector_.drain().ok());
    EXPECT_THAT(sink_.names(), ElementsAre("one", "two"));
    EXPECT_EQ(collector_.recorded(), 2u);
}

TEST_F(HostSpan, DurationOf2To32TicksAndMoreIsKeptExactly) {
    const uint64_t begin = tick().value;
    for (const uint64_t ticks :
         {(uint64_t{1} << 32) - 2, (uint64_t{1} << 32) - 1, uint64_t{1} << 32, uint64_t{1} << 40})
        detail::record_host_span(begin, begin + ticks, host_site("long"));
    ASSERT_TRUE(collector_.drain().ok());
    const HostScale scale = host_scale();
    ASSERT_EQ(sink_.kept.size(), 4u);
    // Same begin: the longest comes first.
    const double ns_per_tick = double(scale.multiplier) / double(uint64_t{1} << 48);
    EXPECT_NEAR(double(sink_.kept[0].duration_ns), ns_per_tick * double(uint64_t{1} << 40), 1e9);
    for (const SpanRecord& span : sink_.kept) EXPECT_GE(double(span.duration_ns), ns_per_tick * double(0xffff'0000u));
}

TEST_F(HostSpan, EndBeforeBeginIsLostAsReversedAndNotClamped) {
    const uint64_t begin = tick().value;
    detail::record_host_span(begin, begin - 1, host_site("reversed"));
    ASSERT_TRUE(collector_.drain().ok());
    EXPECT_TRUE(sink_.kept.empty());
    EXPECT_EQ(collector_.lost()[LossReason::kReversed], 1u);
    EXPECT_EQ(collector_.lost().total(), 1u);
}

TEST_F(HostSpan, NumberThatNoNameHasIsRecordedAsUnknown) {
    { const Span span(SiteId{0xffff'fff0u}); }
    ASSERT_TRUE(collector_.drain().ok());
    ASSERT_EQ(sink_.kept.size(), 1u);
    EXPECT_EQ(sink_.kept.front().site, 0u);
}

TEST_F(HostSpan, SharedSiteTableGivesTheRecordingsOwnNumbers) {
    SiteTable shared;
    Site device_site;
    device_site.op = "MUL_MAT";
    const SiteId taken = shared.intern(device_site).id;
    HostSpanCollectorOptions options;
    options.sites = &shared;
    options.first_track = 7;
    options.whole_recording = false;
    HostSpanCollector collector(sink_, options);
    { const Span span(host_site("host work")); }
    ASSERT_TRUE(collector.close().ok());
    ASSERT_EQ(sink_.kept.size(), 1u);
    EXPECT_NE(sink_.kept.front().site, taken);
    EXPECT_EQ(shared.at(sink_.kept.front().site).label, "host work");
    EXPECT_EQ(sink_.kept.front().track, 7u);
    EXPECT_TRUE(sink_.processes.empty());
    EXPECT_EQ(sink_.closes, 0);
}

TEST_F(HostSpan, WholeRecordingAnnouncesTheProcessOnceAndClosesTheSinkOnce) {
    { const Span span(host_site("work")); }
    ASSERT_TRUE(collector_.drain().ok());
    ASSERT_TRUE(collector_.close().ok());
    ASSERT_TRUE(collector_.close().ok());
    ASSERT_EQ(sink_.processes.size(), 1u);
    EXPECT_EQ(sink_.processes.front().level, "basic");
    EXPECT_EQ(sink_.closes, 1);
    EXPECT_TRUE(sink_.last_stats.final);
    EXPECT_LE(sink_.last_stats.window_begin_ns, sink_.kept.front().begin_ns);
    EXPECT_GE(sink_.last_stats.window_end_ns, sink_.kept.front().begin_ns + sink_.kept.front().duration_ns);
}

TEST_F(HostSpan, SinksFirstErrorIsKeptAndTheBatchItRefusedIsCountedAsAbandoned) {
    sink_.fail_with = Error{Errc::kUnwritable, 0, "disk full"};
    { const Span span(host_site("refused")); }
    EXPECT_EQ(collector_.drain().error().code, Errc::kUnwritable);
    sink_.fail_with = {};
    EXPECT_EQ(collector_.close().error().message, "disk full");
    EXPECT_EQ(collector_.recorded(), 0u);
    EXPECT_EQ(collector_.lost()[LossReason::kAbandoned], 1u);
}

TEST_F(HostSpan, DrainWithinAnotherDrainReturnsAtOnceAndTakesNothing) {
    KeepingSink inner_sink;
    HostSpanCollector inner(inner_sink);
    sink_.on_spans = [&] {
        { const Span span(host_site("meanwhile")); }
        EXPECT_TRUE(inner.drain().ok());
    };
    { const Span span(host_site("first")); }
    ASSERT_TRUE(collector_.drain().ok());
    EXPECT_TRUE(inner_sink.kept.empty());
    sink_.on_spans = nullptr;
    ASSERT_TRUE(collector_.drain().ok());
    EXPECT_THAT(sink_.names(), ElementsAre("first", "meanwhile"));
}

TEST_F(HostSpan, OptionsOutOfRangeAreRefusedByName) {
    EXPECT_THAT(configure_host_spans({.bytes_per_thread = 128 * 1024}).error().message,
                testing::HasSubstr("bytes_per_thread"));
    EXPECT_THAT(configure_host_spans({.bytes_per_thread = 1 << 20, .max_bytes = 1 << 19}).error().message,
                testing::HasSubstr("max_bytes"));
    EXPECT_TRUE(configure_host_spans({}).ok());
}

// Rings of two chunks, in threads of their own: the main thread's ring may be older than the test.
class SmallHostRing : public HostSpan {
protected:
    void SetUp() override {
        HostSpan::SetUp();
        ASSERT_TRUE(configure_host_spans({.bytes_per_thread = 192 * 1024, .max_bytes = 16 << 20}).ok());
    }
    void TearDown() override {
        HostSpan::TearDown();
        KeepingSink rest;
        ASSERT_TRUE(HostSpanCollector(rest).drain().ok());
        ASSERT_TRUE(configure_host_spans({}).ok());
    }
    static void record(std::size_t count, const char* name) {
        const SiteId site = host_site(name);
        for (std::size_t i = 0; i < count; ++i) const Span span(site);
    }
    template <class F>
    static void in_thread(F body) {
        std::thread(body).join();
    }
};

TEST_F(SmallHostRing, FullRingDropsNewestAndCountsIt) {
    in_thread([] {
        record(kRingSpans, "kept");
        record(5905, "dropped");
    });
    ASSERT_TRUE(collector_.drain().ok());
    EXPECT_EQ(sink_.kept.size(), kRingSpans);
    for (const std::string& name : sink_.names()) ASSERT_EQ(name, "kept");
    EXPECT_EQ(collector_.lost()[LossReason::kRingFull], 5905u);
    EXPECT_EQ(collector_.lost().total(), 5905u);
}

TEST_F(SmallHostRing, DropsAreSettledByEachDrainOfARunningThread) {
    in_thread([this] {
        record(kRingSpans + 10, "a");
        ASSERT_TRUE(collector_.drain().ok());
        EXPECT_EQ(collector_.lost()[LossReason::kRingFull], 10u);
        // The rest of the 64 spans that go to the scratch chunk, then recording goes on.
        record(54 + 100, "b");
        ASSERT_TRUE(collector_.drain().ok());
        EXPECT_EQ(collector_.lost()[LossReason::kRingFull], 64u);
        EXPECT_EQ(collector_.recorded(), kRingSpans + 100);
    });
}

TEST_F(SmallHostRing, ChunkThatIsExactlyFullIsReadOnce) {
    in_thread([this] {
        record(kChunkSpans, "a");
        ASSERT_TRUE(collector_.drain().ok());
        EXPECT_EQ(collector_.recorded(), kChunkSpans);
        record(1, "b");
        ASSERT_TRUE(collector_.drain().ok());
        EXPECT_EQ(collector_.recorded(), kChunkSpans + 1);
        EXPECT_EQ(collector_.lost().total(), 0u);
    });
}

TEST_F(SmallHostRing, LongSpanIsWholeWhereverInItsChunkItFalls) {
    for (std::size_t before = kChunkSpans - 3; before <= kChunkSpans + 1; ++before) {
        KeepingSink sink;
        HostSpanCollector collector(sink);
        in_thread([before] {
            record(before, "short");
            const uint64_t begin = tick().value;
            detail::record_host_span(begin, begin + (uint64_t{1} << 40), host_site("long"));
            record(1, "short");
        });
        ASSERT_TRUE(collector.drain().ok());
        EXPECT_EQ(collector.recorded(), before + 2);
        EXPECT_EQ(collector.lost().total(), 0u);
        int long_spans = 0;
        for (const SpanRecord& span : sink.kept) {
            const bool is_long = sink.name_of(span) == "long";
            long_spans += is_long;
            EXPECT_EQ(span.duration_ns > 10'000'000'000, is_long);
        }
        EXPECT_EQ(long_spans, 1);
    }
}

TEST_F(SmallHostRing, DroppedLongSpanCountsAsOne) {
    in_thread([] {
        record(kRingSpans, "kept");
        for (int i = 0; i < 65; ++i) detail::record_host_span(1, uint64_t{1} << 40, host_site("long"));
    });
    ASSERT_TRUE(collector_.drain().ok());
    EXPECT_EQ(collector_.lost().total(), 65u);
    EXPECT_EQ(collector_.recorded(), kRingSpans);
}

}    // namespace
}    // namespace lapwing
