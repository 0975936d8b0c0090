// Chrome traces of all sorts as spans.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <libdeflate.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "lapwing/read_trace.hpp"
#include "trace/byte_source.hpp"
#include "trace/chrome_reader.hpp"
#include "trace/chrome_source.hpp"
#include "unit/trace/capture_sink.hpp"

namespace lapwing {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;
using trace::ChromeSource;

class ChromeRead : public testing::Test {
protected:
    ~ChromeRead() override { ::unlink(path_.c_str()); }

    const std::string& file(std::string_view content) {
        std::ofstream(path_, std::ios::binary) << content;
        return path_;
    }
    Result<TraceSummary> read(std::string_view content) {
        sink_ = {};
        return read_trace(file(content), sink_);
    }
    TraceSummary good(std::string_view content) {
        Result<TraceSummary> got = read(content);
        EXPECT_TRUE(got.ok()) << (got.ok() ? "" : got.error().message);
        return got.ok() ? *got : TraceSummary{};
    }
    std::string error(std::string_view content) {
        const Result<TraceSummary> got = read(content);
        EXPECT_FALSE(got.ok());
        return got.ok() ? "" : got.error().message;
    }
    using Named = std::tuple<std::string, int64_t, int64_t>;    // label, begin, duration
    std::vector<Named> spans() const {
        std::vector<Named> out;
        for (const SpanRecord& span : sink_.all)
            out.emplace_back(sink_.sites.at(span.site).label, span.begin_ns, span.duration_ns);
        return out;
    }
    const TrackInfo& track_of(std::size_t span) const { return sink_.tracks.at(sink_.all.at(span).track); }
    const Site& site_of(std::size_t span) const { return sink_.sites.at(sink_.all.at(span).site); }

