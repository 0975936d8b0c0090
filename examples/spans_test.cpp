// The example's recording holds exactly what it marked.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "lapwing/perfetto.hpp"
#include "unit/host_span_sink.hpp"

namespace lapwing {
namespace {

TEST(SpansExample, RecordingHoldsExactlyTheMarkedSpansInOrder) {
    std::string path = testing::TempDir() + "lapwing-spans-XXXXXX";
    const int file = mkstemp(path.data());
    ASSERT_GE(file, 0);
    ::close(file);
    ASSERT_EQ(std::system((std::string(LAPWING_SPANS_EXAMPLE) + " " + path).c_str()), 0);

    test::KeepingSink sink;
    const auto summary = read_perfetto(path, sink);
    std::remove(path.c_str());
    ASSERT_TRUE(summary.ok()) << summary.error().message;
    EXPECT_FALSE(summary.value().torn);
    EXPECT_EQ(summary.value().unclosed, 0u);
    std::sort(sink.kept.begin(), sink.kept.end(), [](const SpanRecord& a, const SpanRecord& b) {
        return a.begin_ns != b.begin_ns ? a.begin_ns < b.begin_ns : a.duration_ns > b.duration_ns;
    });
    std::vector<std::string> expected;
    for (int step = 0; step < 8; ++step) {
        expected.push_back("Decode");
        for (int layer = 0; layer < 4; ++layer) expected.insert(expected.end(), {"RmsNorm", "FeedForward"});
    }
    EXPECT_EQ(sink.names(), expected);
    const SpanRecord* decode = nullptr;
    for (const SpanRecord& span : sink.kept) {
        EXPECT_EQ(sink.sites.at(span.site).kind, SpanKind::kHost);
        if (sink.name_of(span) == "Decode") decode = &span;
        ASSERT_NE(decode, nullptr);
        EXPECT_LE(span.begin_ns + span.duration_ns, decode->begin_ns + decode->duration_ns);
    }
    ASSERT_EQ(sink.tracks.size(), 1u);
    EXPECT_EQ(sink.tracks.begin()->second.kind, TrackKind::kHostThread);
    EXPECT_EQ(sink.last_stats.lost.total(), 0u);
    EXPECT_TRUE(sink.last_stats.final);
    ASSERT_EQ(sink.processes.size(), 1u);
    EXPECT_EQ(sink.processes.front().level, "basic");
}

TEST(SpansExample, UnwritableFileIsNamedAndEndsIt) {
    const std::string command = std::string(LAPWING_SPANS_EXAMPLE) + " /nonexistent/spans.pftrace 2>&1";
    FILE* const pipe = popen(command.c_str(), "r");
    ASSERT_NE(pipe, nullptr);
    char text[512] = "";
    EXPECT_NE(std::fgets(text, sizeof text, pipe), nullptr);
    EXPECT_NE(pclose(pipe), 0);
    EXPECT_NE(std::string(text).find("/nonexistent/spans.pftrace"), std::string::npos) << text;
}

}    // namespace
}    // namespace lapwing
