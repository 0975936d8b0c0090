// Recordings of several processes, joined into one.
#include "trace/join.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "unit/trace/random_recording.hpp"

namespace lapwing::test {
namespace {

// One recording after another through a JoinSink into a file, and that read back.
ReadSummary join(const std::vector<Recording>& recordings, const std::string& path, CaptureSink& sink,
                 std::optional<int64_t> from_ns = std::nullopt) {
    auto writer = open_perfetto_writer(path);
    EXPECT_TRUE(writer.ok());
    trace::JoinSink join(**writer, from_ns);
    for (const Recording& recording : recordings) {
        join.next();
        EXPECT_TRUE(feed(recording, join).ok());
    }
    EXPECT_TRUE(join.finish().ok());
    EXPECT_TRUE((*writer)->close().ok());
    const auto summary = read_perfetto(path, sink);
    EXPECT_TRUE(summary.ok());
    return summary.ok() ? *summary : ReadSummary{};
}

TEST(Join, KeepsEverySpanAndNothingOfTwoProcessesMeets) {
    std::vector<Recording> recordings{random_recording({.seed = 1}), random_recording({.seed = 2}), sample_recording()};
    recordings[1].process.pid = 4712;
    recordings[2].process.pid = 4713;
    const TemporaryFile file;
    CaptureSink sink;
    join(recordings, file.path(), sink);

    EXPECT_EQ(sink.processes.size(), 3u);
    EXPECT_EQ(sink.used_before_announced, 0);
    std::size_t spans = 0;
    std::size_t devices = 0;
    std::size_t tracks = 0;
    std::size_t steps = 0;
    std::multiset<std::pair<int64_t, int64_t>> times;
    for (const Recording& recording : recordings) {
        spans += recording.spans.size();
        devices += recording.devices.size();
        tracks += recording.tracks.size();
        std::set<uint32_t> own;
        for (const StepRecord& step : recording.steps) own.insert(step.index);
        steps += own.size();
        for (const SpanRecord& span : recording.spans) times.emplace(span.begin_ns, span.duration_ns);
    }
    EXPECT_EQ(sink.all.size(), spans);
    EXPECT_EQ(sink.devices.size(), devices);
    EXPECT_EQ(sink.tracks.size(), tracks);
    std::set<uint32_t> indices;
    for (const StepRecord& step : sink.steps) indices.insert(step.index);
    EXPECT_EQ(indices.size(), steps);
    for (const SpanRecord& span : sink.all) times.erase(times.find({span.begin_ns, span.duration_ns}));
    EXPECT_TRUE(times.empty());
}

TEST(Join, SpansKeepTheirNamesTracksAndSteps) {
    const std::vector<Recording> recordings{sample_recording(), sample_recording()};
    const TemporaryFile file;
    CaptureSink sink;
    join(recordings, file.path(), sink);
    const auto described = [](const SpanRecord& span, const auto& sites, const auto& tracks) {
        return std::tuple(span.begin_ns, span.duration_ns, sites.at(span.site).label, sites.at(span.site).warmup,
                          tracks.at(span.track).name);
    };
    std::map<SiteId, Site> sites(recordings[0].sites.begin(), recordings[0].sites.end());
    std::map<TrackId, TrackInfo> tracks;
    for (const TrackInfo& track : recordings[0].tracks) tracks[track.id] = track;
    std::multiset<decltype(described(sink.all[0], sites, tracks))> want;
    std::multiset<decltype(described(sink.all[0], sites, tracks))> found;
    for (const SpanRecord& span : recordings[0].spans)
        for (int twice = 0; twice < 2; ++twice) want.insert(described(span, sites, tracks));
    for (const SpanRecord& span : sink.all) found.insert(described(span, sink.sites, sink.tracks));
    EXPECT_EQ(found, want);
    std::map<uint32_t, int> spans_of_step;
    for (const SpanRecord& span : sink.all) ++spans_of_step[span.step];
    EXPECT_EQ(spans_of_step.size(), 8u);
}

TEST(Join, StatisticsAreSummedAndFinalOnlyWhereAllAre) {
    std::vector<Recording> recordings{sample_recording(), sample_recording()};
    recordings[1].stats.window_begin_ns -= 5;
    recordings[1].stats.write_error = 28;
    const TemporaryFile file;
    CaptureSink sink;
    join(recordings, file.path(), sink);
    ASSERT_TRUE(sink.latest_stats);
    EXPECT_EQ(sink.latest_stats->begun, 80u);
    EXPECT_EQ(sink.latest_stats->lost.total(), 8u);
    EXPECT_EQ(sink.latest_stats->window_begin_ns, recordings[1].stats.window_begin_ns);
    EXPECT_EQ(sink.latest_stats->write_error, 28);
    EXPECT_TRUE(sink.latest_stats->final);
    recordings[0].stats.final = false;
    CaptureSink killed;
    join(recordings, file.path(), killed);
    EXPECT_FALSE(killed.latest_stats->final);
}

TEST(Join, FingerprintsStayAsTheyAreBehindTheirProcess) {
    std::vector<Recording> recordings{sample_recording(), sample_recording()};
    recordings[1].fingerprints[0].fingerprint.sum = 99;
    const TemporaryFile file;
    CaptureSink sink;
    join(recordings, file.path(), sink);
    std::vector<FingerprintRecord> want = recordings[0].fingerprints;
    want.insert(want.end(), recordings[1].fingerprints.begin(), recordings[1].fingerprints.end());
    EXPECT_EQ(sink.fingerprints, want);
    EXPECT_EQ(sink.latest_stats->fingerprints_dropped, 10u);
}

TEST(Join, SpansBeforeTheCutAreLeftOutAndCounted) {
    const Recording recording = sample_recording();
    const int64_t from_ns = recording.steps[2].begin_ns;
    const TemporaryFile file;
    CaptureSink sink;
    join({recording}, file.path(), sink, from_ns);
    EXPECT_EQ(sink.all.size(), recording.spans.size() / 2);
    EXPECT_EQ(sink.latest_stats->left_out, 2u * 9);    // host spans are not counted
    EXPECT_EQ(sink.latest_stats->window_begin_ns, from_ns);
    EXPECT_EQ(sink.steps.size(), 2u);
}

TEST(Join, MoreTracksThanNumbersAreRefusedNotMixed) {
    CaptureSink sink;
    trace::JoinSink join(sink);
    Status status;
    for (int process = 0; process < 3 && status.ok(); ++process) {
        join.next();
        for (uint32_t track = 1; track <= 30'000 && status.ok(); ++track)
            status = join.track({static_cast<TrackId>(track), TrackKind::kDeviceQueue, 0, "queue"});
    }
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, Errc::kExhausted);
    EXPECT_EQ(sink.tracks.size(), 65'535u);
}

}    // namespace
}    // namespace lapwing::test
