// Bricks on several threads: nothing is lost, whoever reads meanwhile.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "lapwing/brick_profiler.hpp"

namespace lapwing {
namespace {

void run_bricks(BrickProfiler& profiler, int count) {
    for (int i = 0; i < count; ++i) {
        BrickScope outer(profiler, BrickId::kGateProjection, 2);
        BrickScope inner(profiler, BrickId::kActivation, 3);
    }
}

TEST(BrickThreads, FourLoseNothingWhileTwoRead) {
    BrickProfiler profiler({.enabled = true, .warmup_samples = 10});
    constexpr int kThreads = 4;
    constexpr int kEach = 20'000;
    std::atomic<bool> done{false};
    std::vector<std::thread> readers;
    for (int r = 0; r < 2; ++r)
        readers.emplace_back([&] {
            uint64_t last = 0;
            while (!done.load()) {
                const BrickSnapshot now = profiler.snapshot();
                uint64_t count = 0, by_category = 0;
                for (const BrickStats& brick : now.bricks) count += brick.count() + brick.warmup_count;
                for (const CategoryStats& category : now.categories) by_category += category.total_ns;
                EXPECT_GE(count, last);
                EXPECT_EQ(by_category, now.total_ns);
                last = count;
            }
        });
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) threads.emplace_back([&] { run_bricks(profiler, kEach); });
    for (std::thread& thread : threads) thread.join();
    done = true;
    for (std::thread& reader : readers) reader.join();

    const BrickSnapshot now = profiler.snapshot();
    const BrickStats& inner = *now.stats("Activation").value();
    const BrickStats& outer = *now.stats("Gate").value();
    EXPECT_EQ(inner.warmup_count, 10u);
    EXPECT_EQ(inner.count() + 10, uint64_t{kThreads} * kEach);
    EXPECT_EQ(outer.count() + 10, uint64_t{kThreads} * kEach);
    EXPECT_EQ(inner.histogram.count(), inner.count());
    EXPECT_EQ(inner.total_elements, 3 * inner.count());
    EXPECT_EQ(outer.child_ns, inner.total_ns + inner.warmup_ns);
    EXPECT_EQ(now.overlapping, 0u);
    for (const uint64_t fault : now.faults) EXPECT_EQ(fault, 0u);
}

TEST(BrickThreads, FourTimesAHundredElementsAre400) {
    BrickProfiler profiler({.enabled = true});
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&] {
            for (int i = 0; i < 100; ++i) EXPECT_EQ(profiler.record_elapsed("by name", 10, 1), BrickFault::kNone);
        });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(profiler.snapshot().total_elements, 400u);
    EXPECT_EQ(profiler.snapshot().stats("by name").value()->count(), 400u);
}

TEST(BrickThreads, EndedThreadsLeaveTheirSamplesAndTheirPlace) {
    BrickProfiler profiler({.enabled = true});
    for (int t = 0; t < 50; ++t) std::thread([&] { run_bricks(profiler, 3); }).join();
    EXPECT_EQ(profiler.snapshot().stats("Gate").value()->count(), 150u);
}

TEST(BrickThreads, SeveralProfilersOnOneThreadKeepApartAndMayDie) {
    auto first = std::make_unique<BrickProfiler>(BrickProfilerOptions{.enabled = true});
    BrickProfiler second({.enabled = true});
    for (int i = 0; i < 300; ++i) {
        run_bricks(*first, 1);
        run_bricks(second, 2);
    }
    EXPECT_EQ(first->snapshot().stats("Gate").value()->count(), 300u);
    EXPECT_EQ(second.snapshot().stats("Gate").value()->count(), 600u);
    first.reset();
    run_bricks(second, 1);
    first = std::make_unique<BrickProfiler>(BrickProfilerOptions{.enabled = true});
    run_bricks(*first, 5);
    EXPECT_EQ(first->snapshot().stats("Gate").value()->count(), 5u);
    EXPECT_EQ(second.snapshot().stats("Gate").value()->count(), 601u);
}

TEST(BrickThreads, StopOnAnotherThreadIsTakenAndCountedAsOutOfOrder) {
    BrickProfiler profiler({.enabled = true});
    BrickTimer timer = profiler.start_brick(BrickId::kLmHead);
    std::thread([&] { EXPECT_EQ(profiler.stop_brick(timer, 1), BrickFault::kNone); }).join();
    EXPECT_EQ(profiler.snapshot().stats("LmHead").value()->count(), 1u);
    EXPECT_EQ(profiler.snapshot().overlapping, 1u);
}

TEST(BrickThreads, ResetAndSwitchesBesideRunningBricksAreSafe) {
    BrickProfiler profiler({.enabled = true});
    std::atomic<bool> done{false};
    std::vector<std::thread> threads;
    for (int t = 0; t < 2; ++t)
        threads.emplace_back([&] {
            while (!done.load()) run_bricks(profiler, 100);
        });
    for (int i = 0; i < 100; ++i) {
        profiler.reset();
        profiler.disable();
        profiler.enable();
        (void)profiler.set_sync_mode(i % 2 == 0 ? SyncMode::kNone : SyncMode::kDeferred);
    }
    done = true;
    for (std::thread& thread : threads) thread.join();
    profiler.reset();
    EXPECT_EQ(profiler.snapshot().total_ns, 0u);
    run_bricks(profiler, 7);
    EXPECT_EQ(profiler.snapshot().stats("Gate").value()->count(), 7u);
}

}    // namespace
}    // namespace lapwing
