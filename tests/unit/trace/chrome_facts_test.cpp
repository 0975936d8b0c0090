// Traces that other tools wrote, against facts that a script with decimal arithmetic found.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <ostream>
#include <set>
#include <string>

#include "lapwing/read_trace.hpp"
#include "unit/trace/capture_sink.hpp"

namespace lapwing {
namespace {

struct Figures {
    uint64_t spans = 0;
    int64_t total_ns = 0;
    uint64_t names = 0;
};

constexpr int64_t kUnknown = -1;

struct Facts {
    const char* file;
    uint64_t events;
    Figures device;    // of `cat` kernel, gpu_memcpy, gpu_memset; ONNX Runtime's Api
    Figures all;
    const char* flavour;
};

void PrintTo(const Facts& facts, std::ostream* out) {
    *out << facts.file;
}

constexpr const char* kKineto = "PyTorch (Kineto)";

constexpr Facts kFacts[] = {
    {"kineto_compare_base.json.gz", 33, {18, 1'694'000, 6}, {33, 224'906'000, 16}, kKineto},
    {"kineto_compare_test.json.gz", 34, {17, 1'690'000, 6}, {34, 225'364'000, 19}, kKineto},
    // Four of the older names Kernel and Memcpy, which the script did not count as device work.
    {"kineto_inference_rank1.json.gz", 54, {4, 30'000, 4}, {13, 1'047'538'000, 7}, kKineto},
    {"kineto_cpu_only.json.gz", 30, {0, 0, 0}, {16, 3'635'095'146, 4}, kKineto},
    {"kineto_event_sync.json.gz", 92, {5, 51'000, 5}, {33, 11'285'000, 27}, kKineto},
    {"kineto_event_sync_multi_stream.json.gz", 149, {6, 372'000, 2}, {57, 65'876'000, 18}, kKineto},
    {"kineto_rocm_mi250.json.gz", 220, {16, 149'042, 13}, {113, 52'276'266, 64}, kKineto},
    {"kineto_simple_add.json.gz", 1'348, {98, 49'816'000, 18}, {838, 306'668'311'000, 85}, kKineto},
    {"kineto_ranks_0.json.gz", 4'855, {1'204, 607'844'000, 199}, {4'811, kUnknown, 0}, kKineto},
    {"kineto_ranks_1.json.gz", 4'720, {1'154, 667'530'000, 188}, {4'676, kUnknown, 0}, kKineto},
    {"kineto_ns_resolution.json.gz", 68'692, {6'095, 472'454'441, 79}, {45'420, 3'437'226'132, 193}, kKineto},
    {"kineto_orphan_kernels.json.gz", 108'936, {7'747, 449'763'000, 91}, {67'217, 7'904'659'000, 295}, kKineto},
    {"vllm_decode_graph.json.gz", 1'993, {434, 10'717'708, 25}, {1'539, 26'516'513, 258}, kKineto},
    {"gpu_only_mi210.json.gz", 2'443, {562, 5'343'422, 45}, {1'194, 13'721'486, 50}, kKineto},
    {"bert_small_h100.json.gz", 2'551, {61, 309'437, 12}, {2'060, kUnknown, 0}, kKineto},
    {"bert_small_mi300.json.gz", 2'653, {61, 390'748, 12}, {2'133, kUnknown, 0}, kKineto},
    {"catapult_trivial_trace.json", 4, {0, 0, 0}, {2, 38'000, 2}, ""},
    {"catapult_simple_trace.json", 37, {0, 0, 0}, {12, 99'000, 12}, ""},
    {"catapult_nanoseconds.json", 16, {0, 0, 0}, {8, 2'020, 8}, ""},
    {"catapult_flow_simple.json", 10, {0, 0, 0}, {5, 1'020'000, 5}, ""},
    {"catapult_instant_events.json", 5, {0, 0, 0}, {0, 0, 0}, ""},
    {"catapult_instance_counters.json", 12, {0, 0, 0}, {2, 38'000, 2}, ""},
    {"catapult_nestable_async.json", 20, {0, 0, 0}, {0, 0, 0}, ""},
    {"viztracer_fib.json", 2, {0, 0, 0}, {2, 1'400, 2}, "VizTracer"},
    {"viztracer_multithread.json", 410, {0, 0, 0}, {404, 71'173'780, 32}, "VizTracer"},
    {"ort_webgpu_silero.json", 220, {68, kUnknown, 0}, {220, 14'897'373'000, 101}, "ONNX Runtime"},
    {"torch_autograd.json", 674, {0, 0, 0}, {674, 277'439'000, 34}, "PyTorch (autograd profiler)"},
};

Figures figures_of(const test::CaptureSink& sink, bool device_only) {
    Figures out;
    std::set<std::string> names;
    for (const SpanRecord& span : sink.all) {
        const bool device = sink.tracks.at(span.track).kind == TrackKind::kDeviceQueue;
        if (device_only && !device) continue;
        ++out.spans;
        out.total_ns += span.duration_ns;
        names.insert(sink.sites.at(span.site).label);
    }
    out.names = names.size();
    return out;
}

void expect_same(const Figures& found, const Figures& expected) {
    EXPECT_EQ(found.spans, expected.spans);
    if (expected.total_ns == kUnknown) return;
    EXPECT_EQ(found.total_ns, expected.total_ns);
    EXPECT_EQ(found.names, expected.names);
}

class ChromeFacts : public testing::TestWithParam<Facts> {};

TEST_P(ChromeFacts, AreFoundExactly) {
    const Facts& facts = GetParam();
    const char* const folder = std::getenv("LAPWING_TRACE_DATA");
    const std::string path = std::string(folder == nullptr ? "." : folder) + "/" + facts.file;
    if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not there: it is no part of this project";
    test::CaptureSink sink;
    const Result<TraceSummary> read = read_trace(path, sink);
    ASSERT_TRUE(read.ok()) << read.error().message;
    EXPECT_EQ(read->chrome.events, facts.events);
    EXPECT_EQ(read->flavour, facts.flavour);
    EXPECT_FALSE(read->read.torn);
    EXPECT_EQ(read->chrome.bad_times, 0u);
    expect_same(figures_of(sink, true), facts.device);
    expect_same(figures_of(sink, false), facts.all);
}

INSTANTIATE_TEST_SUITE_P(Traces, ChromeFacts, testing::ValuesIn(kFacts), [](const auto& each) {
    const std::string name = each.param.file;
    return name.substr(0, name.find('.'));
});

}    // namespace
}    // namespace lapwing
