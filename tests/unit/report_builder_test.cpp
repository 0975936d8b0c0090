// Every figure of a report against figures worked out by hand or by brute force.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "lapwing/report.hpp"
#include "report_streams.hpp"
#include "views/distribution.hpp"
#include "views/natural_order.hpp"

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

// The spans of one random stream, for models that look at each nanosecond or sort everything.
struct RandomSpan {
    uint32_t device;
    int64_t begin_ns;
    int64_t end_ns;
    uint32_t step;
    bool warmup;
    uint32_t op;
};

std::vector<RandomSpan> random_spans(std::mt19937_64& random, std::size_t count) {
    std::vector<RandomSpan> spans;
    for (std::size_t i = 0; i < count; ++i) {
        const auto begin = static_cast<int64_t>(random() % 300);
        const auto duration = static_cast<int64_t>(random() % 40);
        const uint64_t step = random() % 5;
        spans.push_back({static_cast<uint32_t>(1 + random() % 2), begin, begin + duration,
                         step == 4 ? kNoStep : static_cast<uint32_t>(step), random() % 12 == 0,
                         static_cast<uint32_t>(random() % 4)});
    }
    return spans;
}

// Counts the nanoseconds that at least one chosen span covers, one by one.
template <class Choose>
int64_t covered_ns(const std::vector<RandomSpan>& spans, Choose&& choose) {
    std::set<int64_t> moments;
    for (const RandomSpan& span : spans) {
        if (!choose(span)) continue;
        for (int64_t moment = span.begin_ns; moment < span.end_ns; ++moment) moments.insert(moment);
    }
    return static_cast<int64_t>(moments.size());
}

Report report_of_random(const std::vector<RandomSpan>& spans, GroupBy by) {
    return report_of(
        [&](SpanSink& sink) {
            StreamWriter stream{sink};
            stream.device(1, "a");
            stream.device(2, "b");
            // Two queues a device: unions must merge across queues, and not across devices.
            const TrackId queues[2][2] = {{stream.queue(1, "q0"), stream.queue(1, "q1")},
                                          {stream.queue(2, "q0"), stream.queue(2, "q1")}};
            std::map<std::pair<uint32_t, bool>, SiteId> sites;
            for (uint32_t op = 0; op < 4; ++op) {
                for (const bool warmup : {false, true}) {
                    Site site = make_site("op" + std::to_string(op));
                    site.warmup = warmup;
                    sites[{op, warmup}] = stream.site(site);
                }
            }
            for (uint32_t step = 0; step < 4; ++step) stream.step(step, 0, 400, 0);
            std::size_t turn = 0;
            for (const RandomSpan& span : spans) {
                stream.span(queues[span.device - 1][turn++ % 2], sites[{span.op, span.warmup}], span.begin_ns,
                            span.end_ns - span.begin_ns, span.step);
            }
        },
        by);
}

TEST(ReportModel, BusyIsTheUnionPerDeviceSummedOverDevices) {
    std::mt19937_64 random{1};
    for (int round = 0; round < 60; ++round) {
        const std::vector<RandomSpan> spans = random_spans(random, 1 + random() % 60);
        const Report report = report_of_random(spans, GroupBy::kOp);
        int64_t expected = 0;
        for (const uint32_t device : {1u, 2u})
            expected += covered_ns(spans, [&](const RandomSpan& span) { return span.device == device; });
        ASSERT_EQ(report.busy_ns, expected) << "round " << round;
    }
}

TEST(ReportModel, GpuTimeOfStepsIsTheUnionOfTheirSpansAndWarmStepsAreApart) {
    std::mt19937_64 random{2};
    for (int round = 0; round < 60; ++round) {
        const std::vector<RandomSpan> spans = random_spans(random, 1 + random() % 60);
        const Report report = report_of_random(spans, GroupBy::kStep);
        std::vector<int64_t> gpu_ns;
        uint64_t with_warmup = 0;
        uint64_t untimed = 0;
        for (uint32_t step = 0; step < 4; ++step) {
            const auto in_step = [&](const RandomSpan& span) { return span.step == step; };
            const bool any = std::any_of(spans.begin(), spans.end(), in_step);
            const bool warm = std::any_of(spans.begin(), spans.end(),
                                          [&](const RandomSpan& span) { return in_step(span) && span.warmup; });
            int64_t busy = 0;
            for (const uint32_t device : {1u, 2u})
                busy +=
                    covered_ns(spans, [&](const RandomSpan& span) { return in_step(span) && span.device == device; });
            if (const ReportRow* row = find_row(report, std::to_string(step)); row != nullptr) {
                ASSERT_EQ(row->step->gpu_ns, busy);
            } else {
                ASSERT_FALSE(any);
            }
            with_warmup += warm ? 1 : 0;
            untimed += any ? 0 : 1;
            if (any && !warm) gpu_ns.push_back(busy);
        }
        const Distribution expected = detail::summarise(gpu_ns);
        ASSERT_EQ(report.steps.gpu_ns.count, expected.count);
        ASSERT_EQ(report.steps.gpu_ns.total_ns, expected.total_ns);
        ASSERT_EQ(report.steps.gpu_ns.p50_ns, expected.p50_ns);
        ASSERT_EQ(report.steps.with_warmup, with_warmup);
        ASSERT_EQ(report.steps.untimed, untimed);
        ASSERT_EQ(report.steps.count, 4u);
    }
}

