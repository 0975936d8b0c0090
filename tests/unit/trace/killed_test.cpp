// Programs that record and are killed: the file opens, and lacks at most what a second or 320 KiB a track hold.
// Field case C5 (trace-viewer#145, not-perf#22): a process dies in the middle of its file.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <new>
#include <thread>

#include "lapwing/recorder.hpp"
#include "unit/trace/trace_material.hpp"

namespace lapwing::test {
namespace {

using namespace std::chrono_literals;

constexpr int kPoints = 300;
constexpr int kAtOnce = 100;
constexpr TrackId kTracks = 2;
constexpr int kBatch = 40;    // spans a track every 2 ms
constexpr int64_t kBoundNs = 1'000'000'000;

int64_t now_ns() {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * int64_t{1'000'000'000} + now.tv_nsec;
}

// What a child has handed over and when, in memory that outlives it.
struct Log {
    struct Entry {
        int64_t at_ns;
        uint64_t handed;    // spans a track
    };
    std::array<Entry, 8192> entries;
    std::atomic<std::size_t> size{0};
    std::atomic<int64_t> killed_ns{0};    // by itself, inside write()

    void add(uint64_t handed) {
        const std::size_t at = size.load();
        if (at == entries.size()) return;
        entries[at] = {now_ns(), handed};
        size.store(at + 1);
    }
    [[nodiscard]] uint64_t handed_before(int64_t at_ns) const {
        uint64_t handed = 0;
        for (std::size_t i = 0; i < size && entries[i].at_ns <= at_ns; ++i) handed = entries[i].handed;
        return handed;
    }
};

// The fault of this process: write number `call` stops after some bytes and kills the process.
struct Fault {
    int call = 0;    // 0 = none
    int part = 0;    // which part of the bytes is written first
    Log* log = nullptr;
};
Fault g_fault;
std::atomic<int> g_writes{0};

extern "C" ssize_t __real_write(int fd, const void* bytes, size_t size);
extern "C" ssize_t __wrap_write(int fd, const void* bytes, size_t size) {
    if (g_fault.call == 0 || ++g_writes != g_fault.call) return __real_write(fd, bytes, size);
    // A file shorter than four bytes cannot be known as a recording.
    const std::array<size_t, 4> parts{4, size / 4, size / 2, size - 1};
    [[maybe_unused]] const ssize_t written = __real_write(fd, bytes, parts[static_cast<size_t>(g_fault.part)]);
    g_fault.log->killed_ns = now_ns();
    ::raise(SIGKILL);
    return -1;
}

[[noreturn]] void record_until_killed(const std::string& path, const PerfettoWriterOptions& options, Log& log) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    auto writer = open_perfetto_writer(path, options);
    if (!writer.ok() || !(*writer)->process({::getpid(), "killed", "v", "kernel", 1}).ok()) ::_exit(1);
    auto recorder = make_recorder(std::move(*writer));
    for (TrackId track = 1; track <= kTracks; ++track)
        std::ignore = recorder->track({track, TrackKind::kDeviceQueue, 0, "queue " + std::to_string(track)});
    std::ignore = recorder->site(1, site_of("op"));
    std::vector<SpanRecord> batch(std::size_t{kTracks} * kBatch);
    for (uint64_t handed = 0;;) {
        auto span = batch.begin();
        for (TrackId track = 1; track <= kTracks; ++track)
            for (int i = 0; i < kBatch; ++i)
                *span++ = span_of(track, static_cast<int64_t>(handed + static_cast<uint64_t>(i)) * 1000, 700, 1);
        std::ignore = recorder->spans(batch);
        log.add(handed += kBatch);
        std::this_thread::sleep_for(2ms);
    }
}

struct Child {
    TemporaryFile file;
    Log* log = nullptr;
    Fault fault;
    pid_t pid = -1;
    int64_t die_at_ns = 0;
    int64_t killed_ns = 0;

    Child() {
        void* memory = ::mmap(nullptr, sizeof(Log), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        log = new (memory) Log;
    }
    ~Child() { ::munmap(log, sizeof(Log)); }
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;

    void start(bool compress) {
        pid = ::fork();
        if (pid != 0) return;
        g_fault = fault;
        g_fault.log = log;
        record_until_killed(file.path(), {.compress = compress}, *log);
    }
    void end() {
        killed_ns = now_ns();
        ::kill(pid, SIGKILL);
        int status = 0;
        ::waitpid(pid, &status, 0);
        EXPECT_TRUE(WIFSIGNALED(status)) << "the child gave up: " << status;
        if (log->killed_ns != 0) killed_ns = log->killed_ns;
    }
};

// Reads what is left: each track's spans from the first on without a gap, and how many they are.
void check(const Child& child) {
    CaptureSink sink;
    const auto summary = read_perfetto(child.file.path(), sink);
    ASSERT_TRUE(summary.ok()) << summary.error().message;
    std::array<int64_t, kTracks + 1> next{};
    for (const SpanRecord& span : sink.all) {
        ASSERT_LE(span.track, kTracks);
        ASSERT_EQ(span.begin_ns, next[span.track]);
        ASSERT_EQ(span.duration_ns, 700);
        next[span.track] += 1000;
    }
    const uint64_t due = child.log->handed_before(child.killed_ns - kBoundNs);
    for (TrackId track = 1; track <= kTracks; ++track)
        EXPECT_GE(static_cast<uint64_t>(next[track]) / 1000, due) << "of track " << track;
    if (due > 0) {
        EXPECT_EQ(sink.processes.size(), 1u);
        EXPECT_EQ(sink.used_before_announced, 0);
    }
}

TEST(Killed, RecordingOpensAndLacksAtMostASecondAtEachOf300Points) {
    int inside_writes = 0;
    int torn_checks = 0;
    for (int wave = 0; wave < kPoints / kAtOnce; ++wave) {
        std::array<Child, kAtOnce> children;
        for (int i = 0; i < kAtOnce; ++i) {
            Child& child = children[static_cast<std::size_t>(i)];
            const int point = wave * kAtOnce + i;
            // Every second child dies inside one of its first writes, the others at any time.
            if (point % 2 == 1) child.fault = {.call = 1 + point / 2 % 14, .part = point / 28 % 4};
            child.start(point % 3 == 0);
            child.die_at_ns = now_ns() + (point % 2 == 1 ? 2'200'000'000 : 900'000'000 + point * 4'300'000ll);
            ASSERT_GT(child.pid, 0);
        }
        std::array<Child*, kAtOnce> order{};
        std::transform(children.begin(), children.end(), order.begin(), [](Child& child) { return &child; });
        std::sort(order.begin(), order.end(), [](Child* a, Child* b) { return a->die_at_ns < b->die_at_ns; });
        for (Child* child : order) {
            std::this_thread::sleep_for(std::chrono::nanoseconds(std::max<int64_t>(child->die_at_ns - now_ns(), 0)));
            child->end();
        }
        for (const Child& child : children) {
            SCOPED_TRACE("write " + std::to_string(child.fault.call) + ", part " + std::to_string(child.fault.part));
            check(child);
            if (child.log->killed_ns != 0) ++inside_writes;
            if (child.log->handed_before(child.killed_ns - kBoundNs) > 0) ++torn_checks;
        }
    }
    EXPECT_GE(inside_writes, kPoints / 4);
    EXPECT_GE(torn_checks, kPoints / 4);
}

}    // namespace
}    // namespace lapwing::test