    std::string path_ = testing::TempDir() + "chrome_read_" + std::to_string(::getpid()) + ".json";
    test::CaptureSink sink_;
};

std::string event(std::string_view name, std::string_view ts, std::string_view dur, std::string_view rest = "") {
    std::string out = R"({"ph":"X","pid":1,"tid":2,"name":")";
    ((((out += name) += R"(","ts":)") += ts) += R"(,"dur":)") += dur;
    return (out += rest) += "}";
}

std::string gzip(std::string_view text) {
    libdeflate_compressor* const packer = libdeflate_alloc_compressor(6);
    std::string out(libdeflate_gzip_compress_bound(packer, text.size()), '\0');
    out.resize(libdeflate_gzip_compress(packer, text.data(), text.size(), out.data(), out.size()));
    libdeflate_free_compressor(packer);
    return out;
}

TEST_F(ChromeRead, ArrayAndObjectAreTheSame) {
    const std::string events = "[" + event("a", "1.5", "2") + "," + event("b", "10", "0.001") + "]";
    for (const std::string& text :
         {events, R"({"traceEvents":)" + events + "}",
          R"({"otherData":{"x":[1,{"y":"}"}]},"traceEvents":)" + events + R"(,"displayTimeUnit":"ns"})",
          "\xef\xbb\xbf \n" + events + "\r\n"}) {
        const TraceSummary summary = good(text);
        EXPECT_EQ(summary.format, TraceFormat::kChrome);
        EXPECT_THAT(spans(), ElementsAre(Named("a", 1500, 2000), Named("b", 10000, 1))) << text;
        EXPECT_FALSE(summary.read.torn);
        EXPECT_FALSE(summary.chrome.open_array);
        EXPECT_EQ(summary.read.bytes, text.size());
        EXPECT_EQ(sink_.used_before_announced, 0);
        EXPECT_EQ(sink_.closes, 0);
    }
}

TEST_F(ChromeRead, GzipIsUnpackedAlsoInSeveralMembers) {
    const std::string first = "[" + event("a", "1", "2") + ",";
    const std::string second = event("b", "3", "4") + "]";
    const TraceSummary summary = good(gzip(first) + gzip(second));
    EXPECT_TRUE(summary.packed);
    EXPECT_EQ(summary.read.bytes, first.size() + second.size());
    EXPECT_THAT(spans(), ElementsAre(Named("a", 1000, 2000), Named("b", 3000, 4000)));
}

TEST_F(ChromeRead, CutOffGzipIsTorn) {
    std::string text = "[";
    for (int i = 0; i < 5000; ++i) {
        std::string name = "n";
        text += event(name += std::to_string(i * 7919 % 5000), std::to_string(i), "1") + ",\n";
    }
    const std::string packed = gzip(text + "]");
    const TraceSummary summary = good(std::string_view(packed).substr(0, packed.size() / 2));
    EXPECT_TRUE(summary.read.torn);
    EXPECT_GT(summary.read.spans, 1000u);
    EXPECT_LT(summary.read.spans, 4000u);
    EXPECT_EQ(text.compare(summary.read.torn_at, 1, "{"), 0) << summary.read.torn_at;
}

TEST_F(ChromeRead, DamagedGzipIsAnError) {
    std::string text = "[";
    for (int i = 0; i < 5000; ++i) text += event("n", std::to_string(i), "1") + ",";
    std::string packed = gzip(text + "{}]");
    packed[packed.size() / 2] = static_cast<char>(packed[packed.size() / 2] ^ 0x55);
    packed[packed.size() / 2 + 1] = static_cast<char>(packed[packed.size() / 2 + 1] ^ 0xaa);
    EXPECT_FALSE(read(packed).ok());
}

TEST_F(ChromeRead, TrailingCommasAndOpenArraysAreFine) {
    const std::string one = event("a", "1", "2");
    EXPECT_FALSE(good("[" + one + ",]").chrome.open_array);
    EXPECT_FALSE(good("[," + one + "]").chrome.open_array);
    for (const std::string& text : {"[" + one, "[" + one + ",", "[\n" + one + ",\n"}) {
        const TraceSummary summary = good(text);
        EXPECT_TRUE(summary.chrome.open_array);
        EXPECT_FALSE(summary.read.torn);
        EXPECT_EQ(summary.read.spans, 1u);
    }
}

TEST_F(ChromeRead, EveryKillPointGivesTheEventsBeforeIt) {
    const std::string head = R"({"x":[{}],"traceEvents":[)";
    const std::string one = event("a", "1", "2");
    const std::string two = event(R"(b\"{)", "3", "4", R"(,"args":{"k":[1,"]"]})");
    const std::string whole = head + one + "," + two + R"(],"y":"z"})";
    for (std::size_t size = 0; size < whole.size(); ++size) {
        const Result<TraceSummary> got = read(std::string_view(whole).substr(0, size));
        const std::size_t events =
            size >= head.size() + one.size() + 1 + two.size() ? 2 : size >= head.size() + one.size();
        ASSERT_EQ(got.ok(), events != 0) << size;
        if (!got.ok()) {
            EXPECT_THAT(got.error().message, HasSubstr(path_));
            continue;
        }
        EXPECT_TRUE(got->read.torn) << size;
        EXPECT_EQ(got->read.spans, events) << size;
        const uint64_t second = head.size() + one.size() + 1;
        if (size > second && events == 1) {
            EXPECT_EQ(got->read.torn_at, second) << size;
        }
    }
}

TEST_F(ChromeRead, TimesAreExactWhateverTheirForm) {
    good("[" + event("a", "1661938466265032.125", "0.001") + event("b", R"("1661938466265033.5")", R"("2.5")") +
         event("c", "-3", "1e-3") + "]");
    EXPECT_THAT(spans(), ElementsAre(Named("a", 1661938466265032125, 1), Named("b", 1661938466265033500, 2500),
                                     Named("c", -3000, 1)));
}

TEST_F(ChromeRead, SpansWithoutAValidTimeAreCountedAndLocated) {
    const std::string one = event("a", "1", "2");
    const TraceSummary summary =
        good("[" + one + "," + event("b", "1", "-2") + "," + event("c", "NaN", "1") + "," + event("d", "null", "1") +
             "," + R"({"ph":"X","name":"e","ts":1,"pid":1,"tid":1})" + "," +
             event("f", "9223372036854775", "9223372036854775") + "]");
    EXPECT_EQ(summary.read.spans, 1u);
    EXPECT_EQ(summary.chrome.bad_times, 5u);
    EXPECT_EQ(summary.chrome.first_bad_at, one.size() + 2);
}

