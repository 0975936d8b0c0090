// What a brick costs that its statistics do not show: clock reads and allocations, counted.
#include <gtest/gtest.h>

#include <cstdint>

#include "lapwing/brick_profiler.hpp"
#include "unit/allocation_counter.hpp"

namespace lapwing {
namespace {

struct CountingTick {
    static inline uint64_t reads = 0;
    static uint64_t now() noexcept { return ++reads + 1'000'000; }
};

void run(BrickProfiler& profiler, int count) {
    for (int i = 0; i < count; ++i) {
        BrickTimer timer = profiler.start_brick<CountingTick>(BrickId::kRmsNorm);
        (void)profiler.stop_brick<CountingTick>(timer, 1);
    }
}

TEST(BrickCost, OffReadsNoClockAndAllocatesNothing) {
    BrickProfiler profiler;
    const uint64_t allocations = test::allocations();
    const uint64_t reads = CountingTick::reads;
    run(profiler, 10'000);
    for (int i = 0; i < 10'000; ++i) {
        BrickTimer named = profiler.start("a name that is no brick's, and long");
        (void)profiler.stop(named, 1);
        (void)profiler.record_elapsed("a name that is no brick's, and long", 5, 1);
        (void)profiler.record_deferred(BrickId::kRmsNorm, 0, 1);
        (void)profiler.record_deferred_dynamic("a name that is no brick's, and long", 0, 1);
        profiler.begin_layer(1);
        profiler.end_layer();
    }
    EXPECT_EQ(CountingTick::reads, reads);
    EXPECT_EQ(test::allocations(), allocations);
}

TEST(BrickCost, OnReadsTheClockTwiceAndAllocatesNothingOnceStarted) {
    BrickProfiler profiler({.enabled = true});
    run(profiler, 1000);
    const uint64_t reads = CountingTick::reads;
    const uint64_t allocations = test::allocations();
    run(profiler, 10'000);
    EXPECT_EQ(CountingTick::reads - reads, 20'000u);
    EXPECT_EQ(test::allocations(), allocations);
    EXPECT_EQ(profiler.snapshot().stats("RmsNorm").value()->count(), 11'000u);
}

TEST(BrickCost, KnownNamesAllocateNothing) {
    BrickProfiler profiler({.enabled = true});
    const auto named = [&profiler] {
        BrickTimer timer = profiler.start("a name that is no brick's, and long");
        (void)profiler.stop(timer, 1);
    };
    for (int i = 0; i < 300; ++i) named();
    const uint64_t allocations = test::allocations();
    for (int i = 0; i < 1000; ++i) named();
    EXPECT_EQ(test::allocations(), allocations);
}

}    // namespace
}    // namespace lapwing
