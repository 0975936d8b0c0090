// Rows by what a program says of its spans: brick, category, family, phase, lane.
#include <gtest/gtest.h>

#include <algorithm>

#include "lapwing/report.hpp"
#include "report_streams.hpp"

namespace lapwing {
namespace {

using testing::report_of;
using testing::StreamWriter;

struct Mark {
    std::string op, category, family, phase, lane;
    SpanKind kind = SpanKind::kDispatch;
};

Site site_of(const Mark& mark) {
    Site site;
    site.op = mark.op;
    site.category = mark.category;
    site.family = mark.family;
    site.phase = mark.phase;
    site.lane = mark.lane;
    site.container = !mark.lane.empty();
    site.kind = mark.kind;
    return site;
}

// Two bricks and a kernel that is none, inside the lane of their step; a brick of the host.
void feed(SpanSink& sink) {
    StreamWriter stream{sink};
    stream.device(1, "gpu");
    const TrackId queue = stream.queue(1, "queue 0");
    const TrackId lanes = stream.queue(1, "lanes");
    const TrackId thread = stream.thread("thread 1");
    stream.span(queue, stream.site(site_of({"RmsNorm", "Norm", "fused_block", "prefill", ""})), 0, 30, 0);
    stream.span(queue, stream.site(site_of({"AttentionScore", "Attention", "attention", "prefill", ""})), 30, 50, 0);
    stream.span(queue, stream.site(site_of({"OutputProjection", "Attention", "gemm", "decode", ""})), 80, 20, 0);
    stream.span(queue, stream.site(site_of({"", "", "", "", ""})), 100, 5, 0);
    stream.span(lanes, stream.site(site_of({"", "", "", "", "decode"})), 0, 1000, 0);
    stream.span(thread, stream.site(site_of({"RmsNorm", "Norm", "", "", "", SpanKind::kHost})), 0, 7);
    stream.step(0, 0, 1000, 4);
    RecordingStats stats;
    stats.begun = stats.recorded = 5;
    stats.final = true;
    stream.stats(stats);
}

using Rows = std::vector<std::tuple<std::string, std::string, uint64_t, int64_t>>;
Rows rows_of(const Report& report) {
    Rows out;
    for (const ReportRow& row : report.rows) out.emplace_back(row.name, row.kind, row.spans.count, row.spans.total_ns);
    return out;
}

TEST(ReportMarks, BricksOfHostAndDeviceAreRowsOfTheirOwn) {
    const Report report = report_of(feed, GroupBy::kBrick);
    EXPECT_EQ(rows_of(report), (Rows{{"AttentionScore", "dispatch", 1, 50},
                                     {"RmsNorm", "dispatch", 1, 30},
                                     {"OutputProjection", "dispatch", 1, 20},
                                     {"RmsNorm", "host", 1, 7}}));
    EXPECT_EQ(report.ungrouped, 1u) << "the kernel that is no brick";
}

TEST(ReportMarks, CategoriesFamiliesAndPhasesAddUpWhatHasThem) {
    EXPECT_EQ(rows_of(report_of(feed, GroupBy::kCategory)),
              (Rows{{"Attention", "dispatch", 2, 70}, {"Norm", "dispatch", 1, 30}, {"Norm", "host", 1, 7}}));
    EXPECT_EQ(
        rows_of(report_of(feed, GroupBy::kFamily)),
        (Rows{{"attention", "dispatch", 1, 50}, {"fused_block", "dispatch", 1, 30}, {"gemm", "dispatch", 1, 20}}));
    EXPECT_EQ(rows_of(report_of(feed, GroupBy::kPhase)),
              (Rows{{"prefill", "dispatch", 2, 80}, {"decode", "dispatch", 1, 20}}));
}

TEST(ReportMarks, LanesContainWorkAndAreNoWorkThemselves) {
    const Report lanes = report_of(feed, GroupBy::kLane);
    EXPECT_EQ(rows_of(lanes), (Rows{{"decode", "dispatch", 1, 1000}}));
    EXPECT_EQ(lanes.ungrouped, 0u + 4u);
    const Report ops = report_of(feed, GroupBy::kOp);
    EXPECT_EQ(ops.busy_ns, 105) << "the lane's span is not busy time";
    EXPECT_EQ(ops.device_total_ns, 105);
    EXPECT_EQ(ops.total_ns, 105);
    EXPECT_EQ(ops.containers, 1u);
    EXPECT_EQ(ops.dispatch_spans, 4u);
    EXPECT_EQ(ops.steps.gpu_ns.max_ns, 105);
    EXPECT_EQ(ops.spans, 5u) << "it is a measured span all the same";
    EXPECT_EQ(ops.unaccounted(), 0u);
    for (const GroupBy by : {GroupBy::kKernel, GroupBy::kLayer, GroupBy::kStep})
        EXPECT_EQ(report_of(feed, by).total_ns, 105) << to_text(by);
}

TEST(ReportMarks, NotesSayWhatIsInNoRowAndWhatToDoWhereThereIsNone) {
    const auto text_of = [](const Report& report) {
        std::string all;
        for (const ReportNote& note : notes_of(report)) all += note.text + "\n";
        return all;
    };
    EXPECT_NE(
        text_of(report_of(feed, GroupBy::kBrick)).find("1 device span is in no row: the program says no brick of it"),
        std::string::npos);
    const auto unmarked = [](SpanSink& sink) {
        StreamWriter stream{sink};
        stream.span(stream.queue(1, "q"), stream.site(testing::make_site("MUL_MAT")), 0, 1);
    };
    const Report none = report_of(unmarked, GroupBy::kFamily);
    EXPECT_TRUE(none.rows.empty());
    EXPECT_NE(text_of(none).find("nothing in this recording has a family"), std::string::npos) << text_of(none);
}

TEST(ReportMarks, TopLineTellsHostAndDeviceRowsOfOneNameApart) {
    const std::string text = to_text(report_of(feed, GroupBy::kCategory));
    EXPECT_NE(text.find("Attention 65.4 %, Norm (dispatch) 28.0 %, Norm (host) 6.5 %"), std::string::npos) << text;
}

TEST(ReportMarks, EveryNameIsParsed) {
    for (const GroupBy by : {GroupBy::kBrick, GroupBy::kCategory, GroupBy::kFamily, GroupBy::kPhase, GroupBy::kLane})
        EXPECT_EQ(parse_group_by(to_text(by)).value(), by);
    EXPECT_NE(parse_group_by("Brick").error().message.find("brick, category, family, phase, lane"), std::string::npos);
}

/// Three steps of ten dispatches at level lane: a span each, of no kernel.
void feed_whole_steps(SpanSink& sink) {
    StreamWriter stream{sink};
    stream.process("engine", "lane");
    stream.device(1, "gpu");
    const TrackId queue = stream.queue(1, "queue 0");
    Site site;
    site.label = "step";
    site.lane = "step";
    const SiteId step = stream.site(site);
    for (uint32_t i = 0; i < 3; ++i) {
        const int64_t begin_ns = 1'000'000'000 + i * 1'000'000;
        stream.span(queue, step, begin_ns, 600'000, i);
        stream.step(i, begin_ns, begin_ns + 900'000, 10);
    }
    RecordingStats stats;
    stats.begun = stats.recorded = 3;
    stats.executed_dispatches = 30;
    stats.final = true;
    stream.stats(stats);
}

TEST(ReportMarks, WholeStepsAreARowOfLanesAndGpuTimeOfStepsAndNoKernel) {
    const Report report = report_of(feed_whole_steps);
    EXPECT_EQ(report.by, GroupBy::kLane) << "there is nothing else to show";
    ASSERT_EQ(report.rows.size(), 1u);
    EXPECT_EQ(report.rows[0].name, "step");
    EXPECT_EQ(report.rows[0].spans.count, 3u);
    EXPECT_EQ(report.rows[0].spans.total_ns, 1'800'000);
    EXPECT_EQ(report.steps.gpu_ns.total_ns, 1'800'000);
    EXPECT_EQ(report.steps.incomplete, 0u) << "a step's span holds all of its dispatches";
    EXPECT_EQ(report.busy_ns, 1'800'000);
    EXPECT_EQ(report.dispatch_spans, 0u);
    for (const GroupBy by : {GroupBy::kOp, GroupBy::kKernel, GroupBy::kLayer}) {
        const Report other = report_of(feed_whole_steps, by);
        EXPECT_TRUE(other.rows.empty()) << to_text(by);
        EXPECT_EQ(other.ungrouped, 0u);
    }
    EXPECT_EQ(report_of(feed_whole_steps, GroupBy::kStep).rows.size(), 3u);
    const auto notes = notes_of(report);
    EXPECT_TRUE(std::any_of(notes.begin(), notes.end(),
                            [](const ReportNote& note) { return note.text.rfind("kernels were not timed", 0) == 0; }));
}

// A stride at level basic is no news of kernels: none was timed.
TEST(ReportMarks, AStrideIsNotedOnlyWhereSomethingIsTimed) {
    for (const char* level : {"basic", "kernel"}) {
        const Report report = report_of([&](SpanSink& sink) { StreamWriter{sink}.process("engine", level, 5); });
        const auto notes = notes_of(report);
        const bool told = std::any_of(notes.begin(), notes.end(), [](const ReportNote& note) {
            return note.text.find("kernels were timed") != std::string::npos;
        });
        EXPECT_EQ(told, std::string(level) == "kernel");
    }
}

}    // namespace
}    // namespace lapwing