TEST_F(ChromeRead, BeginsAndEndsNestByThread) {
    const TraceSummary summary = good(R"([
        {"ph":"B","name":"outer","ts":1,"pid":1,"tid":1},
        {"ph":"B","name":"other","ts":2,"pid":1,"tid":2},
        {"ph":"B","name":"inner","ts":3,"pid":1,"tid":1},
        {"ph":"E","ts":5,"pid":1,"tid":1},
        {"ph":"E","ts":9,"pid":1,"tid":1},
        {"ph":"E","ts":7,"pid":1,"tid":2},
        {"ph":"E","ts":8,"pid":1,"tid":2},
        {"ph":"B","name":"back","ts":9,"pid":1,"tid":2},
        {"ph":"E","ts":8,"pid":1,"tid":2},
        {"ph":"B","name":"open","ts":9,"pid":2,"tid":1}])");
    EXPECT_THAT(spans(),
                ElementsAre(Named("inner", 3000, 2000), Named("outer", 1000, 8000), Named("other", 2000, 5000)));
    EXPECT_EQ(summary.chrome.pairs, 3u);
    EXPECT_EQ(summary.chrome.unmatched_ends, 1u);
    EXPECT_EQ(summary.chrome.bad_times, 1u);
    EXPECT_EQ(summary.read.unclosed, 1u);
}

TEST_F(ChromeRead, TooManyOpenSlicesAreAnErrorAndNoMemory) {
    std::string text = "[";
    for (int i = 0; i <= 262144; ++i) text += R"({"ph":"B","name":"a","ts":1,"pid":1,"tid":1})";
    EXPECT_THAT(error(text), HasSubstr("262144 slices are open"));
}

TEST_F(ChromeRead, WhatIsNoSpanIsCountedBySort) {
    const TraceSummary summary = good(R"([{"ph":"b","id":1},{"ph":"e"},{"ph":"n"},{"ph":"s"},{"ph":"t"},{"ph":"f"},
        {"ph":"C"},{"ph":"i"},{"ph":"I"},{"ph":"O"},{},{"ph":7},{"ph":"XX"},{"ph":"M","name":"x"}])");
    const ChromeCounts& counts = summary.chrome;
    EXPECT_EQ(counts.events, 14u);
    EXPECT_EQ(std::tuple(counts.async, counts.flow, counts.counter, counts.instant, counts.metadata, counts.other),
              std::tuple(3u, 3u, 1u, 2u, 1u, 4u));
    EXPECT_EQ(summary.read.spans, 0u);
}

TEST_F(ChromeRead, MetadataNamesThreadsInAnyOrder) {
    const std::string thread =
        R"({"ph":"M","name":"thread_name","pid":1,"tid":2,"args":{"x":{"name":"no"},"name":"main \"1\""}})";
    const std::string process = R"({"ph":"M","name":"process_name","pid":1,"args":{"name":"python"}})";
    for (const std::string& text :
         {"[" + thread + process + event("a", "1", "2") + "]", "[" + event("a", "1", "2") + process + thread + "]"}) {
        good(text);
        EXPECT_EQ(track_of(0).name, "main \"1\"") << text;
        EXPECT_EQ(track_of(0).process, "1");
        EXPECT_EQ(track_of(0).kind, TrackKind::kHostThread);
    }
    good("[" + event("a", "1", "2") + R"({"ph":"X","name":"b","ts":1,"dur":1,"pid":7,"tid":2})" + process + thread +
         "]");
    EXPECT_EQ(track_of(0).name, "python 1: main \"1\"");
    EXPECT_EQ(track_of(1).name, "pid 7: thread 2");
}

