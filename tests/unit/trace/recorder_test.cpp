#include "lapwing/recorder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <thread>

#include "unit/trace/trace_material.hpp"

namespace lapwing::test {
namespace {

using testing::HasSubstr;
using namespace std::chrono_literals;

constexpr int64_t kMinuteNs = 60'000'000'000;

// A sink whose content outlives the recorder, and that can be held up.
struct Shared {
    CaptureSink sink;
    std::mutex mutex;
    std::condition_variable change;
    bool held = false;
    bool inside = false;

    void hold() {
        const std::lock_guard lock(mutex);
        held = true;
    }
    void release() {
        const std::lock_guard lock(mutex);
        held = false;
        change.notify_all();
    }
    void wait_until_inside() {
        std::unique_lock lock(mutex);
        change.wait(lock, [&] { return inside; });
    }
    template <class Predicate>
    bool wait_for(Predicate predicate) {
        std::unique_lock lock(mutex);
        return change.wait_for(lock, 30s, predicate);
    }
};

class SharedSink final : public SpanSink {
public:
    explicit SharedSink(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}
    Status process(const ProcessInfo& x) override {
        return call([&](auto& s) { return s.process(x); });
    }
    Status device(const DeviceInfo& x) override {
        return call([&](auto& s) { return s.device(x); });
    }
    Status track(const TrackInfo& x) override {
        return call([&](auto& s) { return s.track(x); });
    }
    Status site(SiteId id, const Site& x) override {
        return call([&](auto& s) { return s.site(id, x); });
    }
    Status spans(std::span<const SpanRecord> x) override {
        return call([&](auto& s) { return s.spans(x); });
    }
    Status step(const StepRecord& x) override {
        return call([&](auto& s) { return s.step(x); });
    }
    Status stats(const RecordingStats& x) override {
        return call([&](auto& s) { return s.stats(x); });
    }
    Status fingerprint(const FingerprintRecord& x) override {
        return call([&](auto& s) { return s.fingerprint(x); });
    }
    Status flush() override {
        return call([&](auto& s) { return s.flush(); });
    }
    Status close() override {
        return call([&](auto& s) { return s.close(); });
    }

private:
    template <class F>
    Status call(F f) {
        std::unique_lock lock(shared_->mutex);
        shared_->inside = true;
        shared_->change.notify_all();
        shared_->change.wait(lock, [&] { return !shared_->held; });
        shared_->inside = false;
        Status status = f(shared_->sink);
        shared_->change.notify_all();
        return status;
    }
    std::shared_ptr<Shared> shared_;
};

class RecorderTest : public testing::Test {
protected:
    std::unique_ptr<Recorder> make(const RecorderOptions& options = {}) {
        return make_recorder(std::make_unique<SharedSink>(shared), options);
    }
    std::shared_ptr<Shared> shared = std::make_shared<Shared>();
};

TEST_F(RecorderTest, EverythingArrivesInTheOrderInWhichItWasHandedOver) {
    const Recording recording = sample_recording();
    auto recorder = make();
    ASSERT_TRUE(feed(recording, *recorder, 7).ok());
    EXPECT_EQ(keys(shared->sink.all), keys(recording.spans));
    EXPECT_EQ(shared->sink.used_before_announced, 0);
    EXPECT_EQ(shared->sink.steps.size(), recording.steps.size());
    EXPECT_EQ(shared->sink.fingerprints, recording.fingerprints);
    ASSERT_TRUE(shared->sink.latest_stats);
    EXPECT_EQ(shared->sink.latest_stats->begun, recording.stats.begun);
    EXPECT_EQ(shared->sink.closes, 1);
    EXPECT_EQ(recorder->dropped(), 0u);
}

TEST_F(RecorderTest, SpansOfManyThreadsAllArriveAndEachThreadsOrderIsKept) {
    auto recorder = make({.flush_interval_ns = 1'000'000});
    constexpr int kThreads = 4;
    constexpr int kBatches = 500;
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
        threads.emplace_back([&, t] {
            const auto track = static_cast<TrackId>(t + 1);
            EXPECT_TRUE(recorder->track({track, TrackKind::kDeviceQueue, 0, "queue"}).ok());
            EXPECT_TRUE(recorder->site(track, site_of("op")).ok());
            for (int b = 0; b < kBatches; ++b) {
                std::vector<SpanRecord> batch;
                for (int i = 0; i < 20; ++i) batch.push_back(span_of(track, b * 1000 + i * 10, 5, track));
                EXPECT_TRUE(recorder->spans(batch).ok());
                EXPECT_TRUE(recorder->stats({}).ok());
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    ASSERT_TRUE(recorder->close().ok());
    ASSERT_EQ(shared->sink.all.size(), std::size_t{kThreads} * kBatches * 20);
    std::vector<int64_t> last(kThreads + 1, -1);
    for (const SpanRecord& span : shared->sink.all) {
        EXPECT_GT(span.begin_ns, last[span.track]);
        last[span.track] = span.begin_ns;
    }
    EXPECT_EQ(shared->sink.used_before_announced, 0);
}

TEST_F(RecorderTest, NewestSpansBeyondTheLimitAreDroppedAndCounted) {
    shared->hold();
    auto recorder = make({.max_pending_spans = 100, .flush_interval_ns = 1'000'000});
    std::vector<SpanRecord> batch;
    for (int i = 0; i < 30; ++i) batch.push_back(span_of(1, i, 1, 0));
    ASSERT_TRUE(recorder->track({1, TrackKind::kDeviceQueue, 0, "queue"}).ok());
    for (int i = 0; i < 10; ++i) EXPECT_TRUE(recorder->spans(batch).ok());
    EXPECT_EQ(recorder->dropped(), 200u);
    shared->release();
    ASSERT_TRUE(recorder->close().ok());
    EXPECT_EQ(shared->sink.all.size(), 100u);
    EXPECT_EQ(shared->sink.all.size() + recorder->dropped(), 300u);
}

TEST_F(RecorderTest, StepsCannotGrowTheQueueWithoutEnd) {
    shared->hold();
    auto recorder = make({.max_pending_spans = 100, .flush_interval_ns = 1'000'000});
    ASSERT_TRUE(recorder->process({}).ok());
    shared->wait_until_inside();
    for (uint32_t i = 0; i < 500; ++i) EXPECT_TRUE(recorder->step({i, 0, 0, 1, true}).ok());
    EXPECT_EQ(recorder->dropped_steps(), 400u);
    shared->release();
    ASSERT_TRUE(shared->wait_for([&] { return shared->sink.steps.size() == 100; }));
    const auto again = [&] {
        std::ignore = recorder->step({500, 0, 0, 1, true});
        std::this_thread::sleep_for(1ms);
        const std::lock_guard lock(shared->mutex);
        return shared->sink.steps.size() > 100;
    };
    bool room = false;
    for (int i = 0; i < 10'000 && !room; ++i) room = again();
    EXPECT_TRUE(room);
    ASSERT_TRUE(recorder->close().ok());
}

TEST_F(RecorderTest, FingerprintsBeyondTheLimitAreDroppedAndCounted) {
    shared->hold();
    auto recorder = make({.max_pending_spans = 100, .flush_interval_ns = 1'000'000});
    ASSERT_TRUE(recorder->process({}).ok());
    shared->wait_until_inside();
    for (uint32_t i = 0; i < 500; ++i) EXPECT_TRUE(recorder->fingerprint({.name = "x", .order = i}).ok());
    EXPECT_EQ(recorder->dropped_fingerprints(), 400u);
    EXPECT_TRUE(recorder->step({0, 0, 0, 1, true}).ok());
    EXPECT_EQ(recorder->dropped_steps(), 0u) << "a limit for each kind";
    shared->release();
    ASSERT_TRUE(shared->wait_for([&] { return shared->sink.fingerprints.size() == 100; }));
    ASSERT_TRUE(recorder->close().ok());
    EXPECT_EQ(shared->sink.fingerprints.back().order, 99u) << "the newest are dropped";
}

TEST_F(RecorderTest, SinkGetsSpansAndStatsWithoutClose) {
    auto recorder = make({.flush_interval_ns = 1'000'000});
    RecordingStats stats;
    stats.begun = 3;
    ASSERT_TRUE(recorder->stats(stats).ok());
    ASSERT_TRUE(recorder->spans(std::vector{span_of(1, 5, 5, 0)}).ok());
    EXPECT_TRUE(shared->wait_for([&] { return shared->sink.all.size() == 1 && shared->sink.stats_calls > 0; }));
    ASSERT_TRUE(recorder->close().ok());
}

TEST_F(RecorderTest, SinkIsFlushedAfterTheLastSpansThoughNothingElseComes) {
    auto recorder = make({.flush_interval_ns = 1'000'000});
    for (std::size_t many : {1u, 5000u}) {    // fewer and more than wake the writer
        const std::size_t before = shared->sink.all.size();
        ASSERT_TRUE(recorder->spans(std::vector(many, span_of(1, 5, 5, 0))).ok());
        EXPECT_TRUE(shared->wait_for([&] { return shared->sink.flushed == before + many; }));
    }
    EXPECT_EQ(shared->sink.stats_calls, 0);
    ASSERT_TRUE(recorder->close().ok());
}

TEST_F(RecorderTest, ManySpansReachTheSinkLongBeforeTheInterval) {
    auto recorder = make({.flush_interval_ns = kMinuteNs});
    ASSERT_TRUE(recorder->spans(std::vector(1536, span_of(1, 5, 5, 0))).ok());
    EXPECT_TRUE(shared->wait_for([&] { return shared->sink.all.size() == 1536; }));
    ASSERT_TRUE(recorder->close().ok());
}

TEST_F(RecorderTest, FirstErrorOfTheSinkIsKeptAndReturnedByLaterCalls) {
    shared->sink.answer = Error{Errc::kUnwritable, 0, "disk full"};
    auto recorder = make({.flush_interval_ns = 1'000'000});
    std::ignore = recorder->spans(std::vector{span_of(1, 5, 5, 0)});
    Status status;
    for (int i = 0; i < 30'000 && status.ok(); ++i) {
        std::this_thread::sleep_for(1ms);
        status = recorder->spans(std::vector{span_of(1, 5, 5, 0)});
    }
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().message, "disk full");
    EXPECT_EQ(recorder->close().error().message, "disk full");
    EXPECT_GT(recorder->unwritten(), 0u);
    EXPECT_EQ(recorder->dropped(), 0u) << "the writer was not behind";
}

TEST_F(RecorderTest, CloseGivesUpAtItsDeadlineAndLaterCallsAreRefused) {
    shared->hold();
    auto recorder = make({.flush_interval_ns = 1'000'000});
    ASSERT_TRUE(recorder->spans(std::vector{span_of(1, 5, 5, 0)}).ok());
    shared->wait_until_inside();
    const auto before = std::chrono::steady_clock::now();
    const Status status = recorder->close_within(20'000'000);
    EXPECT_LT(std::chrono::steady_clock::now() - before, 20s);
    ASSERT_FALSE(status.ok());
    EXPECT_THAT(status.error().message, HasSubstr("in time"));
    EXPECT_FALSE(recorder->close_within(0).ok());
    EXPECT_FALSE(recorder->spans(std::vector{span_of(1, 5, 5, 0)}).ok());
    recorder.reset();
    shared->release();
    EXPECT_TRUE(shared->wait_for([&] { return shared->sink.all.size() == 1; }));
}

TEST_F(RecorderTest, CloseIsIdempotentAndCallsAfterItAreRefused) {
    auto recorder = make();
    EXPECT_TRUE(recorder->close_within(kMinuteNs).ok());
    EXPECT_TRUE(recorder->close().ok());
    EXPECT_EQ(shared->sink.closes, 1);
    EXPECT_FALSE(recorder->spans(std::vector{span_of(1, 5, 5, 0)}).ok());
    EXPECT_EQ(recorder->unwritten(), 1u);
}

TEST_F(RecorderTest, TwoThreadsMayCloseAtOnce) {
    auto recorder = make();
    ASSERT_TRUE(recorder->spans(std::vector{span_of(1, 5, 5, 0)}).ok());
    std::thread other([&] { EXPECT_TRUE(recorder->close().ok()); });
    EXPECT_TRUE(recorder->close().ok());
    other.join();
    EXPECT_EQ(shared->sink.closes, 1);
}

TEST_F(RecorderTest, DestructorWritesWhatIsPending) {
    auto recorder = make();
    ASSERT_TRUE(recorder->spans(std::vector{span_of(1, 5, 5, 0)}).ok());
    recorder.reset();
    EXPECT_EQ(shared->sink.all.size(), 1u);
    EXPECT_EQ(shared->sink.closes, 1);
}

std::string status_line(const std::filesystem::path& task, const std::string& key) {
    std::ifstream in(task / "status");
    for (std::string line; std::getline(in, line);)
        if (line.starts_with(key + ":\t")) return line.substr(key.size() + 2);
    return {};
}

TEST_F(RecorderTest, OneThreadNamedLapwingWriterHasEverySignalBlocked) {
    shared->hold();
    auto recorder = make();
    ASSERT_TRUE(recorder->process({}).ok());
    ASSERT_TRUE(recorder->stats({}).ok());
    std::vector<std::string> masks;
    for (int i = 0; i < 10'000 && masks.empty(); ++i) {    // until the thread has named itself
        for (const auto& task : std::filesystem::directory_iterator("/proc/self/task"))
            if (status_line(task.path(), "Name") == "lapwing-writer")
                masks.push_back(status_line(task.path(), "SigBlk"));
        std::this_thread::sleep_for(1ms);
    }
    ASSERT_EQ(masks.size(), 1u);
    const uint64_t blocked = std::stoull(masks[0], nullptr, 16);
    for (const int signal : {SIGINT, SIGTERM, SIGPIPE, SIGXFSZ, SIGUSR1, SIGCHLD, SIGPROF})
        EXPECT_NE(blocked >> (signal - 1) & 1, 0u) << signal;
    sigset_t mine;
    ::pthread_sigmask(SIG_SETMASK, nullptr, &mine);
    EXPECT_EQ(::sigismember(&mine, SIGTERM), 0);
    shared->release();
    EXPECT_TRUE(recorder->close().ok());
}

// rocm-systems#5744: a forked child inherits a profiler whose thread is not there. [field case F1]
TEST_F(RecorderTest, ForkedChildNeitherBlocksNorWritesNorJoins) {
    shared->hold();
    auto recorder = make({.flush_interval_ns = 1'000'000});
    ASSERT_TRUE(recorder->spans(std::vector{span_of(1, 5, 5, 0)}).ok());
    shared->wait_until_inside();
    const pid_t child = ::fork();
    if (child == 0) {
        ::alarm(20);
        const bool refused = !recorder->spans(std::vector{span_of(1, 5, 5, 0)}).ok() && !recorder->step({}).ok() &&
                             !recorder->stats({}).ok() && !recorder->close_within(kMinuteNs).ok();
        recorder.reset();
        ::_exit(refused ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    shared->release();
    EXPECT_TRUE(recorder->close().ok());
    EXPECT_EQ(shared->sink.all.size(), 1u);
}

// tracy#189, #318, #507: memory that grows with what is recorded. [field case E9, with 10^7 spans]
TEST_F(RecorderTest, TenMillionSpansTakeNoMoreMemoryThanOneMillion) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "sanitizers keep freed memory for a while: the release preset measures it";
#endif
    const auto resident_kb = [] {
        const std::string line = status_line("/proc/self", "VmRSS");
        return std::stoll(line);
    };
    for (const bool compress : {false, true}) {
        auto writer = open_perfetto_writer("/dev/null", {.compress = compress});
        ASSERT_TRUE(writer.ok());
        auto recorder = make_recorder(std::move(*writer), {.max_pending_spans = 100'000});
        ASSERT_TRUE(recorder->track({1, TrackKind::kDeviceQueue, 0, "queue"}).ok());
        ASSERT_TRUE(recorder->site(1, site_of("op")).ok());
        std::vector<SpanRecord> batch(1000);
        int64_t now_ns = 0;
        const auto hand_over = [&](int batches) {
            for (int i = 0; i < batches; ++i) {
                for (SpanRecord& span : batch) {
                    now_ns += 5000;
                    span = span_of(1, now_ns, 1000 + now_ns % 3000, 1);
                }
                ASSERT_TRUE(recorder->spans(batch).ok());
            }
        };
        hand_over(1000);
        const int64_t before = resident_kb();
        hand_over(9000);
        EXPECT_LT(resident_kb() - before, 8 * 1024);
        EXPECT_TRUE(recorder->close().ok());
    }
}

TEST_F(RecorderTest, RecordingThroughARecorderReadsBack) {
    const TemporaryFile file;
    auto writer = open_perfetto_writer(file.path());
    ASSERT_TRUE(writer.ok());
    auto recorder = make_recorder(std::move(*writer));
    const Recording recording = sample_recording();
    ASSERT_TRUE(feed(recording, *recorder).ok());
    CaptureSink read;
    const auto summary = read_perfetto(file.path(), read);
    ASSERT_TRUE(summary.ok());
    EXPECT_EQ(keys(read.all), keys(recording.spans));
}

}    // namespace
}    // namespace lapwing::test
