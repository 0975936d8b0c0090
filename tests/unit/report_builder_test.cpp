// The figures of reports of small streams, worked out by hand.
#include <gtest/gtest.h>

#include "lapwing/report.hpp"
#include "report_streams.hpp"

namespace lapwing {
namespace {

using testing::make_site;
using testing::report_of;
using testing::StreamWriter;

const ReportRow* find_row(const Report& report, const std::string& name) {
    for (const ReportRow& row : report.rows) {
        if (row.name == name) return &row;
    }
    return nullptr;
}

std::vector<std::string> names_of(const Report& report) {
    std::vector<std::string> names;
    for (const ReportRow& row : report.rows) names.push_back(row.name);
    return names;
}

TEST(Report, OpFallsBackToKernelThenKindSpanBySpan) {
    const auto feed = [](SpanSink& sink) {
        StreamWriter stream{sink};
        stream.device(1, "gpu");
        const TrackId queue = stream.queue(1, "queue 0");
        stream.span(queue, stream.site(make_site("MUL_MAT", "mul_mat_vec")), 0, 50);
        stream.span(queue, stream.site(make_site("", "scale_f32")), 50, 40);
        stream.span(queue, stream.site(make_site("", "", SpanKind::kCopy)), 90, 30);
        stream.span(queue, stream.site(make_site("", "", SpanKind::kFill)), 120, 20);
    };
    const Report report = report_of(feed);
    EXPECT_EQ(report.by, GroupBy::kOp);
    EXPECT_EQ(names_of(report), (std::vector<std::string>{"MUL_MAT", "scale_f32", "copy", "fill"}));
    EXPECT_EQ(names_of(report_of(feed, GroupBy::kKernel)),
              (std::vector<std::string>{"mul_mat_vec", "scale_f32", "copy", "fill"}));
}

TEST(Report, GroupsByKernelWhereNoOpIsNamedAndByNameWhereNothingIs) {
    const auto with_kernel = [](SpanSink& sink) {
        StreamWriter stream{sink};
        stream.span(stream.queue(1, "q"), stream.site(make_site("", "scale_f32")), 0, 1);
    };
    const auto with_nothing = [](SpanSink& sink) {
        StreamWriter stream{sink};
        stream.span(stream.queue(1, "q"), stream.site(make_site("", "", SpanKind::kCopy)), 0, 1);
    };
    EXPECT_EQ(report_of(with_kernel).by, GroupBy::kKernel);
    EXPECT_EQ(report_of(with_nothing).by, GroupBy::kName);
}

TEST(Report, RowsOfEqualTotalAreInOrderOfTheirNames) {
    const Report report = report_of([](SpanSink& sink) {
        StreamWriter stream{sink};
        const TrackId queue = stream.queue(1, "q");
        for (const char* op : {"b", "c", "a"}) stream.span(queue, stream.site(make_site(op)), 0, 7);
    });
    EXPECT_EQ(names_of(report), (std::vector<std::string>{"a", "b", "c"}));
}

TEST(Report, HostSpansAreInRowsByNameAndQueueAlone) {
    const auto feed = [](SpanSink& sink) {
        StreamWriter stream{sink};
        const TrackId queue = stream.queue(1, "queue 0");
        const TrackId thread = stream.thread("thread 1");
        stream.span(queue, stream.site(make_site("MUL_MAT")), 10, 5, 0);
        stream.span(thread, stream.site(make_site("vkQueueSubmit", "", SpanKind::kHost)), 0, 100, 0);
        stream.step(0, 0, 20, 1);
    };
    for (const GroupBy by : {GroupBy::kOp, GroupBy::kKernel, GroupBy::kLayer, GroupBy::kStep})
        EXPECT_EQ(report_of(feed, by).total_ns, 5) << to_text(by);
    EXPECT_EQ(names_of(report_of(feed, GroupBy::kName)), (std::vector<std::string>{"vkQueueSubmit", "MUL_MAT"}));
    EXPECT_EQ(names_of(report_of(feed, GroupBy::kQueue)), (std::vector<std::string>{"thread 1", "queue 0"}));
    EXPECT_EQ(report_of(feed).busy_ns, 5);
    EXPECT_EQ(report_of(feed).spans, 1u);
    EXPECT_EQ(report_of(feed).host_spans, 1u);
    EXPECT_EQ(report_of(feed).window_ns, 100);
}

TEST(Report, DecodeStepsAreCountedAndTheWarmOneIsApart) {
    const Report report = report_of([](SpanSink& sink) { testing::feed_decode(sink); });
    EXPECT_EQ(report.steps.count, 33u);
    EXPECT_EQ(report.steps.gpu_ns.count, 32u);
    EXPECT_EQ(report.steps.with_warmup, 1u);
    EXPECT_EQ(report.dispatch_spans, 33u * 35u);
    EXPECT_EQ(report.begun(), report.stats.begun);
    EXPECT_EQ(report.unaccounted(), 0u);
    const ReportRow* gemm = find_row(report, "MUL_MAT");
    ASSERT_NE(gemm, nullptr);
    EXPECT_DOUBLE_EQ(*gemm->per_step_count, 11.0);
    EXPECT_EQ(gemm->spans.count + gemm->warmup_count, 33u * 11u);
}

TEST(Report, StepsNotArmedOrWithoutATimeAreNeverZeroes) {
    const Report report = report_of([](SpanSink& sink) {
        StreamWriter stream{sink};
        const TrackId queue = stream.queue(1, "q");
        const SiteId site = stream.site(make_site("MUL_MAT"));
        stream.span(queue, site, 10, 30, 0);
        stream.step(0, 0, 50, 1);
        stream.step(1, 50, 90, 1, false);
        stream.step(2, 90, 120, 1);
        stream.span(queue, site, 125, 30, 3);
        stream.step(3, 120, 160, 2);
        RecordingStats stats;
        stats.final = true;
        stream.stats(stats);
    });
    EXPECT_EQ(report.steps.count, 4u);
    EXPECT_EQ(report.steps.gpu_ns.count, 2u);
    EXPECT_EQ(report.steps.gpu_ns.min_ns, 30);
    EXPECT_EQ(report.steps.not_armed, 1u);
    EXPECT_EQ(report.steps.untimed, 1u);
    EXPECT_EQ(report.steps.incomplete, 1u);
    EXPECT_EQ(report.steps.missing_dispatches, 1u);
}

// Step 0 lacks a dispatch that the ring dropped, step 3 one that was lost, step 5 what the torn end took.
void feed_cut_steps(SpanSink& sink, uint64_t left_out, bool final) {
    StreamWriter stream{sink};
    const TrackId queue = stream.queue(1, "q");
    const SiteId site = stream.site(make_site("MUL_MAT"));
    for (uint32_t step = 0; step < 6; ++step) {
        const int64_t begin = 1000 + int64_t{step} * 100;
        const bool whole = step != 0 && step != 3 && step != 5;
        stream.span(queue, site, begin + 40, 10 + step, step);
        if (whole) stream.span(queue, site, begin + 60, 10, step);
        stream.step(step, begin, begin + 90, 2);
    }
    RecordingStats stats;
    stats.left_out = left_out;
    stats.window_begin_ns = 1030;
    stats.window_end_ns = 1550;
    stats.final = final;
    stream.stats(stats);
}

TEST(Report, StepsCutOffAtEitherEndAreNotInTheFiguresOfSteps) {
    const Report report = report_of([](SpanSink& sink) { feed_cut_steps(sink, 1, false); }, GroupBy::kStep);
    EXPECT_EQ(report.steps.count, 6u);
    EXPECT_EQ(report.steps.cut, 2u);
    EXPECT_EQ(report.steps.gpu_ns.count, 4u);
    EXPECT_EQ(report.steps.incomplete, 1u) << "a loss in the middle is no edge";
    EXPECT_EQ(report.steps.gpu_ns.max_ns, 24);
    ASSERT_EQ(report.rows.size(), 6u);
    for (const ReportRow& row : report.rows) EXPECT_EQ(row.step->cut, row.name == "0" || row.name == "5") << row.name;
}

TEST(Report, WholeRecordingCutsNoStep) {
    const Report report = report_of([](SpanSink& sink) { feed_cut_steps(sink, 0, true); });
    EXPECT_EQ(report.steps.cut, 0u);
    EXPECT_EQ(report.steps.incomplete, 3u);
}

TEST(Report, FullDiskCutsTheStepsAfterTheLastCountThatReachedIt) {
    const Report report = report_of([](SpanSink& sink) {
        feed_cut_steps(sink, 0, false);
        RecordingStats last_word;
        last_word.window_end_ns = 9000;
        last_word.final = true;
        last_word.write_error = 28;
        EXPECT_TRUE(sink.stats(last_word).ok());
    });
    EXPECT_EQ(report.steps.cut, 1u);
    EXPECT_EQ(report.steps.incomplete, 2u);
}

// Two processes, each busy all through its own step; what they share is one GPU, or not.
Report report_of_two_processes(const std::string& first_uuid, const std::string& second_uuid) {
    return report_of([&](SpanSink& sink) {
        StreamWriter stream{sink};
        for (uint32_t process = 0; process < 2; ++process) {
            stream.process(process == 0 ? "parent" : "child");
            DeviceInfo device{.id = process + 1, .api = "vulkan", .name = "gpu", .driver = "", .clock = {}};
            device.uuid = process == 0 ? first_uuid : second_uuid;
            EXPECT_TRUE(sink.device(device).ok());
            const TrackId queue = stream.queue(process + 1, "queue 0");
            const SiteId site = stream.site(make_site("MUL_MAT"));
            const int64_t begin = 1000 + process * 100;
            stream.span(queue, site, begin, 100, process);
            stream.step(process, begin, begin + 100, 1);
        }
        RecordingStats stats;
        stats.final = true;
        stream.stats(stats);
    });
}

TEST(Report, GpuThatTwoProcessesShareIsCountedOnce) {
    const Report report = report_of_two_processes("aa", "aa");
    EXPECT_EQ(report.gpus, 1u);
    EXPECT_EQ(report.device_figures.size(), 2u);
    EXPECT_EQ(report.busy_ns, 200);
    EXPECT_DOUBLE_EQ(*report.coverage_of_wall, 1.0);
    EXPECT_DOUBLE_EQ(*report.steps.gpu_share, 1.0);
}

TEST(Report, StepIsMeasuredAgainstTheGpusOfItsOwnProcess) {
    for (const char* other : {"bb", ""}) {
        const Report report = report_of_two_processes("aa", other);
        EXPECT_EQ(report.gpus, 2u);
        EXPECT_DOUBLE_EQ(*report.coverage_of_wall, 0.5) << "each is busy half of the window";
        EXPECT_DOUBLE_EQ(*report.steps.gpu_share, 1.0);
    }
}

TEST(Report, SpansOfOneGpuThatOverlapAcrossProcessesAreBusyOnce) {
    const Report report = report_of([](SpanSink& sink) {
        StreamWriter stream{sink};
        for (uint32_t id = 1; id <= 2; ++id) {
            DeviceInfo device{.id = id, .api = "vulkan", .name = "gpu", .driver = "", .clock = {}};
            device.uuid = "aa";
            EXPECT_TRUE(sink.device(device).ok());
            stream.span(stream.queue(id, "q"), stream.site(make_site("MUL_MAT")), 100 * id, 150);
        }
    });
    EXPECT_EQ(report.busy_ns, 250);
    EXPECT_EQ(report.device_figures[0].busy_ns, 150);
}

TEST(Report, SpansOfAStepThatNeverFinishedAreOutsideTheCount) {
    const auto feed = [](SpanSink& sink) {
        StreamWriter stream{sink};
        const TrackId queue = stream.queue(1, "q");
        const SiteId site = stream.site(make_site("MUL_MAT"));
        stream.span(queue, site, 10, 30, 0);
        stream.step(0, 0, 50, 1);
        stream.span(queue, site, 60, 30, 1);
        stream.span(queue, site, 95, 5);
    };
    const Report report = report_of(feed, GroupBy::kStep);
    EXPECT_EQ(report.steps.count, 1u);
    EXPECT_EQ(report.outside_steps, 2u);
    EXPECT_EQ(names_of(report), (std::vector<std::string>{"0", "1", "-"}));
    EXPECT_FALSE(report.rows[1].step->finished);
    EXPECT_FALSE(report.rows[2].step.has_value());
    EXPECT_DOUBLE_EQ(*report_of(feed, GroupBy::kOp).rows[0].per_step_ns, 30.0);
}

TEST(Report, LatestWordOnADeviceASiteAndTheStatsCounts) {
    const Report report = report_of([](SpanSink& sink) {
        StreamWriter stream{sink};
        stream.device(1, "gpu", 1);
        const TrackId queue = stream.queue(1, "q");
        const SiteId site = stream.site(make_site("early"));
        stream.span(queue, site, 0, 10);
        EXPECT_TRUE(sink.site(site, make_site("late")).ok());
        stream.device(1, "gpu", 52.083);
        RecordingStats stats;
        stats.begun = 5;
        stream.stats(stats);
        stats.begun = 9;
        stats.lost[LossReason::kRingFull] = 2;
        stream.stats(stats);
    });
    ASSERT_EQ(report.devices.size(), 1u);
    EXPECT_DOUBLE_EQ(report.devices[0].clock.resolution_ns, 52.083);
    EXPECT_EQ(report.rows[0].name, "late");
    EXPECT_EQ(report.begun(), 3u);
    EXPECT_EQ(report.unaccounted(), 6u);
}

TEST(Report, ImpossibleTimesAreLeftOutAndCounted) {
    const Report report = report_of([](SpanSink& sink) {
        StreamWriter stream{sink};
        const TrackId queue = stream.queue(1, "q");
        const SiteId site = stream.site(make_site("MUL_MAT"));
        stream.span(queue, site, 0, -1);
        stream.span(queue, site, INT64_MAX, 1);
        stream.span(queue, site, INT64_MIN, INT64_MAX);
        stream.span(queue, site, 0, INT64_MAX);
        stream.step(0, 100, 50, 1);
    });
    EXPECT_EQ(report.refused, 3u);
    EXPECT_EQ(report.spans, 2u);
    EXPECT_EQ(report.total_ns, INT64_MAX);
    EXPECT_EQ(report.window_ns, INT64_MAX);
}

TEST(Report, HugeSiteStepAndTrackNumbersCostNoMemory) {
    const Report report = report_of([](SpanSink& sink) {
        StreamWriter stream{sink};
        stream.span(65535, 0xfffffffeu, 0, 10, 0xfffffffeu);
        stream.span(65535, 0, 10, 10, 0);
    });
    EXPECT_EQ(report.spans, 2u);
    ASSERT_EQ(report.rows.size(), 1u);
    EXPECT_EQ(report.rows[0].name, "(unknown)");
}

TEST(Report, DurationsAboveFourSecondsStayExact) {
    const Report report = report_of([](SpanSink& sink) {
        StreamWriter stream{sink};
        const TrackId queue = stream.queue(1, "q");
        const SiteId site = stream.site(make_site("MUL_MAT"));
        int64_t begin = 0;
        for (const int64_t duration : {int64_t{4294967294}, int64_t{4294967295}, int64_t{3}, int64_t{90000000001}}) {
            stream.span(queue, site, begin, duration, static_cast<uint32_t>(begin % 2));
            begin += duration;
        }
    });
    EXPECT_EQ(report.rows[0].spans.max_ns, 90000000001);
    EXPECT_EQ(report.rows[0].spans.min_ns, 3);
    EXPECT_EQ(report.total_ns, 4294967294 + 4294967295 + 3 + 90000000001);
    EXPECT_EQ(report.busy_ns, report.total_ns);
}

TEST(Report, QueuesOfSeveralDevicesAreToldApart) {
    const Report report = report_of(
        [](SpanSink& sink) {
            StreamWriter stream{sink};
            stream.device(1, "gpu");
            stream.device(2, "gpu");
            const SiteId site = stream.site(make_site("MUL_MAT"));
            stream.span(stream.queue(1, "queue 0"), site, 0, 30);
            stream.span(stream.queue(2, "queue 0"), site, 0, 20);
            stream.span(stream.queue(2, "queue 0"), site, 0, 10);
        },
        GroupBy::kQueue);
    EXPECT_EQ(names_of(report), (std::vector<std::string>{"queue 0 (device 1)", "queue 0 (device 2) [track 2]",
                                                          "queue 0 (device 2) [track 3]"}));
    EXPECT_EQ(report.busy_ns, 50);
    EXPECT_DOUBLE_EQ(*report.coverage_of_wall, 50.0 / 60.0);
}

TEST(Report, EstimatesAreInTheRowsAndCountedApart) {
    const Report report = report_of([](SpanSink& sink) {
        StreamWriter stream{sink};
        Site site = make_site("MUL_MAT");
        const SiteId measured = stream.site(site);
        site.validity = Validity::kEstimated;
        site.note = "submit-level stamps";
        const SiteId estimated = stream.site(site);
        const TrackId queue = stream.queue(1, "q");
        stream.span(queue, measured, 0, 10);
        stream.span(queue, estimated, 10, 10);
    });
    EXPECT_EQ(report.spans, 1u);
    EXPECT_EQ(report.estimated, 1u);
    ASSERT_EQ(report.rows.size(), 1u);
    EXPECT_EQ(report.rows[0].spans.count, 2u);
    EXPECT_EQ(report.rows[0].estimated_count, 1u);
}

TEST(Report, EmptyStreamHasNoRowsAndKnowsNothing) {
    const Report report = report_of([](SpanSink&) {});
    EXPECT_TRUE(report.rows.empty());
    EXPECT_FALSE(report.has_stats);
    EXPECT_FALSE(report.coverage_of_wall.has_value());
    EXPECT_EQ(report.window_ns, 0);
}

TEST(GroupBy, NamesAreStrictAndTheErrorListsThem) {
    for (const char* name : {"op", "kernel", "layer", "step", "queue", "name"}) {
        const Result<GroupBy> parsed = parse_group_by(name);
        ASSERT_TRUE(parsed.ok());
        EXPECT_STREQ(to_text(parsed.value()), name);
    }
    const Result<GroupBy> bad = parse_group_by("Op");
    ASSERT_FALSE(bad.ok());
    EXPECT_EQ(bad.error().code, Errc::kInvalidArgument);
    EXPECT_NE(bad.error().message.find("op, kernel, layer, step, queue, name"), std::string::npos);
}

}    // namespace
}    // namespace lapwing
