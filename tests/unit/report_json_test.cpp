// The JSON of reports: unknown is null, integers are exact.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "lapwing/report.hpp"
#include "report_streams.hpp"

namespace lapwing {
namespace {

using Json = nlohmann::json;
using testing::make_site;
using testing::report_of;
using testing::StreamWriter;

template <class Feed>
Json json_of(Feed&& feed, std::optional<GroupBy> by = std::nullopt) {
    return Json::parse(to_json(report_of(feed, by)));
}

TEST(ReportJson, BegunIsMeasuredPlusEstimatedPlusLost) {
    const Json json = json_of([](SpanSink& sink) { testing::feed_decode(sink); });
    EXPECT_EQ(json["schema"], "lapwing.report/1");
    EXPECT_EQ(json["begun"].get<uint64_t>(), json["spans"].get<uint64_t>() + json["estimated"].get<uint64_t>() +
                                                 json["lost"]["total"].get<uint64_t>());
    EXPECT_EQ(json["lost"]["by_reason"], (Json{{"abandoned", 3}}));
    int64_t total_ns = 0;
    for (const Json& row : json["rows"]) total_ns += row["total_ns"].get<int64_t>();
    EXPECT_EQ(json["total_ns"], total_ns);
}

TEST(ReportJson, UnknownIsNullAndNeverZero) {
    const Json json = json_of([](SpanSink&) {});
    for (const char* key : {"window_ns", "busy_ns", "idle_ns", "begun", "unaccounted", "executed_dispatches"})
        EXPECT_TRUE(json[key].is_null()) << key;
    EXPECT_TRUE(json["lost"]["total"].is_null());
    EXPECT_TRUE(json["source"]["device"].is_null());
    EXPECT_TRUE(json["source"]["clock"]["resolution_ns"].is_null());
    EXPECT_TRUE(json["coverage"]["of_busy"].is_null());
    EXPECT_TRUE(json["coverage"]["of_wall"].is_null());
    for (const char* key : {"host_ns_per_span", "stamps", "wall_share"})
        EXPECT_TRUE(json["own_cost"][key].is_null()) << key;
    EXPECT_TRUE(json["rows"].empty());
}

TEST(ReportJson, RowOfWarmUpAloneHasNoPercentiles) {
    const Json json = json_of([](SpanSink& sink) {
        StreamWriter stream{sink};
        Site site = make_site("MUL_MAT");
        site.warmup = true;
        stream.span(stream.queue(1, "q"), stream.site(site), 0, 50);
    });
    const Json& row = json["rows"][0];
    EXPECT_EQ(row["count"], 0);
    EXPECT_EQ(row["warmup"], (Json{{"spans", 1}, {"total_ns", 50}}));
    for (const char* key : {"mean_ns", "min_ns", "p50_ns", "p90_ns", "p99_ns", "max_ns", "share"})
        EXPECT_TRUE(row[key].is_null()) << key;
}

TEST(ReportJson, IntegersAboveTwoToTheFiftyThreeStayExact) {
    constexpr int64_t kOdd = (int64_t{1} << 53) + 1;    // no double has this value
    const std::string text = to_json(report_of([](SpanSink& sink) {
        StreamWriter stream{sink};
        stream.span(stream.queue(1, "q"), stream.site(make_site("MUL_MAT")), 0, kOdd);
        RecordingStats stats;
        stats.begun = 1;
        stats.hook_ns = INT64_MAX;
        stream.stats(stats);
    }));
    EXPECT_NE(text.find("\"total_ns\": 9007199254740993"), std::string::npos);
    EXPECT_NE(text.find("\"host_ns\": 9223372036854775807"), std::string::npos);
    EXPECT_EQ(Json::parse(text)["busy_ns"].get<int64_t>(), kOdd);
}

TEST(ReportJson, RowsAreByTotalThenName) {
    for (const GroupBy by : {GroupBy::kOp, GroupBy::kKernel, GroupBy::kQueue, GroupBy::kName}) {
        const Json json = json_of([](SpanSink& sink) { testing::feed_decode(sink, 12); }, by);
        ASSERT_GT(json["rows"].size(), 1u);
        for (std::size_t i = 1; i < json["rows"].size(); ++i) {
            const auto key = [&](std::size_t at) {
                const Json& row = json["rows"][at];
                return std::pair{-row["total_ns"].get<int64_t>(), row["name"].get<std::string>()};
            };
            ASSERT_LT(key(i - 1), key(i)) << to_text(by);
        }
    }
}

TEST(ReportJson, LayersAndStepsAreInTheirNaturalOrderAsInTheText) {
    const auto feed = [](SpanSink& sink) {
        StreamWriter stream{sink};
        const TrackId queue = stream.queue(1, "q");
        stream.span(queue, stream.site(make_site("COPY")), 0, 1000);
        for (const int32_t number : {10, 2}) {
            Site site = make_site("MUL_MAT");
            site.layer = number;
            stream.span(queue, stream.site(site), 0, 10 * number, static_cast<uint32_t>(number));
        }
    };
    for (const GroupBy by : {GroupBy::kLayer, GroupBy::kStep}) {
        const Report report = report_of(feed, by);
        const Json json = Json::parse(to_json(report));
        std::vector<std::string> names;
        for (const Json& row : json["rows"]) names.push_back(row["name"]);
        EXPECT_EQ(names, (std::vector<std::string>{"2", "10", "-"})) << to_text(by);
        const std::string text = to_text(report);
        EXPECT_LT(text.find("\n2 "), text.find("\n10 "));
        EXPECT_LT(text.find("\n10 "), text.find("\n- "));
    }
}

TEST(ReportJson, NamesThatAreNotTextDoNotBreakTheDocument) {
    const Json json = json_of([](SpanSink& sink) {
        StreamWriter stream{sink};
        stream.span(stream.queue(1, "q"), stream.site(make_site("a\xff\"\n\x01")), 0, 50);
    });
    EXPECT_EQ(json["rows"][0]["name"], "a\xef\xbf\xbd\"\n\x01");
}

TEST(ReportJson, TopLeavesRowsOutAndSaysSo) {
    const Report report = report_of([](SpanSink& sink) { testing::feed_decode(sink); });
    const Json json = Json::parse(to_json(report, 3));
    EXPECT_EQ(json["rows"].size(), 3u);
    EXPECT_EQ(json["rows_left_out"]["count"], report.rows.size() - 3);
    int64_t shown_ns = 0;
    for (const Json& row : json["rows"]) shown_ns += row["total_ns"].get<int64_t>();
    EXPECT_EQ(shown_ns + json["rows_left_out"]["total_ns"].get<int64_t>(), report.total_ns);
}

TEST(ReportJson, ProgramThatDispatchedNothingWasBusyForZero) {
    const Json json = json_of([](SpanSink& sink) {
        StreamWriter stream{sink};
        RecordingStats stats;
        stats.final = true;
        stream.stats(stats);
    });
    EXPECT_EQ(json["busy_ns"], 0);
    EXPECT_EQ(json["begun"], 0);
}

}    // namespace
}    // namespace lapwing