TEST_F(ChromeRead, IdsMayBeTextHugeOrNegative) {
    std::string text = "[";
    for (const char* id : {"1", R"("GPU 0")", "140589156634432", "140589156634433", "-136712896", "7168000000",
                           R"("\u0047PU 0")", R"("1")"})
        ((text += R"({"ph":"X","name":"a","ts":1,"dur":1,"pid":)") += id) += R"(,"tid":0},)";
    good(text + "]");
    std::vector<std::string> processes;
    for (const auto& [id, track] : sink_.tracks) processes.push_back(track.process);
    EXPECT_THAT(processes,
                UnorderedElementsAre("1", "GPU 0", "140589156634432", "140589156634433", "-136712896", "7168000000"));
}

TEST_F(ChromeRead, NamesAreUnescapedAndOtherwiseTheBytesOfTheFile) {
    good("[" + event(R"({\"device\": \"cpu\"}(12): run)", "1", "1") + event(R"(torch\\cuda\n\u0001)", "2", "1") +
         event("attention_\xe9\x9d\x9e \xff\xfe", "3", "1") + event(R"(\u00e9\ud83d\ude00\ud83d!)", "4", "1") +
         event("", "5", "1") + R"({"n\u0061me":"k","ph":"X","ts":6,"dur":1})" + "]");
    EXPECT_THAT(
        spans(),
        ElementsAre(Named("{\"device\": \"cpu\"}(12): run", 1000, 1000), Named("torch\\cuda\n\x01", 2000, 1000),
                    Named("attention_\xe9\x9d\x9e \xff\xfe", 3000, 1000), Named("\u00e9\U0001F600\ufffd!", 4000, 1000),
                    Named("(unnamed)", 5000, 1000), Named("k", 6000, 1000)));
}

TEST_F(ChromeRead, KeysInsideArgumentsAreNotTheEvents) {
    good(R"([{"args":{"ts":9,"dur":9,"name":"no","ph":"B"},"ph":"X","name":"a","ts":1,"dur":2,"pid":1,"tid":1},
             {"ph":"X","name":"b","ts":1,"dur":2,"args":[1,2]}])");
    EXPECT_THAT(spans(), ElementsAre(Named("a", 1000, 2000), Named("b", 1000, 2000)));
}

TEST_F(ChromeRead, KinetoKernelsAreDeviceWork) {
    const TraceSummary summary = good(R"({"deviceProperties":[{"id":0,"name":"Tesla"},{"id":1,"name":""}],
        "baseTimeNanoseconds": 1712169000000000000, "traceEvents":[
        {"ph":"X","cat":"cpu_op","name":"aten::mm","pid":77,"tid":77,"ts":1,"dur":9},
        {"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":3,"dur":2},
        {"ph":"X","cat":"gpu_memcpy","name":"Memcpy HtoD","pid":0,"tid":7,"ts":5,"dur":2},
        {"ph":"X","cat":"gpu_memset","name":"Memset","pid":1,"tid":20,"ts":5,"dur":2},
        {"ph":"X","cat":"gpu_user_annotation","name":"step","pid":0,"tid":7,"ts":3,"dur":4}]})");
    EXPECT_EQ(summary.flavour, "PyTorch (Kineto)");
    EXPECT_EQ(summary.base_time_ns, 1712169000000000000);
    EXPECT_EQ(site_of(1).kind, SpanKind::kDispatch);
    EXPECT_EQ(site_of(1).kernel, "gemm");
    EXPECT_EQ(site_of(2).kind, SpanKind::kCopy);
    EXPECT_EQ(site_of(2).kernel, "");
    EXPECT_EQ(site_of(3).kind, SpanKind::kFill);
    EXPECT_EQ(site_of(4).kind, SpanKind::kHost);
    EXPECT_EQ(track_of(1).kind, TrackKind::kDeviceQueue);
    EXPECT_EQ(track_of(1).name, "stream 7");
    EXPECT_EQ(track_of(0).kind, TrackKind::kHostThread);
    EXPECT_EQ(track_of(4).kind, TrackKind::kHostThread) << "an annotation on a stream is no work of the GPU";
    EXPECT_EQ(sink_.devices.at(track_of(2).device).name, "Tesla");
    EXPECT_EQ(sink_.devices.at(track_of(3).device).name, "GPU 1");
    EXPECT_EQ(sink_.all[0].begin_ns, 1000) << "the base is told, not added";
}

