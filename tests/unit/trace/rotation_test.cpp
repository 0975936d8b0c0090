// Recordings of several files: bounded parts, a ring of the last moments, and what happens where the next part cannot
// be.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "trace/recording_set.hpp"
#include "unit/trace/random_recording.hpp"

namespace lapwing::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using namespace std::chrono_literals;

constexpr uint64_t kPartBytes = 1u << 20;
constexpr int64_t kSpacingNs = 100'000;

class Rotation : public testing::Test {
protected:
    Rotation() {
        folder = (fs::exists("/dev/shm") ? "/dev/shm/" : testing::TempDir()) + "lapwing-parts-XXXXXX";
        EXPECT_NE(::mkdtemp(folder.data()), nullptr);
        path = folder + "/x.pftrace";
    }
    ~Rotation() override {
        ::chmod(folder.c_str(), 0700);
        fs::remove_all(folder);
    }
    std::unique_ptr<SpanSink> open(const PerfettoWriterOptions& options) const {
        auto writer = open_perfetto_writer(path, options);
        EXPECT_TRUE(writer.ok()) << writer.error().message;
        return writer.ok() ? std::move(writer).value() : nullptr;
    }
    static Status describe(SpanSink& sink) {
        Status status = sink.process({4711, "engine", "0.1.0", "kernel", 1});
        if (status.ok()) status = sink.device({1, "sim", "toy gpu", "", {}});
        if (status.ok()) status = sink.track({1, TrackKind::kDeviceQueue, 1, "queue 0"});
        for (SiteId id = 1; id <= 40 && status.ok(); ++id) status = sink.site(id, site_of("op_" + std::to_string(id)));
        return status;
    }
    // Spans from number `at` on, as statistics and a harvest come: together.
    Status hand_over(SpanSink& sink, uint64_t count) {
        std::vector<SpanRecord> spans;
        for (uint64_t i = 0; i < count; ++i, ++handed)
            spans.push_back(span_of(1, static_cast<int64_t>(handed) * kSpacingNs,
                                    static_cast<int64_t>(handed * 2654435761u % kSpacingNs),
                                    SiteId(1 + handed / 5000 % 40), 0));
        const Status status = sink.spans(spans);
        RecordingStats stats;
        stats.begun = stats.recorded = handed;
        const Status told = sink.stats(stats);
        return status.ok() ? told : status;
    }
    [[nodiscard]] std::vector<std::string> files() const {
        std::vector<std::string> names;
        for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename().string());
        std::sort(names.begin(), names.end());
        return names;
    }
    // Nothing is missing between the oldest span that is left and the last, and the statistics say how many came
    // before.
    void expect_the_last(const CaptureSink& sink, uint64_t least) const {
        ASSERT_FALSE(sink.all.empty());
        const auto first = static_cast<uint64_t>(sink.all.front().begin_ns) / kSpacingNs;
        EXPECT_EQ(sink.all.size(), handed - first);
        EXPECT_GE(sink.all.size(), least);
        EXPECT_EQ(static_cast<uint64_t>(sink.all.back().begin_ns) / kSpacingNs, handed - 1);
        ASSERT_TRUE(sink.latest_stats);
        EXPECT_EQ(sink.latest_stats->left_out, first);
        EXPECT_EQ(sink.latest_stats->begun, sink.all.size() + sink.latest_stats->left_out);
        EXPECT_EQ(sink.used_before_announced, 0);
    }

    std::string folder;
    std::string path;
    uint64_t handed = 0;
};

