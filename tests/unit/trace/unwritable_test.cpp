// Paths that cannot be written and disks that fill up.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lapwing/recorder.hpp"
#include "unit/trace/trace_material.hpp"

namespace lapwing::test {
namespace {

using testing::HasSubstr;

Error open_error(const std::string& path) {
    auto writer = open_perfetto_writer(path);
    return writer.ok() ? Error{} : writer.error();
}

TEST(Unwritable, PathIsNamedWithTheReasonAndTheRemedy) {
    Error error = open_error("/nonexistent-folder/a.pftrace");
    EXPECT_EQ(error.code, Errc::kUnwritable);
    EXPECT_THAT(error.message, HasSubstr("/nonexistent-folder/a.pftrace"));
    EXPECT_THAT(error.message, HasSubstr("create the folder"));
    error = open_error(testing::TempDir());
    EXPECT_EQ(error.code, Errc::kUnwritable);
    EXPECT_THAT(error.message, HasSubstr("folder"));
    if (::geteuid() != 0) {
        EXPECT_EQ(open_error("/proc/version").code, Errc::kUnwritable);
    }
}

TEST(Unwritable, PipeThatNobodyReadsIsRefusedAtOnce) {
    const TemporaryFile file;
    const std::string path = file.path() + ".fifo";
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
    const Error error = open_error(path);
    ::unlink(path.c_str());
    EXPECT_EQ(error.code, Errc::kUnwritable);
    EXPECT_THAT(error.message, HasSubstr("nobody reads"));
}

TEST(Unwritable, FullDeviceIsReportedWhenOpened) {
    if (::access("/dev/full", W_OK) != 0) GTEST_SKIP() << "/dev/full is not there";
    const Error error = open_error("/dev/full");
    EXPECT_EQ(error.code, Errc::kUnwritable);
    EXPECT_THAT(error.message, HasSubstr("free some space"));
}

TEST(Unwritable, NullDeviceTakesTwoRecordingsAtOnce) {
    const auto first = open_perfetto_writer("/dev/null");
    const auto second = open_perfetto_writer("/dev/null");
    EXPECT_TRUE(first.ok());
    EXPECT_TRUE(second.ok());
}

// Runs `body` in a child whose files may not grow beyond `limit`; the child's exit code is what `body` returns.
template <class Body>
int in_child_with_file_limit(rlim_t limit, bool ignore_signal, Body body) {
    const pid_t child = ::fork();
    if (child == 0) {
        if (ignore_signal) ::signal(SIGXFSZ, SIG_IGN);
        const rlimit files{limit, limit};
        ::setrlimit(RLIMIT_FSIZE, &files);
        ::_exit(body());
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + status;
}

std::vector<SpanRecord> many_spans(std::size_t count) {
    std::vector<SpanRecord> spans;
    for (std::size_t i = 0; i < count; ++i) spans.push_back(span_of(1, 1000 + int64_t(i) * 100, 50, 1));
    return spans;
}

// The last word of the writer says what the program had begun; how much of it is in the file only a reader can tell.
TEST(Unwritable, WhatAFullDiskKeptOutIsLostAsUnwrittenAndTheSumsHold) {
    const TemporaryFile file;
    EXPECT_EQ(in_child_with_file_limit(20'000, true,
                                       [&] {
                                           auto writer = open_perfetto_writer(file.path());
                                           if (!writer.ok()) return 1;
                                           SpanSink& sink = **writer;
                                           std::ignore = sink.process({1, "p", "v", "kernel", 1});
                                           std::ignore = sink.track({1, TrackKind::kDeviceQueue, 0, "queue 0"});
                                           std::ignore = sink.track({2, TrackKind::kHostThread, 0, "thread 1"});
                                           std::ignore = sink.site(1, site_of("op"));
                                           std::ignore = sink.spans(std::vector{span_of(2, 1000, 50, 1)});
                                           std::ignore = sink.flush();
                                           std::ignore = sink.spans(many_spans(10'000));
                                           std::ignore = sink.flush();
                                           RecordingStats stats;
                                           stats.begun = 10'010;
                                           stats.recorded = 10'000;
                                           stats.lost[LossReason::kReversed] = 10;
                                           stats.final = true;
                                           return sink.stats(stats).ok() ? 2 : 0;
                                       }),
              0);
    CaptureSink sink;
    const auto summary = read_perfetto(file.path(), sink);
    ASSERT_TRUE(summary.ok());
    ASSERT_TRUE(sink.latest_stats);
    EXPECT_EQ(sink.latest_stats->write_error, EFBIG);
    EXPECT_EQ(sink.latest_stats->lost[LossReason::kReversed], 10u);
    EXPECT_EQ(sink.latest_stats->lost[LossReason::kUnwritten], 10'000 - (summary->spans - 1));
}

int write_until_refused(SpanSink& sink) {
    if (!sink.process({1, "p", "v", "kernel", 1}).ok()) return 10;
    if (!sink.track({1, TrackKind::kDeviceQueue, 0, "queue 0"}).ok()) return 11;
    if (!sink.site(1, site_of("op")).ok()) return 12;
    const auto spans = many_spans(1000);
    std::vector<SpanRecord> batch = spans;
    for (int round = 0; round < 100; ++round) {
        for (SpanRecord& span : batch) span.begin_ns += 1'000'000;
        const Status status = sink.spans(batch);
        if (status.ok()) continue;
        if (status.error().code != Errc::kUnwritable) return 13;
        const Status kept = sink.close();
        return kept.ok() || kept.error().message != status.error().message ? 14 : 0;
    }
    return 15;
}

TEST(Unwritable, FullDiskKeepsAllWholePacketsAndTheError) {
    for (const rlim_t limit : {rlim_t{20'000}, rlim_t{20'001}, rlim_t{20'007}, rlim_t{300'013}}) {
        SCOPED_TRACE(limit);
        const TemporaryFile file;
        EXPECT_EQ(in_child_with_file_limit(limit, true,
                                           [&] {
                                               auto writer = open_perfetto_writer(file.path());
                                               return writer.ok() ? write_until_refused(**writer) : 1;
                                           }),
                  0);
        const std::size_t size = file.content().size();
        EXPECT_LE(size, limit);
        EXPECT_GT(size, limit - 32 - 512);    // no more was given up than the last word and a packet take
        CaptureSink sink;
        const auto summary = read_perfetto(file.path(), sink);
        ASSERT_TRUE(summary.ok());
        EXPECT_FALSE(summary->torn);
        EXPECT_GT(summary->spans, limit / 26 - 60);
    }
}

// The limit's signal would end the program; on the recorder's own thread it is blocked.
TEST(Unwritable, FileSizeLimitDoesNotKillAProgramThatRecordsThroughARecorder) {
    const TemporaryFile file;
    EXPECT_EQ(in_child_with_file_limit(20'000, false,
                                       [&] {
                                           auto writer = open_perfetto_writer(file.path());
                                           if (!writer.ok()) return 1;
                                           auto recorder =
                                               make_recorder(std::move(*writer), {.flush_interval_ns = 1'000'000});
                                           std::ignore = recorder->process({1, "p", "v", "kernel", 1});
                                           std::ignore = recorder->track({1, TrackKind::kDeviceQueue, 0, "queue 0"});
                                           std::ignore = recorder->site(1, site_of("op"));
                                           std::ignore = recorder->spans(many_spans(10'000));
                                           const Status status = recorder->close();
                                           if (status.ok() || status.error().code != Errc::kUnwritable) return 2;
                                           return recorder->unwritten() > 0 ? 0 : 3;
                                       }),
              0);
    CaptureSink sink;
    const auto summary = read_perfetto(file.path(), sink);
    ASSERT_TRUE(summary.ok());
    EXPECT_GT(summary->spans, 500u);
}

}    // namespace
}    // namespace lapwing::test