TEST_F(ChromeRead, OnnxAndGgmlKernelsAreDeviceWork) {
    const TraceSummary onnx = good(R"([{"cat" : "Api","pid" :-1,"tid" :-1,"dur" :38,"ts" :30,"ph" : "X",
        "name" :"/decoder/Concat_1&Concat&ConcatKernel","args" : {}},
        {"cat" : "Node","pid" :5,"tid" :5,"dur" :38,"ts" :30,"ph" : "X","name" :"Concat_1_kernel_time"},
        {"cat" : "Api","pid" :5,"tid" :5,"dur" :38,"ts" :30,"ph" : "X","name" :"cudaLaunchKernel"}])");
    EXPECT_EQ(onnx.flavour, "ONNX Runtime");
    EXPECT_EQ(std::tuple(site_of(0).op, site_of(0).kernel, site_of(0).kind),
              std::tuple("Concat", "ConcatKernel", SpanKind::kDispatch));
    EXPECT_EQ(site_of(1).kind, SpanKind::kHost);
    EXPECT_EQ(site_of(2).kind, SpanKind::kHost);

    const TraceSummary ggml = good(R"([
{"name": "mul_mat", "cat": "OpenCL", "ph": "B", "ts": 1, "pid": "", "tid": "Host"},
{"name": "mul_mat", "cat": "OpenCL", "ph": "E", "ts": 2, "pid": "", "tid": "Host"},
{"name": "mul_mat", "cat": "OpenCL", "ph": "B", "ts": 4, "pid": "", "tid": "Device"},
{"name": "mul_mat", "cat": "OpenCL", "ph": "E", "ts": 9, "pid": "", "tid": "Device"},
)");
    EXPECT_EQ(ggml.flavour, "ggml (OpenCL)");
    EXPECT_TRUE(ggml.chrome.open_array);
    EXPECT_EQ(track_of(0).kind, TrackKind::kHostThread);
    EXPECT_EQ(track_of(1).kind, TrackKind::kDeviceQueue);
    EXPECT_THAT(spans(), ElementsAre(Named("mul_mat", 1000, 1000), Named("mul_mat", 4000, 5000)));
}

TEST_F(ChromeRead, WhatIsNoTraceIsRefusedWithTheReason) {
    EXPECT_THAT(error(""), HasSubstr("is empty (0 bytes)"));
    EXPECT_THAT(error(R"({"a":1})"), HasSubstr("without \"traceEvents\""));
    EXPECT_THAT(error(R"({"context":{},"benchmarks":[{"name":"x"}]})"), HasSubstr("Google Benchmark"));
    EXPECT_THAT(error("[1]"), HasSubstr("byte 1: expected an event in braces"));
    EXPECT_THAT(error("[" + event("a", "1", "2") + "}"), HasSubstr("1 events were read before it"));
    EXPECT_THAT(error("[" + event("a", "1", "2") + "] x"), HasSubstr("expected the end of the file, found 'x'"));
    EXPECT_THAT(error(R"([{"ph":"X" "ts":1}])"), HasSubstr("byte 11: expected ',' or '}', found '\"'"));
    EXPECT_THAT(error(R"([{"ph":"X","args":{]}}])"), HasSubstr("byte 19: expected '}', found ']'"));
    EXPECT_THAT(error(R"([{"tid": 0", "ts":1}])"), HasSubstr("expected ',' or '}'"));
    EXPECT_THAT(error(gzip("no json")), HasSubstr("expected '[' or '{'"));
    EXPECT_THAT(error("\x7f"
                      "ELF...."),
                HasSubstr("program or library"));
    sink_ = {};
    const Result<TraceSummary> none = read_trace(path_ + ".none", sink_);
    ASSERT_FALSE(none.ok());
    EXPECT_EQ(none.error().code, Errc::kNotFound);
}

