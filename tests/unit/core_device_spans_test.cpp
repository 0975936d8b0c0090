// Device spans on their way from the ring to sinks: sites, tags, counts, several consumers.
#include <gtest/gtest.h>

#include "lapwing/device_spans.hpp"
#include "lapwing/span_tee.hpp"
#include "unit/host_span_sink.hpp"
#include "unit/sim_ring.hpp"

namespace lapwing::testing {
namespace {

Site brick(const std::string& op, const std::string& category) {
    Site site;
    site.op = op;
    site.category = category;
    return site;
}

struct DeviceSpans : SimRing {
    void begin(const DeviceRingOptions& options = {}) { start({}, options, 0); }
    using Collector = DeviceSpanCollector<SimBackend>;
    [[nodiscard]] static DeviceInfo device() { return {.id = 3, .api = "sim", .name = "sim"}; }
    // Begins and ends a span whose record carries `tag`.
    void tagged(uint32_t queue, SiteId site, uint32_t tag) {
        const DeviceToken token = ring->begin(queue, site, Level::kKernel, tag);
        sim->advance(400);
        ring->end(queue, token);
    }
    test::KeepingSink sink;
};

TEST_F(DeviceSpans, EachSpanComesWithItsSiteItsTagAndItsTrack) {
    begin();
    Collector spans(*ring, sink, device());
    const uint32_t first = spans.add_queue({0}, "queue 0").value();
    const uint32_t second = spans.add_queue({1}, "queue 1").value();
    tagged(first, process_site(brick("RmsNorm", "Norm")), 7);
    tagged(second, process_site(brick("LmHead", "Other")), 8);
    tagged(first, process_site(brick("RmsNorm", "Norm")), 9);
    const LapChain chain = ring->lap_begin(first);
    sim->advance(100);
    ring->lap(first, chain, process_site(brick("Sampling", "Other")), Level::kKernel, 10);
    ASSERT_TRUE(spans.close().ok());

    ASSERT_EQ(sink.kept.size(), 4u);
    std::map<uint32_t, std::pair<std::string, std::string>> by_tag;
    for (const SpanRecord& span : sink.kept)
        by_tag[span.tag] = {sink.sites.at(span.site).op, sink.tracks.at(span.track).name};
    EXPECT_EQ(by_tag[7], (std::pair<std::string, std::string>("RmsNorm", "queue 0")));
    EXPECT_EQ(by_tag[8], (std::pair<std::string, std::string>("LmHead", "queue 1")));
    EXPECT_EQ(by_tag[9], (std::pair<std::string, std::string>("RmsNorm", "queue 0")));
    EXPECT_EQ(by_tag[10], (std::pair<std::string, std::string>("Sampling", "queue 0")));
    EXPECT_EQ(sink.sites.size(), 3u) << "a site is announced once";
    EXPECT_EQ(sink.tracks.begin()->second.device, 3u);
    EXPECT_EQ(sink.processes.size(), 1u);
    EXPECT_EQ(sink.closes, 1);
    EXPECT_TRUE(sink.last_stats.final);
    EXPECT_EQ(sink.last_stats.begun, 4u);
    EXPECT_EQ(sink.last_stats.recorded, 4u);
}

TEST_F(DeviceSpans, WhatTheDeviceDidNotFinishIsLostAsAbandonedAtClose) {
    begin();
    Collector spans(*ring, sink, device());
    const uint32_t queue = spans.add_queue({0}, "queue 0").value();
    const SiteId site = process_site(brick("RmsNorm", "Norm"));
    tagged(queue, site, 0);
    ASSERT_TRUE(spans.harvest().ok());
    sim->hold(true);
    tagged(queue, site, 0);
    ASSERT_TRUE(spans.close().ok());
    ASSERT_TRUE(spans.close().ok()) << "idempotent";
    EXPECT_EQ(sink.last_stats.begun, 2u);
    EXPECT_EQ(sink.last_stats.recorded, 1u);
    EXPECT_EQ(sink.last_stats.lost[LossReason::kAbandoned], 1u);
    EXPECT_EQ(sink.closes, 1);
}

TEST_F(DeviceSpans, AFailingSinkLosesItsBatchAndTheSumsHold) {
    begin();
    Collector spans(*ring, sink, device());
    const uint32_t queue = spans.add_queue({0}, "queue 0").value();
    sink.fail_with = Error{Errc::kUnwritable, 0, "the disk is full"};
    tagged(queue, process_site(brick("RmsNorm", "Norm")), 0);
    EXPECT_FALSE(spans.harvest().ok());
    EXPECT_EQ(spans.close().error().message, "the disk is full");
    RecordingStats stats;
    spans.add_to(stats);
    EXPECT_EQ(stats.begun, 1u);
    EXPECT_EQ(stats.begun, stats.recorded + stats.lost.total());
}

TEST_F(DeviceSpans, ATeeFeedsEverySinkAndOneThatFailsDoesNotStopTheOthers) {
    begin();
    test::KeepingSink other;
    SpanTee tee({&sink, &other});
    Collector spans(*ring, tee, device());
    const uint32_t queue = spans.add_queue({0}, "queue 0").value();
    tagged(queue, process_site(brick("RmsNorm", "Norm")), 1);
    ASSERT_TRUE(spans.harvest().ok());
    EXPECT_EQ(sink.kept.size(), 1u);
    EXPECT_EQ(other.kept.size(), 1u);
    EXPECT_EQ(other.sites, sink.sites);

    sink.fail_with = Error{Errc::kUnwritable, 0, "the disk is full"};
    EXPECT_FALSE(tee.spans(other.kept).ok());
    EXPECT_EQ(other.kept.size(), 2u);
    (void)spans.close();
    EXPECT_EQ(other.closes, 1);
}

TEST_F(DeviceSpans, TwoProducersOfOneRecordingShareItsNumbers) {
    begin();
    SiteTable numbers;
    DeviceSpanCollectorOptions options;
    options.sites = &numbers;
    options.whole_recording = false;
    options.first_track = 5;
    Collector spans(*ring, sink, device(), options);
    const uint32_t queue = spans.add_queue({0}, "queue 0").value();
    Status status;
    SiteAnnouncer host(sink, &numbers);
    const SiteId shared = host.number_of(process_site(brick("RmsNorm", "Norm")), status);
    tagged(queue, process_site(brick("RmsNorm", "Norm")), 0);
    tagged(queue, process_site(brick("LmHead", "Other")), 0);
    ASSERT_TRUE(spans.close().ok());
    EXPECT_EQ(sink.kept.at(0).site, shared);
    EXPECT_NE(sink.kept.at(1).site, shared);
    EXPECT_EQ(sink.kept.at(0).track, 5u);
    EXPECT_EQ(sink.closes, 0) << "the sink's owner closes it";
    EXPECT_TRUE(sink.processes.empty());
}

TEST_F(DeviceSpans, ANumberThatTheProcessNeverGaveIsUnknownAndNotAnnounced) {
    begin();
    Collector spans(*ring, sink, device());
    const uint32_t queue = spans.add_queue({0}, "queue 0").value();
    tagged(queue, 4'000'000'000u, 0);
    ASSERT_TRUE(spans.close().ok());
    ASSERT_EQ(sink.kept.size(), 1u);
    EXPECT_EQ(sink.kept.front().site, 0u);
    EXPECT_TRUE(sink.sites.empty());
}

}    // namespace
}    // namespace lapwing::testing
