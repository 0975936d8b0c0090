// Unions, percentiles and rows of random streams against brute force.
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
    if (random() % 2 == 0) {
        std::sort(spans.begin(), spans.end(),
                  [](const RandomSpan& a, const RandomSpan& b) { return a.begin_ns < b.begin_ns; });
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
            // Some streams have each device's spans on one queue, which is measured without a sort if in order.
            const std::size_t queue_count = spans.size() % 2 == 0 ? 2 : 1;
            std::size_t turn = 0;
            for (const RandomSpan& span : spans) {
                stream.span(queues[span.device - 1][turn++ % queue_count], sites[{span.op, span.warmup}], span.begin_ns,
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

}    // namespace
}    // namespace lapwing