TEST_F(ChromeRead, DeepNestingAndHugeEventsAreErrors) {
    EXPECT_THAT(error("[" + event("a", "1", "2", R"(,"args":)" + std::string(100000, '['))), HasSubstr("at most 512"));
    EXPECT_THAT(error(R"({"x":)" + std::string(100000, '{')), HasSubstr("at most 1024"));
    EXPECT_THAT(error("[" + event(std::string(20u << 20, 'x'), "1", "2") + "]"), HasSubstr("longer than 16 MiB"));
    const std::string deep = std::string(500, '[') + std::string(500, ']');
    EXPECT_EQ(good("[" + event("a", "1", "2", R"(,"args":)" + deep) + "]").read.spans, 1u);
}

TEST_F(ChromeRead, ThreadsAndNamesWithoutEndAreFoldedAndCounted) {
    std::string text = "[";
    for (int i = 0; i < 70000; ++i) {
        const std::string number = std::to_string(i);
        text += R"({"ph":"X","ts":1,"dur":1,"pid":1,"tid":)" + number + R"(,"name":"n)" + number + "\"},";
    }
    const TraceSummary summary = good(text + "]");
    EXPECT_EQ(summary.read.spans, 70000u);
    EXPECT_EQ(summary.chrome.names_folded, 70000u - 65536u);
    EXPECT_EQ(summary.chrome.tracks_folded, 70000u - 65000u);
    EXPECT_EQ(site_of(69999).label, "(other names)");
    EXPECT_EQ(track_of(69999).name, "(other threads)");
}

TEST_F(ChromeRead, TheSinksOwnErrorComesBack) {
    sink_.answer = Error{Errc::kUnwritable, 0, "disk full"};
    const Result<TraceSummary> got = read_trace(file("[" + event("a", "1", "2") + "]"), sink_);
    ASSERT_FALSE(got.ok());
    EXPECT_EQ(got.error().message, "disk full");
}

// Whatever the size of the buffer, the same events come out.
TEST_F(ChromeRead, EveryBufferSizeReadsTheSame) {
    std::string text = R"({"skipped":["\\\"]",{"a":"}\\"}],"traceEvents" : [ )";
    for (int i = 0; i < 40; ++i)
        text += event(R"(q\"uote\\ )" + std::string(static_cast<std::size_t>(i), 'x'), std::to_string(i), "1.5",
                      R"( , "args":{"dur":[{"ph":"}"}]})") +
                " ,\n\t";
    text += R"(], "stackFrames":{"1":{"name":"]}"}}, "displayTimeUnit":"ms" } )";
    good(text);
    const std::vector<SpanRecord> expected = sink_.all;
    ASSERT_EQ(expected.size(), 40u);
    for (std::size_t size = 16; size < 300; ++size) {
        Result<trace::ByteSource> bytes = trace::ByteSource::open(path_);
        ASSERT_TRUE(bytes.ok());
        ChromeSource source(std::move(*bytes), size);
        test::CaptureSink sink;
        trace::ChromeReader reader(sink);
        ASSERT_TRUE(reader.start().ok());
        trace::ChromeEvent next;
        ChromeSource::Step step = ChromeSource::Step::kEnd;
        while ((step = source.next(next)) == ChromeSource::Step::kEvent)
            ASSERT_TRUE(reader.event(next, source.offset()).ok());
        ASSERT_EQ(step, ChromeSource::Step::kEnd) << size << ": " << source.error().message;
        TraceSummary summary;
        ASSERT_TRUE(reader.finish(source.root(), summary).ok());
        ASSERT_EQ(sink.all.size(), expected.size()) << size;
        for (std::size_t i = 0; i < expected.size(); ++i)
            ASSERT_EQ(std::tuple(sink.all[i].begin_ns, sink.all[i].duration_ns, sink.all[i].site),
                      std::tuple(expected[i].begin_ns, expected[i].duration_ns, expected[i].site));
    }
}

}    // namespace
}    // namespace lapwing
