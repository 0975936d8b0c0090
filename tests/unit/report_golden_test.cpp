// Whole reports against approved files in tests/golden/report. After a look at the difference, accept it with
// LAPWING_APPROVE=1 in the environment of this test.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>

#include "lapwing/report.hpp"
#include "report_streams.hpp"

namespace lapwing {
namespace {

using testing::make_site;
using testing::StreamWriter;

void compare_with_approved(const std::string& name, const std::string& actual) {
    const std::string path = std::string{LAPWING_GOLDEN_FOLDER} + "/" + name;
    const char* approve = std::getenv("LAPWING_APPROVE");
    if (approve != nullptr && std::string{approve} == "1") {
        std::ofstream out{path, std::ios::binary};
        out << actual;
        ASSERT_TRUE(out.good()) << "cannot write " << path;
        return;
    }
    std::ifstream in{path, std::ios::binary};
    ASSERT_TRUE(in.good()) << path << " is missing; write it with LAPWING_APPROVE=1";
    const std::string approved{std::istreambuf_iterator<char>{in}, std::istreambuf_iterator<char>{}};
    EXPECT_EQ(actual, approved) << path << ": if the new output is right, accept it with LAPWING_APPROVE=1";
}

void feed_nothing(SpanSink& sink) {
    StreamWriter stream{sink};
    stream.process("llama-bench -m tiny.gguf -n 32");
}

void feed_one(SpanSink& sink) {
    StreamWriter stream{sink};
    stream.process("one");
    stream.device(1, "gpu", 52.0833, 36);
    stream.span(stream.queue(1, "queue 0"), stream.site(make_site("MUL_MAT", "mul_mat")), 1000, 25'000, 0);
    stream.step(0, 0, 40'000, 1);
    RecordingStats stats;
    stats.final = true;
    stats.begun = stats.recorded = stats.executed_dispatches = 1;
    stats.stamps = 2;
    stats.hook_ns = 700;
    stats.window_end_ns = 50'000;
    stream.stats(stats);
}

void feed_only_lost(SpanSink& sink) {
    StreamWriter stream{sink};
    stream.process("llama-bench -m tiny.gguf -n 32");
    stream.device(1, "gpu");
    RecordingStats stats;
    stats.final = true;
    stats.begun = 1155;
    stats.executed_dispatches = 1155;
    stats.lost[LossReason::kUnsupported] = 1120;
    stats.lost[LossReason::kAbandoned] = 35;
    stats.hook_ns = 80'000;
    stats.window_begin_ns = 1'000'000;
    stats.window_end_ns = 51'000'000;
    stream.stats(stats);
}

// Two devices at once, one of them with two queues that overlap, killed in the middle of a step.
void feed_several(SpanSink& sink) {
    StreamWriter stream{sink};
    stream.process("engine --devices 2", "kernel", 4);
    stream.device(1, "gpu A");
    stream.device(2, "gpu B", 83.3333, 36);
    stream.device(3, "gpu that did nothing");
    const TrackId queues[3] = {stream.queue(1, "compute"), stream.queue(2, "compute"), stream.queue(2, "transfer")};
    const SiteId gemm = stream.site(make_site("MUL_MAT", "mul_mat"));
    const SiteId copy = stream.site(make_site("", "", SpanKind::kCopy));
    for (uint32_t step = 0; step < 6; ++step) {
        const int64_t begin = 1'000'000 + int64_t{step} * 100'000;
        if (step % 4 == 0) {
            stream.span(queues[0], gemm, begin + 5'000, 60'000, step);
            stream.span(queues[1], gemm, begin + 5'000, 70'000, step);
            stream.span(queues[2], copy, begin + 40'000, 50'000, step);
        }
        if (step < 5) stream.step(step, begin, begin + 95'000, 3, step % 4 == 0);
    }
    stream.span(queues[0], gemm, 1'500'000, 10'000, 5);
    RecordingStats stats;
    stats.begun = 12;
    stats.recorded = 6;
    stats.executed_dispatches = 15;
    stats.stamps = 24;
    stats.hook_ns = 5'000;
    stats.lost[LossReason::kOverwritten] = 1;
    stats.window_begin_ns = 990'000;
    stats.window_end_ns = 1'480'000;
    stream.stats(stats);
}

struct Case {
    const char* name;
    std::function<void(SpanSink&)> feed;
};

const Case kStreams[] = {{"decode", [](SpanSink& sink) { testing::feed_decode(sink); }},
                         {"nothing", feed_nothing},
                         {"one", feed_one},
                         {"only_lost", feed_only_lost},
                         {"several", feed_several}};

Report golden_report(const Case& stream, std::optional<GroupBy> by = std::nullopt) {
    Report report = testing::report_of(stream.feed, by);
    report.file = std::string{stream.name} + ".pftrace";
    return report;
}

TEST(ReportGolden, TextOfEveryGroupingIsAsApproved) {
    for (const GroupBy by :
         {GroupBy::kOp, GroupBy::kKernel, GroupBy::kLayer, GroupBy::kStep, GroupBy::kQueue, GroupBy::kName}) {
        compare_with_approved(std::string{"decode_by_"} + to_text(by) + ".txt",
                              to_text(golden_report(kStreams[0], by)));
    }
}

TEST(ReportGolden, TextOfEveryStreamIsAsApproved) {
    for (const Case& stream : kStreams)
        compare_with_approved(std::string{stream.name} + ".txt", to_text(golden_report(stream)));
}

TEST(ReportGolden, NarrowTextIsAsApproved) {
    compare_with_approved("decode_narrow.txt", to_text(golden_report(kStreams[0], GroupBy::kKernel),
                                                       {.top = 5, .width = 60, .colour = false}));
}

TEST(ReportGolden, JsonOfEveryStreamIsAsApproved) {
    for (const Case& stream : kStreams)
        compare_with_approved(std::string{stream.name} + ".json", to_json(golden_report(stream)));
    compare_with_approved("several_by_step.json", to_json(golden_report(kStreams[4], GroupBy::kStep)));
}

TEST(ReportGolden, CsvAndMarkdownAreAsApproved) {
    compare_with_approved("decode.csv", to_csv(golden_report(kStreams[0])));
    compare_with_approved("decode.md", to_markdown(golden_report(kStreams[0])));
}

}    // namespace
}    // namespace lapwing