TEST_F(Rotation, PartsStayBelowTheLimitAndHoldEverythingTogether) {
    for (const bool compress : {false, true}) {
        SCOPED_TRACE(compress);
        handed = 0;
        auto writer = open({.compress = compress, .max_part_bytes = kPartBytes});
        ASSERT_TRUE(describe(*writer).ok());
        for (int round = 0; round < 400; ++round) ASSERT_TRUE(hand_over(*writer, 500).ok());
        ASSERT_TRUE(writer->close().ok());
        EXPECT_GE(files().size(), compress ? 2u : 5u);
        for (const std::string& name : files()) EXPECT_LE(fs::file_size(folder + "/" + name), kPartBytes) << name;
        CaptureSink all;
        const auto summary = read_recording(path, all);
        ASSERT_TRUE(summary.ok()) << summary.error().message;
        EXPECT_EQ(summary->parts, files().size());
        EXPECT_EQ(summary->spans, handed);
        EXPECT_EQ(all.processes.size(), 1u);
        expect_the_last(all, handed);
        fs::remove_all(folder);
        fs::create_directory(folder);
    }
}

// perfetto#99, #1392 (a 1.8 GB trace that does not open): each part is a recording of its own. [field case C14]
TEST_F(Rotation, EachPartOpensAloneAndAddsUp) {
    auto writer = open({.max_part_bytes = kPartBytes});
    ASSERT_TRUE(describe(*writer).ok());
    for (int round = 0; round < 400; ++round) ASSERT_TRUE(hand_over(*writer, 500).ok());
    ASSERT_TRUE(writer->close().ok());
    uint64_t before = 0;
    for (uint32_t part = 1; part <= files().size(); ++part) {
        SCOPED_TRACE(part);
        CaptureSink sink;
        const auto summary = read_perfetto(part == 1 ? path : trace::part_path(path, part), sink);
        ASSERT_TRUE(summary.ok()) << summary.error().message;
        EXPECT_FALSE(summary->torn);
        EXPECT_EQ(sink.processes.size(), 1u);
        EXPECT_EQ(sink.devices.size(), 1u);
        EXPECT_EQ(sink.used_before_announced, 0);
        EXPECT_LT(sink.sites.size(), 40u);    // only those that its spans have
        ASSERT_TRUE(sink.latest_stats);
        EXPECT_EQ(sink.latest_stats->left_out, before);
        EXPECT_EQ(sink.latest_stats->begun, before + sink.all.size());
        before += sink.all.size();
    }
    EXPECT_EQ(before, handed);
}

TEST_F(Rotation, FingerprintsFillPartsTooAndThoseOfDroppedOnesAreCounted) {
    for (const uint32_t kept : {0u, 2u}) {
        SCOPED_TRACE(kept);
        auto writer = open({.max_part_bytes = kPartBytes, .keep_parts = kept});
        ASSERT_TRUE(describe(*writer).ok());
        constexpr uint32_t kRecords = 20'000;
        for (uint32_t i = 0; i < kRecords; ++i) {
            FingerprintRecord record{.name = "brick", .order = i};
            record.fingerprint.projections.fill(0.5 + i);
            ASSERT_TRUE(writer->fingerprint(record).ok());
        }
        ASSERT_TRUE(writer->stats({}).ok());
        ASSERT_TRUE(writer->close().ok());
        EXPECT_GE(files().size(), 2u);
        for (const std::string& name : files()) EXPECT_LE(fs::file_size(folder + "/" + name), kPartBytes) << name;
        CaptureSink all;
        ASSERT_TRUE(read_recording(path, all).ok());
        ASSERT_FALSE(all.fingerprints.empty());
        EXPECT_EQ(all.fingerprints.back().order, kRecords - 1);
        ASSERT_TRUE(all.latest_stats);
        EXPECT_EQ(all.latest_stats->fingerprints_left_out, all.fingerprints.front().order);
        EXPECT_EQ(all.fingerprints.size() + all.latest_stats->fingerprints_left_out, kRecords);
        EXPECT_EQ(all.fingerprints.size() == kRecords, kept == 0);
        fs::remove_all(folder);
        fs::create_directory(folder);
    }
}

