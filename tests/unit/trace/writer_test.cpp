#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "trace/descriptor.hpp"
#include "unit/trace/trace_material.hpp"

namespace lapwing::test {
namespace {

using testing::HasSubstr;
using testing::Not;

class Writer : public testing::Test {
protected:
    std::unique_ptr<SpanSink> open(const PerfettoWriterOptions& options = {}) {
        auto writer = open_perfetto_writer(file.path(), options);
        EXPECT_TRUE(writer.ok());
        if (!writer.ok()) return nullptr;
        EXPECT_TRUE((*writer)->process({4711, "engine", "0.1.0", "kernel", 1}).ok());
        EXPECT_TRUE((*writer)->device({1, "sim", "toy gpu", "", {}}).ok());
        EXPECT_TRUE((*writer)->track({1, TrackKind::kDeviceQueue, 1, "queue 0"}).ok());
        EXPECT_TRUE((*writer)->track({2, TrackKind::kHostThread, 0, "thread 77"}).ok());
        for (SiteId id = 1; id <= 200; ++id) EXPECT_TRUE((*writer)->site(id, site_of("op_" + std::to_string(id))).ok());
        return std::move(*writer);
    }
    ReadSummary read() {
        auto summary = read_perfetto(file.path(), sink);
        EXPECT_TRUE(summary.ok()) << (summary.ok() ? "" : summary.error().message);
        return summary.ok() ? *summary : ReadSummary{};
    }

