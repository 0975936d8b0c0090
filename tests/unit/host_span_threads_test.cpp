// Host spans of threads that start, end, fork and compete for memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "lapwing/host_spans.hpp"
#include "lapwing/span.hpp"
#include "unit/host_span_sink.hpp"

namespace lapwing {
namespace {

using test::KeepingSink;

constexpr std::size_t kRingBytes = 192 * 1024;

class HostSpanThreads : public testing::Test {
protected:
    void SetUp() override {
        KeepingSink rest;
        ASSERT_TRUE(HostSpanCollector(rest).drain().ok());
        set_level(Level::kBasic);
    }
    void TearDown() override {
        set_level(Level::kOff);
        KeepingSink rest;
        ASSERT_TRUE(HostSpanCollector(rest).drain().ok());
        ASSERT_TRUE(configure_host_spans({}).ok());
    }
    static void record(std::size_t count, const char* name) {
        const SiteId site = host_site(name);
        for (std::size_t i = 0; i < count; ++i) const Span span(site);
    }
    static long resident_kb() {
        long size = 0;
        long pages = 0;
        FILE* const file = std::fopen("/proc/self/statm", "r");
        if (file == nullptr || std::fscanf(file, "%ld %ld", &size, &pages) != 2) pages = 0;
        if (file != nullptr) std::fclose(file);
        return pages * (sysconf(_SC_PAGESIZE) / 1024);
    }