TEST_F(Rotation, KeptPartsAreTheNewestAndTheirNumberIsBounded) {
    auto writer = open({.max_part_bytes = kPartBytes, .keep_parts = 3});
    ASSERT_TRUE(describe(*writer).ok());
    for (int round = 0; round < 800; ++round) {
        ASSERT_TRUE(hand_over(*writer, 500).ok());
        EXPECT_LE(files().size(), 3u);
        EXPECT_TRUE(fs::exists(path));
    }
    ASSERT_TRUE(writer->close().ok());
    EXPECT_EQ(files().size(), 3u);
    CaptureSink sink;
    ASSERT_TRUE(read_recording(path, sink).ok());
    expect_the_last(sink, 2 * kPartBytes / 30);
    EXPECT_GT(sink.latest_stats->left_out, 0u);
}

TEST_F(Rotation, RingHoldsTheLastMomentsAndDropsOlderFiles) {
    auto writer = open({.keep_ns = 1'000'000'000});
    ASSERT_TRUE(describe(*writer).ok());
    const auto begin = std::chrono::steady_clock::now();
    std::vector<std::pair<std::chrono::steady_clock::time_point, uint64_t>> log;
    while (std::chrono::steady_clock::now() - begin < 2500ms) {
        log.emplace_back(std::chrono::steady_clock::now(), handed);
        ASSERT_TRUE(hand_over(*writer, 200).ok());
        std::this_thread::sleep_for(10ms);
    }
    const auto last = std::chrono::steady_clock::now();
    ASSERT_TRUE(hand_over(*writer, 1).ok());
    ASSERT_TRUE(writer->close().ok());
    EXPECT_LE(files().size(), 10u);    // eight eighths, the one being written and the one that is partly older
    CaptureSink sink;
    ASSERT_TRUE(read_recording(path, sink).ok());
    uint64_t due = 0;    // handed over before the last second
    for (const auto& [at, count] : log)
        if (at <= last - 1s) due = count;
    expect_the_last(sink, handed - due - 200);
    EXPECT_GT(sink.latest_stats->left_out, 0u);
    EXPECT_GT(sink.latest_stats->window_begin_ns, 0);
}

TEST_F(Rotation, FilesThatOnlyBearTheNamesOfPartsAreLeftAlone) {
    const std::string foreign = trace::part_path(path, 2);
    { std::ofstream(foreign) << "notes"; }
    auto writer = open({.max_part_bytes = kPartBytes});
    ASSERT_TRUE(describe(*writer).ok());
    for (int round = 0; round < 200; ++round) ASSERT_TRUE(hand_over(*writer, 500).ok());
    ASSERT_TRUE(writer->close().ok());
    EXPECT_EQ(fs::file_size(foreign), 5u);
    CaptureSink sink;
    ASSERT_TRUE(read_recording(path, sink).ok());
    expect_the_last(sink, handed);
}

TEST_F(Rotation, PartsOfAnEarlierRecordingAreNotRead) {
    for (const int rounds : {400, 10}) {
        handed = 0;
        auto writer = open({.max_part_bytes = kPartBytes});
        ASSERT_TRUE(describe(*writer).ok());
        for (int round = 0; round < rounds; ++round) ASSERT_TRUE(hand_over(*writer, 500).ok());
        ASSERT_TRUE(writer->close().ok());
    }
    EXPECT_GT(files().size(), 1u);
    CaptureSink sink;
    const auto summary = read_recording(path, sink);
    ASSERT_TRUE(summary.ok());
    EXPECT_EQ(summary->parts, 1u);
    EXPECT_EQ(sink.all.size(), handed);
}

TEST_F(Rotation, SecondRecorderIsRefusedWhileLaterPartsAreWritten) {
    auto writer = open({.max_part_bytes = kPartBytes, .keep_parts = 2});
    ASSERT_TRUE(describe(*writer).ok());
    for (int round = 0; round < 300; ++round) {
        ASSERT_TRUE(hand_over(*writer, 500).ok());
        if (round % 50 != 0) continue;
        const auto second = open_perfetto_writer(path);
        ASSERT_FALSE(second.ok()) << round;
        EXPECT_THAT(second.error().message, HasSubstr("in use"));
    }
}

// A folder that cannot be written any more, as its owner without root's rights meets it.
TEST_F(Rotation, ReadOnlyFolderGivesOneReasonAndKeepsWhatIsThere) {
    ::chmod(folder.c_str(), 0777);
    const pid_t child = ::fork();
    if (child == 0) {
        if (::geteuid() == 0 && ::setuid(65534) != 0) ::_exit(20);
        auto writer = open({.max_part_bytes = kPartBytes});
        if (writer == nullptr || !describe(*writer).ok()) ::_exit(21);
        Status status;
        for (int round = 0; round < 20 && status.ok(); ++round) status = hand_over(*writer, 500);
        if (!status.ok()) ::_exit(22);
        // The folder is its creator's: the parent takes the right away.
        ::raise(SIGSTOP);
        for (int round = 0; round < 400 && status.ok(); ++round) status = hand_over(*writer, 500);
        if (status.ok() || status.error().code != Errc::kUnwritable) ::_exit(23);
        if (status.error().message.find("Permission denied") == std::string::npos) ::_exit(24);
        const Status again = hand_over(*writer, 500);
        const Status closed = writer->close();
        ::_exit(again.error().message == status.error().message && closed.error().message == status.error().message
                    ? 0
                    : 25);
    }
    int state = 0;
    ASSERT_EQ(::waitpid(child, &state, WUNTRACED), child);
    ASSERT_TRUE(WIFSTOPPED(state)) << WEXITSTATUS(state);
    ::chmod(folder.c_str(), 0555);
    ::kill(child, SIGCONT);
    ASSERT_EQ(::waitpid(child, &state, 0), child);
    ASSERT_TRUE(WIFEXITED(state));
    EXPECT_EQ(WEXITSTATUS(state), 0);
    CaptureSink sink;
    const auto summary = read_recording(path, sink);
    ASSERT_TRUE(summary.ok()) << summary.error().message;
    EXPECT_FALSE(summary->torn);
    EXPECT_GT(sink.all.size(), kPartBytes / 30);
    ASSERT_TRUE(sink.latest_stats);
    EXPECT_EQ(sink.latest_stats->write_error, EACCES);
}

// In a child whose files may not grow beyond a limit below that of a part: what is on the disk adds up, and says why it
// ends.
TEST_F(Rotation, FullDiskLeavesItsReasonInTheFile) {
    for (const bool parts : {false, true}) {
        SCOPED_TRACE(parts);
        const pid_t child = ::fork();
        if (child == 0) {
            ::signal(SIGXFSZ, SIG_IGN);
            const rlimit files{600'000, 600'000};
            ::setrlimit(RLIMIT_FSIZE, &files);
            auto writer = open({.max_part_bytes = parts ? kPartBytes : 0});
            if (writer == nullptr || !describe(*writer).ok()) ::_exit(21);
            Status status;
            for (int round = 0; round < 100; ++round) {
                const Status now = hand_over(*writer, 500);
                if (status.ok()) status = now;
            }
            if (status.ok() || handed != 50'000) ::_exit(22);
            RecordingStats last;
            last.begun = last.recorded = handed;
            last.final = true;
            static_cast<void>(writer->stats(last));
            ::_exit(writer->close().ok() ? 23 : 0);
        }
        int state = 0;
        ASSERT_EQ(::waitpid(child, &state, 0), child);
        EXPECT_EQ(WIFEXITED(state) ? WEXITSTATUS(state) : -1, 0);
        CaptureSink sink;
        const auto summary = read_recording(path, sink);
        ASSERT_TRUE(summary.ok()) << summary.error().message;
        EXPECT_FALSE(summary->torn);
        ASSERT_TRUE(sink.latest_stats);
        EXPECT_EQ(sink.latest_stats->write_error, EFBIG);
        EXPECT_EQ(sink.latest_stats->begun, 50'000u);
        EXPECT_EQ(sink.all.size() + sink.latest_stats->lost[LossReason::kUnwritten], 50'000u);
        EXPECT_GT(sink.all.size(), 20'000u);
    }
}

}    // namespace
}    // namespace lapwing::test