    TemporaryFile file;
    CaptureSink sink;
};

TEST_F(Writer, ProgramThatRecordsNothingLeavesAReadableRecording) {
    auto writer = open_perfetto_writer(file.path());
    ASSERT_TRUE(writer.ok());
    const ReadSummary before_close = read();
    EXPECT_EQ(before_close.packets, 2u);
    EXPECT_TRUE((*writer)->close().ok());
    EXPECT_EQ(read().spans, 0u);
}

TEST_F(Writer, SpanTakes26BytesWith127SitesAnd27Above) {
    auto writer = open();
    std::vector<SpanRecord> spans;
    for (int i = 0; i < 10'000; ++i) spans.push_back(span_of(1, 1'000'000 + i * 5000, 3000, SiteId(1 + i % 127), 0));
    ASSERT_TRUE(writer->spans(spans).ok());    // interns the names
    ASSERT_TRUE(writer->stats({}).ok());
    const std::size_t before = file.content().size();
    for (SpanRecord& span : spans) span.begin_ns += 100'000'000;
    ASSERT_TRUE(writer->spans(spans).ok());
    ASSERT_TRUE(writer->close().ok());
    EXPECT_LE(file.content().size() - before, 26u * spans.size() + 8);
}

TEST_F(Writer, SpanOfASiteAbove127Takes27Bytes) {
    auto writer = open();
    std::vector<SpanRecord> spans;
    for (int i = 0; i < 10'000; ++i) spans.push_back(span_of(1, 1'000'000 + i * 5000, 3000, SiteId(128 + i % 70), 0));
    ASSERT_TRUE(writer->spans(spans).ok());
    ASSERT_TRUE(writer->stats({}).ok());
    const std::size_t before = file.content().size();
    for (SpanRecord& span : spans) span.begin_ns += 100'000'000;
    ASSERT_TRUE(writer->spans(spans).ok());
    ASSERT_TRUE(writer->close().ok());
    EXPECT_LE(file.content().size() - before, 27u * spans.size() + 8);
}

TEST_F(Writer, StepThatGoesOnCostsNoBytesPerSpan) {
    auto writer = open();
    std::vector<SpanRecord> spans;
    for (int i = 0; i < 1000; ++i) spans.push_back(span_of(1, 1'000'000 + i * 5000, 3000, 1, uint32_t(i / 500)));
    ASSERT_TRUE(writer->spans(spans).ok());
    ASSERT_TRUE(writer->close().ok());
    EXPECT_EQ(read().spans, 1000u);
    EXPECT_EQ(keys(sink.all), keys(spans));
    EXPECT_LT(file.content().size(), 26u * 1000 + 9000);
}

// perfetto#4280, #432, #6277 (JAX: 7,265 of 85,533 slices dropped), janestreet/perfetto#35: slices that overlap on one
// track vanish from viewers. [field cases C8, C9]
TEST_F(Writer, OverlappingSpansGoToLanesAndAllComeBack) {
    auto writer = open();
    const std::vector<SpanRecord> spans{span_of(1, 3000, 3776, 1), span_of(1, 5000, 2000, 2), span_of(1, 5500, 100, 3),
                                        span_of(1, 8000, 10, 4)};
    ASSERT_TRUE(writer->spans(spans).ok());
    ASSERT_TRUE(writer->close().ok());
    EXPECT_EQ(read().spans, 4u);
    EXPECT_EQ(keys(sink.all), keys(spans));
    EXPECT_EQ(sink.tracks.size(), 2u);
    const std::string bytes = file.content();
    EXPECT_THAT(bytes, HasSubstr("GPU queue 0 (toy gpu) lane 2"));
    EXPECT_THAT(bytes, HasSubstr("GPU queue 0 (toy gpu) lane 3"));
    EXPECT_THAT(bytes, Not(HasSubstr("lane 4")));
}

TEST_F(Writer, SpansBeyondTheLastLaneAreKeptOutsideTheSlices) {
    auto writer = open({.buffer_bytes = 4096, .max_lanes = 2});
    std::vector<SpanRecord> spans;
    for (int i = 0; i < 10; ++i) spans.push_back(span_of(1, 1000 + i, 5000, 1, 7));
    ASSERT_TRUE(writer->spans(spans).ok());
    ASSERT_TRUE(writer->close().ok());
    const ReadSummary summary = read();
    EXPECT_EQ(summary.spans, 10u);
    EXPECT_EQ(summary.loose_spans, 8u);
    EXPECT_EQ(keys(sink.all), keys(spans));
    EXPECT_THAT(file.content(), Not(HasSubstr("lane 3")));
}

TEST_F(Writer, LateSpansBeforeAllOthersStayOnTheirLane) {
    auto writer = open();
    std::vector<SpanRecord> spans;
    for (int i = 0; i < 100; ++i) spans.push_back(span_of(1, 1'000'000 - i * 1000, 500, 1));
    ASSERT_TRUE(writer->spans(spans).ok());
    ASSERT_TRUE(writer->close().ok());
    EXPECT_EQ(read().spans, 100u);
    EXPECT_EQ(keys(sink.all), keys(spans));
    EXPECT_THAT(file.content(), Not(HasSubstr("lane 2")));
}

// Viewers order equal timestamps by their place in the file: a late slice that ends where the first one begins would be
// closed in its stead.
TEST_F(Writer, LateSpansThatTouchOrOverlapAnotherGoToALaneOfTheirOwn) {
    auto writer = open();
    const std::vector<SpanRecord> touching{span_of(1, 1000, 10, 1), span_of(1, 900, 100, 2)};
    ASSERT_TRUE(writer->spans(touching).ok());
    ASSERT_TRUE(writer->close().ok());
    EXPECT_THAT(file.content(), HasSubstr("lane 2"));

    writer = open();
    const std::vector<SpanRecord> overlapping{span_of(1, 1000, 10, 1), span_of(1, 500, 100, 2),
                                              span_of(1, 550, 100, 3)};
    ASSERT_TRUE(writer->spans(overlapping).ok());
    ASSERT_TRUE(writer->close().ok());
    EXPECT_THAT(file.content(), HasSubstr("lane 2"));
    EXPECT_THAT(file.content(), Not(HasSubstr("lane 3")));
}

TEST_F(Writer, SpansWhoseTimesAreNoSliceAreKept) {
    auto writer = open();
    const std::vector<SpanRecord> spans{span_of(1, -5, 3, 1), span_of(1, 10, -3, 1), span_of(1, INT64_MAX - 1, 5, 1),
                                        span_of(0, 10, 3, 1)};
    ASSERT_TRUE(writer->spans(spans).ok());
    ASSERT_TRUE(writer->close().ok());
    EXPECT_EQ(read().spans, 4u);
    EXPECT_EQ(keys(sink.all), keys(spans));
}

TEST_F(Writer, HostScopesOfOneBatchNestOnOneTrack) {
    auto writer = open();
    const std::vector<SpanRecord> spans{span_of(2, 200, 50, 3),  span_of(2, 250, 0, 4),  span_of(2, 150, 200, 2),
                                        span_of(2, 100, 400, 1), span_of(2, 600, 10, 5), span_of(2, 700, 50, 6),
                                        span_of(2, 700, 90, 7)};
    ASSERT_TRUE(writer->spans(spans).ok());
    ASSERT_TRUE(writer->close().ok());
    EXPECT_EQ(read().spans, 7u);
    EXPECT_EQ(keys(sink.all), keys(spans));
    EXPECT_THAT(file.content(), Not(HasSubstr("lane 2")));
}

TEST_F(Writer, SpansOfUnknownTracksAndSitesAreKeptUnderStandInNames) {
    auto writer = open();
    const std::vector<SpanRecord> spans{span_of(9, 100, 5, 4000), span_of(9, 200, 5, 0)};
    ASSERT_TRUE(writer->spans(spans).ok());
    ASSERT_TRUE(writer->close().ok());
    const ReadSummary summary = read();
    EXPECT_EQ(summary.spans, 2u);
    EXPECT_EQ(summary.unknown_sites, 2u);
    EXPECT_EQ(keys(sink.all), keys(spans));
    EXPECT_EQ(sink.sites[4000].op, "site 4000");
    EXPECT_THAT(file.content(), HasSubstr("track 9"));
}

TEST_F(Writer, StepsThatOverlapAreSlicesOfTwoTracksAndNotSpans) {
    auto writer = open();
    for (const auto& [begin, end] : {std::pair{100, 300}, std::pair{200, 400}, std::pair{300, 500}})
        ASSERT_TRUE(writer->step({uint32_t(begin / 100), begin, end, 1, true}).ok());
    ASSERT_TRUE(writer->close().ok());
    EXPECT_EQ(read().spans, 0u);
    EXPECT_EQ(sink.steps.size(), 3u);
    EXPECT_THAT(file.content(), HasSubstr("steps lane 2"));
    EXPECT_THAT(file.content(), Not(HasSubstr("steps lane 3")));
}

// A host clock that is set back, or a device whose ticks begin anew: what comes "before" goes to a lane where it nests.
TEST_F(Writer, ClockThatStepsBackLosesNoSpanAndKeepsEveryLaneNested) {
    auto writer = open();
    std::vector<SpanRecord> spans;
    int64_t now_ns = 1'000'000'000;
    for (int i = 0; i < 5000; ++i) {
        if (i % 1000 == 999) now_ns -= 600'000'000;
        spans.push_back(span_of(i % 3 == 0 ? 2 : 1, now_ns += 1'000'000, 500'000, 1, 0));
    }
    for (std::size_t at = 0; at < spans.size(); at += 50)
        ASSERT_TRUE(writer->spans(std::span(spans).subspan(at, 50)).ok());
    ASSERT_TRUE(writer->close().ok());
    const ReadSummary summary = read();    // which refuses a slice that ends before it begins
    EXPECT_EQ(summary.unclosed, 0u);
    EXPECT_EQ(summary.loose_spans, 0u);
    EXPECT_EQ(keys(sink.all), keys(spans));
}

// perfetto#452: tracks of one name or one thread id are merged into one by viewers. [field case C12]
TEST_F(Writer, TracksOfOneNameAreToldApart) {
    auto writer = open();
    ASSERT_TRUE(writer->device({2, "sim", "toy gpu", "", {}}).ok());
    ASSERT_TRUE(writer->track({3, TrackKind::kDeviceQueue, 2, "queue 0"}).ok());
    ASSERT_TRUE(writer->track({4, TrackKind::kHostThread, 0, "thread 77"}).ok());
    std::vector<SpanRecord> spans;
    for (TrackId track = 1; track <= 4; ++track) spans.push_back(span_of(track, 100, 50, 1));
    ASSERT_TRUE(writer->spans(spans).ok());
    ASSERT_TRUE(writer->close().ok());
    EXPECT_EQ(read().spans, 4u);
    EXPECT_EQ(sink.tracks[3].name, "queue 0");
    const std::string bytes = file.content();
    EXPECT_THAT(bytes, HasSubstr("GPU queue 0 (toy gpu) #3"));
    EXPECT_THAT(bytes, HasSubstr("thread 77 #4"));
    EXPECT_EQ(bytes.find("\x08\xe7\x24\x10\x4d"), bytes.rfind("\x08\xe7\x24\x10\x4d"));    // one {pid 4711, tid 77}
    EXPECT_NE(bytes.find("\x08\xe7\x24\x10\x4d"), std::string::npos);
}

TEST_F(Writer, ViewersSeeTheLabelThenTheOpThenTheKernelThenTheKind) {
    Site site;
    site.kind = SpanKind::kCopy;
    EXPECT_EQ(trace::display_name(site), "copy");
    site.kernel = "k";
    EXPECT_EQ(trace::display_name(site), "k");
    site.op = "o";
    EXPECT_EQ(trace::display_name(site), "o");
    site.label = "l";
    EXPECT_EQ(trace::display_name(site), "l");
}

// perfetto#738, #886 (tid 140589156634432: threads merged or dropped), csmoe/tracing-perfetto#2 (negative tid),
// tracing-chrome#32 (tid 0). [field cases C10, C11, C12]
TEST_F(Writer, ViewersNeverSeeAProcessOrThreadIdThatTheyFold) {
    EXPECT_EQ(trace::viewer_pid(0), 1);
    EXPECT_EQ(trace::viewer_pid(-5), 1);
    EXPECT_EQ(trace::viewer_pid(7'168'000'000), 1);
    EXPECT_EQ(trace::viewer_pid(4711), 4711);
    EXPECT_EQ(trace::thread_id_in("thread 4711"), 4711);
    EXPECT_EQ(trace::thread_id_in("thread 0"), 0);
    EXPECT_EQ(trace::thread_id_in("thread -136712896"), 0);
    EXPECT_EQ(trace::thread_id_in("thread 140589156634432"), 0);
    EXPECT_EQ(trace::thread_id_in("thread 12x"), 0);
    EXPECT_EQ(trace::thread_id_in("main"), 0);
}

// opencl-intercept#75, TRT-LLM#13536, apitrace#493: two writers of one file interleave or overwrite. [field case C6]
TEST_F(Writer, SecondWriterOfTheSameFileIsRefusedAndTheFirstGoesOn) {
    auto writer = open();
    const std::string before = file.content();
    const auto second = open_perfetto_writer(file.path());
    ASSERT_FALSE(second.ok());
    EXPECT_EQ(second.error().code, Errc::kUnwritable);
    EXPECT_THAT(second.error().message, HasSubstr("another recording is being written"));
    EXPECT_EQ(file.content(), before);
    EXPECT_TRUE(writer->close().ok());
    EXPECT_TRUE(open_perfetto_writer(file.path()).ok());
}

// apitrace#493, rocm-systems#5744: a forked child writes into its parent's file. [field cases C6, F1]
TEST_F(Writer, ForkedChildWritesNothingIntoItsParentsFile) {
    auto writer = open();
    ASSERT_TRUE(writer->spans(std::vector{span_of(1, 100, 5, 1)}).ok());
    const std::string before = file.content();
    const pid_t child = ::fork();
    if (child == 0) {
        const bool refused = !writer->spans(std::vector{span_of(1, 200, 5, 1)}).ok() || !writer->stats({}).ok();
        writer.reset();
        ::_exit(refused ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(file.content(), before);
    EXPECT_TRUE(writer->close().ok());
    EXPECT_EQ(read().spans, 1u);
}

TEST_F(Writer, CallsAfterCloseAreRefused) {
    auto writer = open();
    ASSERT_TRUE(writer->close().ok());
    EXPECT_TRUE(writer->close().ok());
    EXPECT_FALSE(writer->spans(std::vector{span_of(1, 100, 5, 1)}).ok());
    EXPECT_FALSE(writer->stats({}).ok());
}

TEST_F(Writer, StatsWriteOutAllThatIsHeldBack) {
    auto writer = open();
    ASSERT_TRUE(writer->spans(std::vector{span_of(1, 100, 5, 1), span_of(2, 100, 5, 2)}).ok());
    EXPECT_EQ(read().spans, 0u);
    ASSERT_TRUE(writer->stats({}).ok());
    sink = {};
    EXPECT_EQ(read().spans, 2u);
}

TEST_F(Writer, OptionsOutOfRangeAreRefusedByName) {
    EXPECT_THAT(open_perfetto_writer(file.path(), {.buffer_bytes = 100}).error().message, HasSubstr("buffer_bytes"));
    EXPECT_THAT(open_perfetto_writer(file.path(), {.max_lanes = 0}).error().message, HasSubstr("max_lanes"));
    EXPECT_THAT(open_perfetto_writer(file.path(), {.max_lanes = 256}).error().message, HasSubstr("max_lanes"));
}

}    // namespace
}    // namespace lapwing::test
