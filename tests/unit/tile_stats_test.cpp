// Tiles, and the small instruments beside bricks.
#include "lapwing/tile_stats.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "lapwing/async_task.hpp"
#include "lapwing/cached_clock.hpp"
#include "lapwing/page_faults.hpp"

namespace lapwing {
namespace {

TEST(TileStats, FormulasGiveTheKnownAnswers) {
    TileStats stats;
    EXPECT_EQ(stats.gflops(), 0);
    EXPECT_EQ(stats.arithmetic_intensity(), 0);
    EXPECT_EQ(stats.min_us(), 0);
    EXPECT_EQ(stats.add_sample(100'000'000, 1000, 1'000'000'000), BrickFault::kNone);
    EXPECT_DOUBLE_EQ(stats.gflops(), 10);
    EXPECT_DOUBLE_EQ(stats.cache_efficiency(5), 1);
    EXPECT_DOUBLE_EQ(stats.cache_efficiency(20), 0.5);
    EXPECT_EQ(stats.cache_efficiency(0), 0);
    EXPECT_EQ(stats.cache_efficiency(-1), 0);
    TileStats intensity;
    EXPECT_EQ(intensity.add_sample(1, 1000, 8000), BrickFault::kNone);
    EXPECT_DOUBLE_EQ(intensity.arithmetic_intensity(), 2);
    intensity.bytes_per_element = 2;
    EXPECT_DOUBLE_EQ(intensity.arithmetic_intensity(), 4);
    EXPECT_EQ(intensity.add_sample(1, 0, 1), BrickFault::kNoElements);
    EXPECT_EQ(intensity.add_sample(1, 1, std::numeric_limits<uint64_t>::max()), BrickFault::kOverflow);
    EXPECT_EQ(intensity.count, 1u);
    EXPECT_STREQ(to_text(TileLevel::kMidi), "midi");
}

TEST(TileProfiler, RecordsOnlyWhileOnAndByLevel) {
    TileProfiler profiler({.bytes_per_element = {4, 2, 1}});
    EXPECT_FALSE(profiler.is_tile_profiling_enabled());
    TileTimer off = profiler.start_tile(TileLevel::kMacro, 0, 0);
    EXPECT_EQ(profiler.stop_tile(off, 1, 1), BrickFault::kNone);
    EXPECT_EQ(profiler.tile_stats(TileLevel::kMacro).count, 0u);
    profiler.enable_tile_profiling();
    TileTimer timer = profiler.start_tile(TileLevel::kMidi, 3, 4);
    EXPECT_EQ(profiler.stop_tile(timer, 64, 128), BrickFault::kNone);
    EXPECT_EQ(profiler.stop_tile(timer, 64, 128), BrickFault::kAlreadyStopped);
    TileTimer empty = profiler.start_tile(TileLevel::kMidi, 3, 4);
    EXPECT_EQ(profiler.stop_tile(empty, 0, 128), BrickFault::kNoElements);
    const TileStats midi = profiler.all_tile_stats()[1];
    EXPECT_EQ(midi.count, 1u);
    EXPECT_DOUBLE_EQ(midi.arithmetic_intensity(), 1);
    const TileSnapshot now = profiler.snapshot();
    EXPECT_EQ(now.faults[static_cast<std::size_t>(BrickFault::kAlreadyStopped)], 1u);
    ASSERT_EQ(now.heat.size(), 1u);
    EXPECT_EQ(now.heat[0].row, 3u);
    EXPECT_EQ(now.heat[0].col, 4u);
    profiler.reset_tile_stats();
    EXPECT_EQ(profiler.tile_stats(TileLevel::kMidi).count, 0u);
    EXPECT_TRUE(profiler.snapshot().heat.empty());
}

TEST(TileProfiler, HeatMapStaysBoundedAndLosesNoTime) {
    TileProfiler profiler({.max_cells = 16});
    profiler.enable_tile_profiling();
    for (uint32_t row = 0; row < 40; ++row)
        for (uint32_t col = 0; col < 40; ++col)
            EXPECT_EQ(profiler.record_tile(TileLevel::kMicro, row, col, row == 39 ? 100 : 1, 1, 1), BrickFault::kNone);
    EXPECT_EQ(profiler.record_tile(TileLevel::kMicro, ~0u, ~0u, 7, 1, 1), BrickFault::kNone);
    const TileSnapshot now = profiler.snapshot();
    EXPECT_LE(now.heat.size(), 16u);
    uint64_t count = 0, total = 0;
    for (const TileHeat& cell : now.heat) {
        count += cell.count;
        total += cell.total_ns;
    }
    EXPECT_EQ(count, 1601u);
    EXPECT_EQ(total, now.levels[2].total_ns);
}

TEST(CachedClock, HasATimeOnlyWhileItRunsAndFollowsTheClock) {
    CachedClock clock;
    EXPECT_EQ(clock.cached_nanos(), 0);
    EXPECT_GT(clock.cached_nanos_or_now(), 0);
    EXPECT_EQ(clock.start(5).error().code, Errc::kInvalidArgument);
    ASSERT_TRUE(clock.start().ok());
    ASSERT_TRUE(clock.start().ok());
    const int64_t first = clock.cached_nanos_or_now();
    EXPECT_GT(first, 0);
    while (clock.cached_nanos() == first) std::this_thread::yield();
    EXPECT_GT(clock.cached_nanos(), first);
    clock.stop();
    EXPECT_EQ(clock.cached_nanos(), 0);
}

TEST(CpuCycles, CountUp) {
    const uint64_t first = cpu_cycles();
    EXPECT_GE(cpu_cycles(), first);
}

TEST(PageFaults, AreReadBehindTheWildestProgramName) {
    const auto parsed = parse_page_faults("4711 (a) b) ( c) R 1 2 3 4 5 6 1234 8 56 10 11 12");
    ASSERT_TRUE(parsed.ok());
    EXPECT_EQ(parsed.value(), (PageFaults{1234, 56}));
    for (const char* bad : {"", "1 (x", "1 (x) R 1 2", "1 (x) R 1 2 3 4 5 6 many 8 9 10"})
        EXPECT_EQ(parse_page_faults(bad).error().code, Errc::kBadFormat) << bad;
}

TEST(PageFaults, OfTheProcessCountItsFirstTouches) {
    const auto before = page_faults();
    ASSERT_TRUE(before.ok());
    constexpr std::size_t kBytes = 64 * 4096;
    void* const memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    madvise(memory, kBytes, MADV_NOHUGEPAGE);
    for (std::size_t at = 0; at < kBytes; at += 4096) static_cast<volatile char*>(memory)[at] = 1;
    const auto after = page_faults();
    munmap(memory, kBytes);
    ASSERT_TRUE(after.ok());
    EXPECT_GE((after.value() - before.value()).minor, 60u);
}

TEST(AsyncTaskProfiler, FormulasAndPairsHold) {
    AsyncTaskProfiler task("load");
    EXPECT_EQ(task.efficiency(), 0);
    EXPECT_EQ(task.yield_ratio(), 0);
    EXPECT_EQ(task.avg_poll_us(), 0);
    task.add_poll(1000, false);
    task.add_poll(2000, false);
    task.add_poll(3000, false);
    task.add_poll(6000, true);
    EXPECT_DOUBLE_EQ(task.efficiency(), 0.25);
    EXPECT_DOUBLE_EQ(task.yield_ratio(), 0.75);
    EXPECT_DOUBLE_EQ(task.avg_poll_us(), 3);
    task.poll_end(true);    // never begun
    EXPECT_EQ(task.poll_count(), 4u);
    task.poll_begin();
    task.poll_end(true);
    EXPECT_EQ(task.poll_count(), 5u);
    EXPECT_EQ(task.yield_count(), 3u);
}

}    // namespace
}    // namespace lapwing
