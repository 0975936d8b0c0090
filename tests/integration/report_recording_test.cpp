// A report of a recording says what the process itself would have said: the same stream into a report directly, and
// through a file.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "lapwing/perfetto.hpp"
#include "lapwing/report.hpp"
#include "unit/report_streams.hpp"

namespace lapwing {
namespace {

class Recording {
public:
    Recording() {
        const Result<std::unique_ptr<SpanSink>> writer = open_perfetto_writer(path_);
        EXPECT_TRUE(writer.ok());
        testing::feed_decode(**writer);
        EXPECT_TRUE((*writer)->close().ok());
    }
    ~Recording() { std::filesystem::remove(path_); }
    Recording(const Recording&) = delete;
    Recording& operator=(const Recording&) = delete;
    [[nodiscard]] const std::string& path() const { return path_; }

private:
    std::string path_ =
        (std::filesystem::temp_directory_path() / ("report_recording_" + std::to_string(::getpid()) + ".pftrace"))
            .string();
};

TEST(ReportOfRecording, IsTheReportOfTheLiveStreamInEveryGrouping) {
    const Recording recording;
    const std::unique_ptr<ReportBuilder> live = make_report_builder();
    testing::feed_decode(*live);
    const std::unique_ptr<ReportBuilder> read = make_report_builder();
    const Result<ReadSummary> summary = read_perfetto(recording.path(), *read);
    ASSERT_TRUE(summary.ok()) << summary.error().message;
    EXPECT_FALSE(summary.value().torn);
    for (const GroupBy by :
         {GroupBy::kOp, GroupBy::kKernel, GroupBy::kLayer, GroupBy::kStep, GroupBy::kQueue, GroupBy::kName}) {
        EXPECT_EQ(to_json(read->build(by)), to_json(live->build(by))) << to_text(by);
    }
}

TEST(ReportOfRecording, EveryPrefixStillAccountsForWhatItHolds) {
    const Recording recording;
    const std::uintmax_t size = std::filesystem::file_size(recording.path());
    for (std::uintmax_t cut = size; cut > size / 4; cut -= size / 23) {
        std::filesystem::resize_file(recording.path(), cut);
        const std::unique_ptr<ReportBuilder> builder = make_report_builder();
        const Result<ReadSummary> summary = read_perfetto(recording.path(), *builder);
        if (!summary.ok()) continue;    // cut before the recording's head was whole
        const Report report = builder->build();
        uint64_t in_rows = 0;
        for (const ReportRow& row : report.rows) in_rows += row.spans.count + row.warmup_count;
        EXPECT_EQ(in_rows, report.by == GroupBy::kName ? report.spans + report.host_spans : report.spans);
        EXPECT_LE(report.busy_ns, report.window_ns);
    }
}

}    // namespace
}    // namespace lapwing
