// Totals of all steps, scaled up from those that were timed, and how far they may be trusted.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

#include "unit/report_streams.hpp"

namespace lapwing {
namespace {

using testing::make_site;
using testing::report_of;
using testing::StreamWriter;

constexpr int64_t kGapNs = 1'000'000;

/// Steps of one span each; `timed` says which of them have it.
struct Steps {
    std::vector<int64_t> steps_ns;
    std::function<bool(uint32_t)> timed = [](uint32_t) { return true; };
    std::function<bool(uint32_t)> sampled = [](uint32_t) { return true; };

    void operator()(SpanSink& sink) const {
        StreamWriter stream{sink};
        stream.process("engine");
        stream.device(1, "gpu");
        const TrackId queue = stream.queue(1, "queue 0");
        const SiteId site = stream.site(make_site("MUL_MAT", "mul_mat"));
        int64_t now = 1'000'000'000;
        for (uint32_t i = 0; i < steps_ns.size(); ++i, now += kGapNs) {
            if (timed(i)) stream.span(queue, site, now, steps_ns[i], i);
            StepRecord step{i, now, now + steps_ns[i], 1, timed(i)};
            step.sampled = sampled(i);
            step.untimed = timed(i) ? 0 : 1;
            EXPECT_TRUE(sink.step(step).ok());
            now += steps_ns[i];
        }
        RecordingStats stats;
        stats.final = true;
        stats.executed_dispatches = steps_ns.size();
        for (uint32_t i = 0; i < steps_ns.size(); ++i) stats.recorded += timed(i) ? 1 : 0;
        stats.begun = stats.recorded;
        stream.stats(stats);
    }
    [[nodiscard]] double truth() const {
        double sum = 0;
        for (uint32_t i = 0; i < steps_ns.size(); ++i) sum += sampled(i) ? static_cast<double>(steps_ns[i]) : 0;
        return sum;
    }
};

std::vector<int64_t> random_steps(std::mt19937_64& random, std::size_t count) {
    std::lognormal_distribution<double> spread(0, 0.3);    // long towards the slow side, as steps are
    std::vector<int64_t> out(count);
    for (int64_t& step : out) step = std::llround(100'000 * spread(random));
    return out;
}

TEST(Sampling, EveryStepTimedLeavesNothingToScale) {
    std::mt19937_64 random{1};
    const Report report = report_of(Steps{random_steps(random, 100)});
    EXPECT_FALSE(report.sampling);
    EXPECT_FALSE(report.rows.at(0).scaled);
    EXPECT_EQ(to_text(report).find("95 %"), std::string::npos) << to_text(report);
}

TEST(Sampling, TheTrueTotalLiesInTheIntervalAsOftenAsItShould) {
    std::mt19937_64 random{4711};
    constexpr int kTrials = 1000;
    int inside = 0;
    for (int trial = 0; trial < kTrials; ++trial) {
        const Steps run{.steps_ns = random_steps(random, 400), .timed = [](uint32_t step) { return step % 8 == 0; }};
        const Report report = report_of(run);
        const ScaledTotal& scaled = *report.rows.at(0).scaled;
        inside += std::abs(scaled.total_ns - run.truth()) <= *scaled.error_ns ? 1 : 0;
    }
    EXPECT_GE(inside, 0.93 * kTrials);
    EXPECT_LE(inside, 0.97 * kTrials) << "an interval that is too wide is not one of 95 %";
}

TEST(Sampling, TheFormulaIsTheOneThatIsDocumented) {
    // Four of eight steps: 1, 2, 3 and 6 ms. Mean 3, s^2 = 14/3.
    const Steps run{.steps_ns = {1'000'000, 9, 2'000'000, 9, 3'000'000, 9, 6'000'000, 9},
                    .timed = [](uint32_t step) { return step % 2 == 0; }};
    const Report report = report_of(run);
    ASSERT_TRUE(report.sampling);
    EXPECT_EQ(report.sampling->steps, 8u);
    EXPECT_EQ(report.sampling->timed, 4u);
    EXPECT_DOUBLE_EQ(report.sampling->gpu.total_ns, 24e6);
    const double expected = 3.182 * 8 * std::sqrt(0.5 * (14.0 / 3) / 4) * 1e6;
    EXPECT_NEAR(*report.sampling->gpu.error_ns, expected, 1);
    EXPECT_NEAR(*report.rows.at(0).scaled->error_ns, expected, 1);
}

TEST(Sampling, StepsWithoutAnOpCountAsZeroForIt) {
    const auto feed = [](SpanSink& sink) {
        StreamWriter stream{sink};
        stream.process("engine");
        const TrackId queue = stream.queue(1, "queue 0");
        const SiteId always = stream.site(make_site("ADD"));
        const SiteId rare = stream.site(make_site("COPY"));
        for (uint32_t i = 0; i < 40; ++i) {
            const int64_t now = 1000 * int64_t{i};
            if (i % 2 == 0) stream.span(queue, always, now, 100, i);
            if (i % 8 == 0) stream.span(queue, rare, now + 100, 40, i);
            stream.step(i, now, now + 200, 1, i % 2 == 0);
        }
    };
    const Report report = report_of(feed, GroupBy::kOp);
    ASSERT_EQ(report.rows.size(), 2u);
    EXPECT_EQ(report.rows[0].name, "ADD");
    EXPECT_DOUBLE_EQ(report.rows[0].scaled->total_ns, 4000);
    EXPECT_DOUBLE_EQ(*report.rows[0].scaled->error_ns, 0) << "every step is the same";
    EXPECT_DOUBLE_EQ(report.rows[1].scaled->total_ns, 400);
    EXPECT_GT(*report.rows[1].scaled->error_ns, 100);
}

TEST(Sampling, SkippedStepsAndThoseAfterTheDurationAreNotStoodFor) {
    std::mt19937_64 random{2};
    const Steps run{.steps_ns = random_steps(random, 100),
                    .timed = [](uint32_t step) { return step >= 10 && step < 60 && step % 2 == 0; },
                    .sampled = [](uint32_t step) { return step >= 10 && step < 60; }};
    const Report report = report_of(run);
    EXPECT_EQ(report.sampling->steps, 50u);
    EXPECT_EQ(report.sampling->timed, 25u);
    EXPECT_NEAR(report.sampling->gpu.total_ns, run.truth(), *report.sampling->gpu.error_ns);
}

TEST(Sampling, WarmUpStandsApart) {
    const auto feed = [](SpanSink& sink) {
        StreamWriter stream{sink};
        stream.process("engine");
        const TrackId queue = stream.queue(1, "queue 0");
        Site first = make_site("ADD");
        first.warmup = true;
        const SiteId compiling = stream.site(first);
        const SiteId steady = stream.site(make_site("ADD"));
        for (uint32_t i = 0; i < 9; ++i) {
            const int64_t now = 1'000'000'000 * int64_t{i};
            if (i % 2 == 0) stream.span(queue, i == 0 ? compiling : steady, now, i == 0 ? 900'000'000 : 100, i);
            stream.step(i, now, now + 200, 1, i % 2 == 0);
        }
    };
    const Report report = report_of(feed);
    EXPECT_EQ(report.sampling->steps, 8u);
    EXPECT_EQ(report.sampling->timed, 4u);
    EXPECT_DOUBLE_EQ(report.sampling->gpu.total_ns, 800);
}

TEST(Sampling, AStepThatLacksDispatchesStandsForNoOther) {
    const auto feed = [](SpanSink& sink) {
        StreamWriter stream{sink};
        stream.process("engine");
        const TrackId queue = stream.queue(1, "queue 0");
        const SiteId site = stream.site(make_site("ADD"));
        for (uint32_t i = 0; i < 8; ++i) {
            const int64_t now = 1000 * int64_t{i};
            if (i % 2 == 0) stream.span(queue, site, now, 100, i);
            stream.step(i, now, now + 200, i == 4 ? 2 : 1, i % 2 == 0);
        }
    };
    const Report report = report_of(feed);
    EXPECT_EQ(report.sampling->timed, 3u);
    EXPECT_DOUBLE_EQ(report.sampling->gpu.total_ns, 800);
}

TEST(Sampling, ASingleTimedStepHasNoInterval) {
    const Steps run{.steps_ns = {100, 100, 100}, .timed = [](uint32_t step) { return step == 0; }};
    const Report report = report_of(run);
    EXPECT_DOUBLE_EQ(report.sampling->gpu.total_ns, 300);
    EXPECT_FALSE(report.sampling->gpu.error_ns);
}

TEST(Sampling, EveryFormatSaysIt) {
    const Steps run{.steps_ns = std::vector<int64_t>(64, 100'000),
                    .timed = [](uint32_t step) { return step % 16 == 0; }};
    const Report report = report_of(run);
    for (const std::string& text : {to_text(report), to_markdown(report)}) {
        EXPECT_NE(text.find("GPU time of all 64 steps about 6.40 ms"), std::string::npos) << text;
        EXPECT_NE(text.find("from 4 that were timed"), std::string::npos) << text;
        EXPECT_NE(text.find("at least"), std::string::npos) << "coverage is a lower bound: " << text;
        EXPECT_NE(text.find("all steps"), std::string::npos);
    }
    EXPECT_NE(to_json(report).find("\"sampling\": {\n    \"steps\": 64,\n    \"timed\": 4"), std::string::npos);
    EXPECT_NE(to_csv(report).find(",6400000,0,"), std::string::npos) << to_csv(report);
}

TEST(Report, LaunchesWithoutStampsInArmedStepsAreTold) {
    const auto feed = [](SpanSink& sink) {
        StreamWriter stream{sink};
        stream.process("engine");
        const TrackId queue = stream.queue(1, "queue 0");
        stream.span(queue, stream.site(make_site("ADD")), 10, 100, 0);
        StepRecord step{0, 0, 200, 13, true};
        step.untimed = 12;
        EXPECT_TRUE(sink.step(step).ok());
    };
    const Report report = report_of(feed);
    EXPECT_EQ(report.steps.untimed_dispatches, 12u);
    const std::vector<ReportNote> notes = notes_of(report);
    EXPECT_TRUE(std::any_of(notes.begin(), notes.end(), [](const ReportNote& note) {
        return note.text.find("12 launches in armed steps came from command buffers recorded while timing was off") ==
               0;
    }));
}

TEST(Report, ABudgetIsShownWithWhatItCameTo) {
    RecordingStats stats;
    stats.final = true;
    stats.window_end_ns = 1'000'000;
    stats.budget_ppm = 10'000;
    stats.budget_share_ppm = 8'100;
    stats.armed_step_ns = 20'000;
    stats.stride = 23;
    stats.stride_changes = 1;
    const Report held = report_of([&](SpanSink& sink) { EXPECT_TRUE(sink.stats(stats).ok()); });
    const std::string text = to_text(held, {.width = 240});
    EXPECT_NE(text.find("1.00 % of wall; own cost came to 0.81 %"), std::string::npos) << text;
    EXPECT_NE(text.find("one step in 23 timed at the end, changed 1 time"), std::string::npos) << text;
    EXPECT_EQ(text.find("not held"), std::string::npos);
    stats.budget_share_ppm = 20'000;
    const Report broken = report_of([&](SpanSink& sink) { EXPECT_TRUE(sink.stats(stats).ok()); });
    EXPECT_NE(to_text(broken).find("the budget was not held"), std::string::npos);
}

TEST(Report, AtLevelBasicStepsAndLaunchesAreShown) {
    const auto feed = [](SpanSink& sink) {
        StreamWriter stream{sink};
        stream.process("engine", "basic");
        for (uint32_t i = 0; i < 3; ++i) stream.step(i, 1000 * i, 1000 * i + 500, 35, false);
        RecordingStats stats;
        stats.executed_dispatches = 105;
        stats.final = true;
        stream.stats(stats);
    };
    const std::string text = to_text(report_of(feed));
    EXPECT_NE(text.find("3 steps, 105 dispatches executed in them, 35 a step"), std::string::npos) << text;
    EXPECT_NE(text.find("p50 500 ns"), std::string::npos) << text;
    const Report by_step = report_of(feed, GroupBy::kStep);
    ASSERT_EQ(by_step.rows.size(), 3u) << "steps without a span are rows too";
    EXPECT_EQ(by_step.rows[2].step->dispatches, 35u);
    EXPECT_NE(to_csv(by_step).find(",0,,500,35,"), std::string::npos) << to_csv(by_step);
}

}    // namespace
}    // namespace lapwing
