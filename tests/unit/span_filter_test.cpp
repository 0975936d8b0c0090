// A part of a stream.
#include "lapwing/span_filter.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "unit/trace/capture_sink.hpp"

namespace lapwing {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Site site(std::string label, std::string op, std::string kernel, SpanKind kind, bool warmup = false) {
    Site out;
    out.label = std::move(label);
    out.op = std::move(op);
    out.kernel = std::move(kernel);
    out.kind = kind;
    out.warmup = warmup;
    return out;
}

// Two devices of process 7 and a thread of the process "GPU 0"; spans 0 to 5 begin at 0, 10, ... 50.
Status drive(SpanSink& to) {
    static_cast<void>(to.process({.pid = 7, .command = {}, .lapwing_version = {}, .level = {}}));
    static_cast<void>(to.device({.id = 1, .name = "Tesla V100"}));
    static_cast<void>(to.device({.id = 2, .name = "llvmpipe"}));
    static_cast<void>(to.track({.id = 1, .kind = TrackKind::kDeviceQueue, .device = 1, .name = "queue"}));
    static_cast<void>(to.track({.id = 2, .kind = TrackKind::kDeviceQueue, .device = 2, .name = "queue"}));
    static_cast<void>(
        to.track({.id = 3, .kind = TrackKind::kHostThread, .device = 0, .name = "thread", .process = "GPU 0"}));
    static_cast<void>(to.site(1, site("norm-0", "RMS_NORM", "rms_f32", SpanKind::kDispatch)));
    static_cast<void>(to.site(2, site("out", "MUL_MAT", "mul_f32", SpanKind::kDispatch, true)));
    static_cast<void>(to.site(3, site("", "", "", SpanKind::kCopy)));
    static_cast<void>(to.site(4, site("wait", "", "", SpanKind::kHost)));
    const std::vector<SpanRecord> spans{{0, 5, 1, 0, 1},  {10, 5, 2, 0, 1}, {20, 5, 3, 0, 2},
                                        {30, 5, 4, 0, 3}, {40, 5, 1, 1, 2}, {50, 5, 9, 1, 1}};
    static_cast<void>(to.step({.index = 0, .begin_ns = 0, .end_ns = 35, .dispatches = 2}));
    static_cast<void>(to.spans(spans));
    static_cast<void>(to.step({.index = 1, .begin_ns = 38, .end_ns = 60, .dispatches = 2}));
    RecordingStats stats;
    stats.window_begin_ns = -5;
    stats.window_end_ns = 70;
    static_cast<void>(to.stats(stats));
    return to.flush();
}

struct Outcome {
    std::vector<int64_t> begins;
    test::CaptureSink sink;
    FilterCounts counts;
    std::string unanswered;
};

Outcome filtered(const SpanFilterOptions& options) {
    Outcome out;
    auto filter = make_span_filter(out.sink, options);
    EXPECT_TRUE(filter.ok());
    EXPECT_TRUE(drive(**filter).ok());
    for (const SpanRecord& span : out.sink.all) out.begins.push_back(span.begin_ns);
    out.counts = (*filter)->counts();
    out.unanswered = (*filter)->unanswered();
    EXPECT_EQ(out.counts.kept, out.begins.size());
    EXPECT_EQ(out.counts.kept + out.counts.left_out, 6u);
    return out;
}

TEST(SpanFilter, WithoutConditionsAllPasses) {
    EXPECT_FALSE(SpanFilterOptions{}.any());
    const Outcome out = filtered({});
    EXPECT_THAT(out.begins, ElementsAre(0, 10, 20, 30, 40, 50));
    EXPECT_EQ(out.sink.steps.size(), 2u);
    EXPECT_EQ(out.sink.steps[0].dispatches, 2u);
}

TEST(SpanFilter, MatchLooksAtLabelOpAndKernel) {
    EXPECT_THAT(filtered({.match = "^norm"}).begins, ElementsAre(0, 40));
    EXPECT_THAT(filtered({.match = "MUL|wait"}).begins, ElementsAre(10, 30));
    EXPECT_THAT(filtered({.match = "_f32$"}).begins, ElementsAre(0, 10, 40));
    EXPECT_THAT(filtered({.match = "nothing"}).begins, IsEmpty());
}

TEST(SpanFilter, KindsDevicesProcessesAndWarmUpAreConditions) {
    EXPECT_THAT(filtered({.kinds = {SpanKind::kCopy, SpanKind::kHost}}).begins, ElementsAre(20, 30));
    EXPECT_THAT(filtered({.devices = {"2"}}).begins, ElementsAre(20, 40));
    EXPECT_THAT(filtered({.devices = {"Tesla"}}).begins, ElementsAre(0, 10, 50));
    EXPECT_THAT(filtered({.processes = {"GPU 0"}}).begins, ElementsAre(30));
    EXPECT_THAT(filtered({.processes = {"7"}}).begins, ElementsAre(0, 10, 20, 40, 50));
    EXPECT_THAT(filtered({.no_warmup = true}).begins, ElementsAre(0, 20, 30, 40, 50));
    EXPECT_THAT(filtered({.match = "norm", .devices = {"llvm", "9"}}).begins, ElementsAre(40));
}

TEST(SpanFilter, TimeRangeTakesSpansAndStepsThatBeginInItAndCutsTheWindow) {
    const Outcome out = filtered({.from_ns = 10, .to_ns = 40});
    EXPECT_THAT(out.begins, ElementsAre(10, 20, 30));
    ASSERT_EQ(out.sink.steps.size(), 1u);
    EXPECT_EQ(out.sink.steps[0].index, 1u);
    EXPECT_EQ(out.sink.latest_stats->window_begin_ns, 10);
    EXPECT_EQ(out.sink.latest_stats->window_end_ns, 40);
}

TEST(SpanFilter, StepsCountTheDispatchesThatPassed) {
    const Outcome out = filtered({.match = "norm"});
    ASSERT_EQ(out.sink.steps.size(), 2u);
    EXPECT_EQ(out.sink.steps[0].dispatches, 1u);
    EXPECT_EQ(out.sink.steps[1].dispatches, 1u);
    EXPECT_EQ(out.counts.left_out, 4u);
    EXPECT_EQ(out.counts.left_out_device, 3u);
}

TEST(SpanFilter, OnlySitesOfSpansThatPassAreAnnounced) {
    const Outcome out = filtered({.match = "norm"});
    ASSERT_EQ(out.sink.sites.size(), 1u);
    EXPECT_EQ(out.sink.sites.begin()->second.label, "norm-0");
    EXPECT_EQ(out.sink.used_before_announced, 0);
}

TEST(SpanFilter, SaysWhichDeviceOrProcessIsNotThere) {
    EXPECT_EQ(filtered({.devices = {"Tesla"}}).unanswered, "");
    EXPECT_THAT(filtered({.devices = {"Tesla", "A100"}}).unanswered,
                HasSubstr("no device is 'A100'; there is 1 (Tesla V100), 2 (llvmpipe)"));
    EXPECT_THAT(filtered({.processes = {"8"}}).unanswered, HasSubstr("no process is '8'; there is 7, GPU 0"));
}

TEST(SpanFilter, BadConditionsAreRefused) {
    test::CaptureSink sink;
    EXPECT_THAT(make_span_filter(sink, {.match = "("}).error().message, HasSubstr("regular expression"));
    EXPECT_THAT(make_span_filter(sink, {.from_ns = 5, .to_ns = 5}).error().message, HasSubstr("empty"));
    EXPECT_THAT(parse_span_kinds("dispatch,cpy").error().message, HasSubstr("no kind 'cpy'"));
    EXPECT_FALSE(parse_span_kinds("").ok());
    EXPECT_FALSE(parse_span_kinds("copy,").ok());
    EXPECT_THAT(*parse_span_kinds("fill,host"), ElementsAre(SpanKind::kFill, SpanKind::kHost));
}

TEST(FirstMoment, IsThatOfSpansStepsAndTheWindow) {
    FirstMoment first;
    EXPECT_FALSE(first.ns().has_value());
    EXPECT_TRUE(drive(first).ok());
    EXPECT_EQ(first.ns(), -5);
}

}    // namespace
}    // namespace lapwing