    KeepingSink sink_;
    HostSpanCollector collector_{sink_};
};

// Field-case F8: a per-thread ring was freed while a collector read it.
TEST_F(HostSpanThreads, SpansOfAThreadThatHasEndedAreStillDrained) {
    std::thread([] { record(10'000, "ended"); }).join();
    ASSERT_TRUE(collector_.drain().ok());
    EXPECT_EQ(collector_.recorded(), 10'000u);
    EXPECT_EQ(collector_.lost().total(), 0u);
}

TEST_F(HostSpanThreads, EachThreadHasATrackNamedByItsNumber) {
    std::vector<std::string> expected;
    for (int i = 0; i < 2; ++i)
        std::thread([&] {
            expected.push_back("thread " + std::to_string(gettid()));
            record(1, "a");
        }).join();
    ASSERT_TRUE(collector_.drain().ok());
    std::vector<std::string> seen;
    for (const SpanRecord& span : sink_.kept) seen.push_back(sink_.tracks.at(span.track).name);
    EXPECT_THAT(seen, testing::UnorderedElementsAreArray(expected));
}

TEST_F(HostSpanThreads, ThreadsBeyondTheTrackLimitShareOneTrack) {
    HostSpanCollectorOptions options;
    options.max_tracks = 3;
    HostSpanCollector collector(sink_, options);
    for (int i = 0; i < 6; ++i) {
        std::thread([] { record(1, "a"); }).join();
        ASSERT_TRUE(collector.drain().ok());
    }
    ASSERT_EQ(sink_.tracks.size(), 3u);
    EXPECT_EQ(sink_.tracks.at(3).name, "other threads");
    EXPECT_EQ(sink_.kept.back().track, 3u);
}

TEST_F(HostSpanThreads, ThousandShortThreadsUseTheRingsOfAFewAndLoseNothing) {
    ASSERT_TRUE(configure_host_spans({.bytes_per_thread = kRingBytes, .max_bytes = 4 * kRingBytes}).ok());
    for (int i = 0; i < 1000; ++i) {
        std::thread([] { record(3, "short thread"); }).join();
        ASSERT_TRUE(collector_.drain().ok());
    }
    EXPECT_EQ(collector_.recorded(), 3000u);
    EXPECT_EQ(collector_.lost().total(), 0u);
}

TEST_F(HostSpanThreads, ThreadsThatNobodyDrainsStayWithinTheBudgetAndAreCounted) {
    { const Span span(host_site("main thread has its ring")); }
    ASSERT_TRUE(collector_.drain().ok());
    // The main thread's ring counts too.
    ASSERT_TRUE(
        configure_host_spans({.bytes_per_thread = kRingBytes, .max_bytes = (std::size_t{4} << 20) + 4 * kRingBytes})
            .ok());
    const long before_kb = resident_kb();
    for (int i = 0; i < 100; ++i) std::thread([] { record(5, "undrained"); }).join();
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    EXPECT_LT(resident_kb() - before_kb, 4096);
#else
    (void)before_kb;
#endif
    ASSERT_TRUE(collector_.drain().ok());
    EXPECT_EQ(collector_.recorded(), 1u + 4 * 5);
    EXPECT_EQ(collector_.lost()[LossReason::kRingFull], 96u * 5);
    // What the drain gave back is to be had again.
    std::thread([] { record(5, "afterwards"); }).join();
    ASSERT_TRUE(collector_.drain().ok());
    EXPECT_EQ(collector_.recorded(), 1u + 5 * 5);
}

TEST_F(HostSpanThreads, BurstOfThreadsLeavesFewRingsBehindOnceDrained) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "sanitizers keep memory of their own for ended threads";
#endif
    constexpr std::size_t kThreads = 32;
    ASSERT_TRUE(configure_host_spans({.bytes_per_thread = 1 << 20}).ok());
    const long before_kb = resident_kb();
    std::atomic<std::size_t> recorded{0};
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < kThreads; ++i)
        threads.emplace_back([&recorded] {
            record(1, "burst");
            recorded.fetch_add(1);
            while (recorded.load() != kThreads) std::this_thread::yield();    // all hold a ring at once
        });
    for (std::thread& thread : threads) thread.join();
    EXPECT_GT(resident_kb() - before_kb, 30 * 1024);
    ASSERT_TRUE(collector_.drain().ok());
    EXPECT_EQ(collector_.recorded(), kThreads);
    EXPECT_LT(resident_kb() - before_kb, 10 * 1024);
}

struct RecordsWhenDestroyed {
    ~RecordsWhenDestroyed() { const Span span(site); }
    SiteId site = 0;
};

TEST_F(HostSpanThreads, SpanAfterItsThreadsRingWasGivenUpIsCountedAndHarmsNothing) {
    std::thread([] {
        // Constructed before the ring, hence destroyed after the ring was given up.
        thread_local RecordsWhenDestroyed late;
        late.site = host_site("late");
        record(1, "in time");
    }).join();
    ASSERT_TRUE(collector_.drain().ok());
    EXPECT_EQ(sink_.names(), std::vector<std::string>{"in time"});
    EXPECT_EQ(collector_.lost()[LossReason::kRingFull], 1u);
}

TEST_F(HostSpanThreads, ConcurrentDrainSeesEverySpanOnceInOrder) {
    ASSERT_TRUE(configure_host_spans({.bytes_per_thread = kRingBytes * 4}).ok());
    constexpr std::size_t kSpans = 60'000;
    std::atomic<int> running{2};
    const auto work = [&running](const char* name) {
        record(kSpans, name);
        running.fetch_sub(1);
    };
    std::thread first(work, "first");
    std::thread second(work, "second");
    while (running.load() != 0) {
        ASSERT_TRUE(collector_.drain().ok());
        std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    first.join();
    second.join();
    ASSERT_TRUE(collector_.drain().ok());
    EXPECT_EQ(collector_.recorded() + collector_.lost().total(), 2 * kSpans);
    EXPECT_EQ(collector_.lost().total(), collector_.lost()[LossReason::kRingFull]);
    std::map<TrackId, const SpanRecord*> last;
    for (const SpanRecord& span : sink_.kept) {
        const SpanRecord*& before = last[span.track];
        // A nanosecond may be shared, and a conversion may have been refreshed between two drains.
        if (before != nullptr) {
            ASSERT_GE(span.begin_ns + 1000, before->begin_ns);
            ASSERT_EQ(span.site, before->site);
        }
        before = &span;
    }
}

TEST_F(HostSpanThreads, ManyThreadsStartAndEndWhileAnotherDrains) {
    ASSERT_TRUE(configure_host_spans({.bytes_per_thread = kRingBytes}).ok());
    constexpr std::size_t kThreads = 60;
    constexpr std::size_t kSpans = 500;
    std::atomic<bool> done{false};
    std::thread drainer([&] {
        while (!done.load()) {
            EXPECT_TRUE(collector_.drain().ok());
            std::this_thread::yield();
        }
    });
    for (std::size_t i = 0; i < kThreads; i += 2) {
        std::thread a([] { record(kSpans, "a"); });
        std::thread b([] { record(kSpans, "b"); });
        a.join();
        b.join();
    }
    done = true;
    drainer.join();
    ASSERT_TRUE(collector_.drain().ok());
    EXPECT_EQ(collector_.recorded(), kThreads * kSpans);
    EXPECT_EQ(collector_.lost().total(), 0u);
}

// What a child found: bits that are set, 0 where all is well.
int look_around_in_child() {
    int wrong = 0;
    if (level() != Level::kOff) wrong |= 1;
    KeepingSink sink;
    HostSpanCollector collector(sink);
    if (!collector.drain().ok() || !sink.kept.empty() || collector.lost().total() != 0) wrong |= 2;
    set_level(Level::kBasic);
    { const Span span(host_site("child")); }
    if (!collector.close().ok() || sink.names() != std::vector<std::string>{"child"}) wrong |= 4;
    return wrong;
}

TEST_F(HostSpanThreads, ForkedChildStartsOffAndWithoutItsParentsSpans) {
    std::atomic<bool> done{false};
    std::thread other([&] {
        while (!done.load()) {
            record(1, "other thread");
            std::this_thread::yield();
        }
    });
    record(10, "parent");
    const pid_t child = fork();
    if (child == 0) _exit(look_around_in_child());
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    done = true;
    other.join();
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0);
    EXPECT_EQ(level(), Level::kBasic);
    ASSERT_TRUE(collector_.drain().ok());
    const auto names = sink_.names();
    EXPECT_EQ(std::count(names.begin(), names.end(), "parent"), 10);
}

TEST_F(HostSpanThreads, ForkedChildCanNameASpanThoughAnotherThreadWasNamingOne) {
    std::atomic<bool> done{false};
    std::thread other([&done] {
        while (!done.load()) (void)host_site("named over and over");
    });
    int failed = 0;
    for (int i = 0; i < 30 && failed == 0; ++i) {
        const pid_t child = fork();
        if (child == 0) {
            alarm(10);    // a child that inherits the lock waits for ever
            _exit(host_site("child") != 0 ? 0 : 1);
        }
        int status = -1;
        waitpid(child, &status, 0);
        failed += status != 0;
    }
    done = true;
    other.join();
    EXPECT_EQ(failed, 0);
}

TEST_F(HostSpanThreads, SpanThatIsOpenAcrossAForkMakesNoRingInTheChild) {
    { const Span first(host_site("first")); }
    int status = -1;
    {
        const auto in_child = [](pid_t pid) { return pid == 0; };
        auto open = std::make_unique<Span>(host_site("across"));
        const pid_t child = fork();
        if (in_child(child)) {
            open.reset();
            _exit(detail::t_host_cursor.load() == nullptr ? 0 : 1);
        }
        ASSERT_EQ(waitpid(child, &status, 0), child);
    }
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0);
}

}    // namespace
}    // namespace lapwing