TEST(ReportModel, RowsHoldExactlyTheSteadySpansOfTheirOp) {
    std::mt19937_64 random{3};
    for (int round = 0; round < 60; ++round) {
        const std::vector<RandomSpan> spans = random_spans(random, 1 + random() % 90);
        const Report report = report_of_random(spans, GroupBy::kOp);
        std::map<std::string, std::vector<int64_t>> steady;
        std::map<std::string, int64_t> warm_ns;
        for (const RandomSpan& span : spans) {
            const std::string name = "op" + std::to_string(span.op);
            steady[name];
            if (span.warmup) {
                warm_ns[name] += span.end_ns - span.begin_ns;
            } else {
                steady[name].push_back(span.end_ns - span.begin_ns);
            }
        }
        ASSERT_EQ(report.rows.size(), steady.size());
        for (auto& [name, values] : steady) {
            const ReportRow* row = find_row(report, name);
            ASSERT_NE(row, nullptr);
            std::sort(values.begin(), values.end());
            ASSERT_EQ(row->spans.count, values.size());
            ASSERT_EQ(row->warmup_ns, warm_ns[name]);
            if (values.empty()) continue;
            ASSERT_EQ(row->spans.min_ns, values.front());
            ASSERT_EQ(row->spans.max_ns, values.back());
        }
        int64_t before = INT64_MAX;
        for (const ReportRow& row : report.rows) {
            ASSERT_LE(row.spans.total_ns, before);
            before = row.spans.total_ns;
        }
    }
}

TEST(Distribution, PercentilesAreTheNearestRankOfTheSortedValues) {
    std::mt19937_64 random{4};
    for (std::size_t count = 1; count <= 420; ++count) {
        std::vector<int64_t> values;
        for (std::size_t i = 0; i < count; ++i) values.push_back(static_cast<int64_t>(random() % 1000));
        std::vector<int64_t> sorted = values;
        std::sort(sorted.begin(), sorted.end());
        const Distribution result = detail::summarise(values);
        const auto rank = [&](std::size_t percent) { return sorted[(count * percent + 99) / 100 - 1]; };
        ASSERT_EQ(result.p50_ns, rank(50)) << count;
        ASSERT_EQ(result.p90_ns, rank(90)) << count;
        ASSERT_EQ(result.p99_ns, rank(99)) << count;
        ASSERT_EQ(result.min_ns, sorted.front());
        ASSERT_EQ(result.max_ns, sorted.back());
    }
}

TEST(Distribution, SumsBeyondTheRangeStayAtItsEndInsteadOfWrapping) {
    std::vector<int64_t> values{INT64_MAX, INT64_MAX, 1};
    EXPECT_EQ(detail::summarise(values).total_ns, INT64_MAX);
}

TEST(NaturalOrder, NumbersCompareByValueAndNoneComesLast) {
    std::vector<std::string> names{"-", "10", "2", "b2", "b10", "b", "1"};
    std::sort(names.begin(), names.end(), detail::natural_less);
    EXPECT_EQ(names, (std::vector<std::string>{"1", "2", "10", "b", "b2", "b10", "-"}));
    EXPECT_FALSE(detail::natural_less("07", "07"));
    EXPECT_NE(detail::natural_less("07", "7"), detail::natural_less("7", "07"));
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
    });
    EXPECT_EQ(report.steps.count, 4u);
    EXPECT_EQ(report.steps.gpu_ns.count, 2u);
    EXPECT_EQ(report.steps.gpu_ns.min_ns, 30);
    EXPECT_EQ(report.steps.not_armed, 1u);
    EXPECT_EQ(report.steps.untimed, 1u);
    EXPECT_EQ(report.steps.incomplete, 1u);
    EXPECT_EQ(report.steps.missing_dispatches, 1u);
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
