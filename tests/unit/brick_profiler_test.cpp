// BrickProfiler on one thread: what T pins down, and what is better here.
#include "lapwing/brick_profiler.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace lapwing {
namespace {

// A clock that tests move.
struct HandTick {
    static inline uint64_t value = 1'000'000;
    static uint64_t now() noexcept { return value; }
};

double ns_of(uint64_t ticks) {
    return static_cast<double>(ticks) * host_clock().ns_per_tick;
}

struct Bricks : ::testing::Test {
    void timed(BrickKey key, uint64_t elements = 1) {
        BrickTimer timer = profiler.start_brick(key);
        EXPECT_EQ(profiler.stop_brick(timer, elements), BrickFault::kNone);
    }
    // The brick's figures, which must be there.
    BrickStats stats(std::string_view name, BrickClock clock = BrickClock::kHost) {
        const BrickSnapshot now = profiler.snapshot();
        const auto found = now.stats(name, clock);
        EXPECT_TRUE(found.ok()) << name;
        return found.ok() ? *found.value() : BrickStats{};
    }
    uint64_t faults(BrickFault fault) { return profiler.snapshot().faults[static_cast<std::size_t>(fault)]; }

    BrickProfiler profiler{{.enabled = true}};
};

TEST_F(Bricks, StartOffWithNothingInThemAndDeferred) {
    const BrickProfiler fresh;
    EXPECT_FALSE(fresh.is_enabled());
    EXPECT_EQ(fresh.sync_mode(), SyncMode::kDeferred);
    const BrickSnapshot now = fresh.snapshot();
    EXPECT_EQ(now.total_ns, 0u);
    EXPECT_EQ(now.total_elements, 0u);
    EXPECT_FALSE(now.total_tokens.has_value());
    EXPECT_FALSE(now.tokens_per_sec().has_value());
    EXPECT_EQ(now.total_throughput(), 0);
    EXPECT_FALSE(now.l2_cache_hit_rate.has_value());
    EXPECT_FALSE(now.zero_copy);
    EXPECT_EQ(now.categories.size(), 7u);
    EXPECT_TRUE(now.bricks.empty());
    EXPECT_LE(sizeof(BrickTimer), 32u);
}

TEST_F(Bricks, RecordNothingWhileOff) {
    profiler.disable();
    BrickTimer timer = profiler.start_brick(BrickId::kRmsNorm);
    EXPECT_EQ(profiler.stop_brick(timer, 0), BrickFault::kNone);
    EXPECT_EQ(profiler.record_elapsed("Qkv", 100, 1), BrickFault::kNone);
    EXPECT_EQ(profiler.record_deferred(BrickId::kRmsNorm, 0, 1), BrickFault::kNone);
    EXPECT_FALSE(profiler.has_pending());
    EXPECT_EQ(profiler.snapshot().total_ns, 0u);
    EXPECT_TRUE(profiler.snapshot().bricks.empty());
    profiler.enable();
    timed(BrickId::kRmsNorm);
    EXPECT_EQ(stats("RmsNorm").count(), 1u);
}

TEST_F(Bricks, StartedBeforeOffIsStillRecorded) {
    BrickTimer timer = profiler.start_brick(BrickId::kRmsNorm);
    profiler.disable();
    EXPECT_EQ(profiler.stop_brick(timer, 3), BrickFault::kNone);
    EXPECT_EQ(stats("RmsNorm").total_elements, 3u);
}

TEST_F(Bricks, TotalsAreTheSumsOfTheirBricksAndCategories) {
    timed(BrickId::kRmsNorm, 10);
    timed(BrickId::kQkvProjection, 20);
    timed(BrickId::kUpProjection, 30);
    EXPECT_EQ(profiler.record_elapsed("mystery", 1000, 40), BrickFault::kNone);
    const BrickSnapshot now = profiler.snapshot();
    EXPECT_EQ(now.total_elements, 100u);
    uint64_t by_category = 0, by_brick = 0, count = 0;
    for (const CategoryStats& category : now.categories) {
        by_category += category.total_ns;
        count += category.count;
    }
    for (const BrickStats& brick : now.bricks) by_brick += brick.total_ns;
    EXPECT_EQ(by_category, now.total_ns);
    EXPECT_EQ(by_brick, now.total_ns);
    EXPECT_EQ(count, 4u);
    EXPECT_EQ(now.categories[3].name, "Other");
    EXPECT_EQ(now.categories[3].total_ns, 1000u);
    EXPECT_DOUBLE_EQ(now.total_throughput(), 100 / (static_cast<double>(now.total_ns) * 1e-9));
}

TEST_F(Bricks, NamesFillTheSlotOfTheirIdAndOthersMakeTheirOwn) {
    timed(BrickId::kRopeEmbedding);
    BrickTimer known = profiler.start("RoPE");
    EXPECT_EQ(profiler.stop(known, 2), BrickFault::kNone);
    BrickTimer unknown = profiler.start("MoeRouter");
    EXPECT_EQ(profiler.stop(unknown, 7), BrickFault::kNone);
    EXPECT_EQ(stats("RopeEmbedding").count(), 2u);
    EXPECT_EQ(stats("Rope").count(), 2u);
    EXPECT_EQ(stats("MoeRouter").total_elements, 7u);
    EXPECT_EQ(stats("MoeRouter").category, BrickCategory::kOther);
    const BrickSnapshot now = profiler.snapshot();
    const auto missing = now.stats("Nobody");
    ASSERT_FALSE(missing.ok());
    EXPECT_EQ(missing.error().code, Errc::kNotFound);
    EXPECT_NE(missing.error().message.find("Nobody"), std::string::npos);
}

TEST_F(Bricks, UserCategoriesHoldTheirOwnBricks) {
    const auto moe = profiler.register_category("MoE");
    ASSERT_TRUE(moe.ok());
    const auto router = profiler.register_brick("Router", moe.value());
    ASSERT_TRUE(router.ok());
    timed(router.value(), 5);
    BrickTimer timer = profiler.start("Router");
    EXPECT_EQ(profiler.stop(timer, 5), BrickFault::kNone);
    const BrickSnapshot now = profiler.snapshot();
    ASSERT_EQ(now.categories.size(), 8u);
    EXPECT_EQ(now.categories[7].name, "MoE");
    EXPECT_EQ(now.categories[7].count, 2u);
    EXPECT_EQ(now.categories[3].count, 0u);
    EXPECT_EQ(stats("Router").category_name, "MoE");
    EXPECT_EQ(profiler.register_category("MoE").value(), moe.value());
    const auto clash = profiler.register_brick("RmsNorm", moe.value());
    ASSERT_FALSE(clash.ok());
    EXPECT_EQ(clash.error().code, Errc::kInvalidArgument);
    EXPECT_FALSE(profiler.register_brick("x", static_cast<BrickCategory>(60)).ok());
    EXPECT_FALSE(profiler.register_category("").ok());
}

TEST_F(Bricks, NamesBeyondTheLimitAreRefusedAndCounted) {
    BrickProfiler small({.enabled = true, .max_named_bricks = 1});
    EXPECT_EQ(small.record_elapsed("one", 5, 1), BrickFault::kNone);
    EXPECT_EQ(small.record_elapsed("two", 5, 1), BrickFault::kUnknownBrick);
    BrickTimer timer = small.start("three");
    EXPECT_EQ(small.stop(timer, 1), BrickFault::kNone);    // never begun
    EXPECT_EQ(small.snapshot().faults[static_cast<std::size_t>(BrickFault::kUnknownBrick)], 2u);
    EXPECT_EQ(small.brick("two").error().code, Errc::kExhausted);
    EXPECT_EQ(profiler.brick("").error().code, Errc::kInvalidArgument);
    BrickTimer foreign = profiler.start_brick(BrickKey(uint16_t{99}));
    EXPECT_EQ(profiler.stop_brick(foreign, 1), BrickFault::kNone);
    EXPECT_EQ(faults(BrickFault::kUnknownBrick), 1u);
}

TEST_F(Bricks, BadSamplesAreRefusedAndCountedAndLeaveNothing) {
    BrickTimer timer = profiler.start_brick(BrickId::kRmsNorm);
    EXPECT_EQ(profiler.stop_brick(timer, 0), BrickFault::kNoElements);
    EXPECT_EQ(profiler.stop_brick(timer, 1), BrickFault::kAlreadyStopped);
    BrickTimer good = profiler.start_brick(BrickId::kRmsNorm);
    EXPECT_EQ(profiler.stop_brick(good, 1), BrickFault::kNone);
    EXPECT_EQ(profiler.stop_brick(good, 1), BrickFault::kAlreadyStopped);
    EXPECT_EQ(profiler.record_elapsed("Qkv", -1, 1), BrickFault::kNegativeDuration);
    EXPECT_EQ(profiler.record_elapsed("Qkv", std::numeric_limits<int64_t>::max(), 1), BrickFault::kOverflow);
    EXPECT_EQ(profiler.record_elapsed("Qkv", 1, 0), BrickFault::kNoElements);
    BrickTimer backwards = profiler.start_brick<HandTick>(BrickId::kGateProjection);
    HandTick::value -= 1000;
    EXPECT_EQ(profiler.stop_brick<HandTick>(backwards, 1), BrickFault::kNone);    // shows when it is folded
    EXPECT_EQ(faults(BrickFault::kNoElements), 2u);
    EXPECT_EQ(faults(BrickFault::kAlreadyStopped), 2u);
    EXPECT_EQ(faults(BrickFault::kNegativeDuration), 2u);
    EXPECT_EQ(faults(BrickFault::kOverflow), 1u);
    const BrickSnapshot now = profiler.snapshot();
    ASSERT_EQ(now.bricks.size(), 1u);
    EXPECT_EQ(now.bricks[0].name, "RmsNorm");
    EXPECT_EQ(now.bricks[0].count(), 1u);
}

TEST_F(Bricks, BytesAndCyclesComeWithTheirSample) {
    EXPECT_EQ(profiler.record_elapsed_with_bytes("FormatConvert", 1000, 10, 100, 25), BrickFault::kNone);
    BrickTimer timer = profiler.start_brick(BrickId::kFormatConvert);
    EXPECT_EQ(profiler.stop_brick(timer, {.elements = 5, .input_bytes = 50, .output_bytes = 20, .cycles = 77}),
              BrickFault::kNone);
    const BrickStats both = stats("FormatConvert");
    EXPECT_EQ(both.count(), 2u);
    EXPECT_EQ(both.total_elements, 15u);
    EXPECT_EQ(both.total_bytes, 150u);
    EXPECT_EQ(both.total_compressed_bytes, 45u);
    EXPECT_EQ(both.total_cycles, 77u);
}

TEST_F(Bricks, EverySampleOfManyChunksIsThereWithItsBytes) {
    // 3 records a turn do not divide a chunk: some pairs meet its end.
    for (int i = 0; i < 5000; ++i) {
        timed(BrickId::kRmsNorm);
        EXPECT_EQ(profiler.record(BrickId::kLmHead, {.ns = 10, .elements = 2, .input_bytes = 3}), BrickFault::kNone);
    }
    EXPECT_EQ(stats("RmsNorm").count(), 5000u);
    EXPECT_EQ(stats("LmHead").total_ns, 50'000u);
    EXPECT_EQ(stats("LmHead").total_bytes, 15'000u);
}

TEST_F(Bricks, DeferredRecordsAreUntilSyncAndInNoTotal) {
    EXPECT_EQ(profiler.record_deferred(BrickId::kRmsNorm, 0, 1), BrickFault::kNone);
    EXPECT_EQ(profiler.record_deferred(BrickId::kQkvProjection, 100, 1), BrickFault::kNone);
    EXPECT_EQ(profiler.record_deferred_dynamic("mystery", 200, 1), BrickFault::kNone);
    EXPECT_TRUE(profiler.has_pending());
    EXPECT_EQ(profiler.pending_count(), 3u);
    EXPECT_EQ(profiler.snapshot().pending, 3u);
    profiler.finalize(300);
    profiler.finalize(900);    // nothing is left
    EXPECT_FALSE(profiler.has_pending());
    EXPECT_EQ(stats("RmsNorm").until_sync_ns, 300u);
    EXPECT_EQ(stats("Qkv").until_sync_ns, 200u);
    EXPECT_EQ(stats("mystery").until_sync_ns, 100u);
    EXPECT_EQ(stats("RmsNorm").until_sync_count, 1u);
    EXPECT_EQ(stats("RmsNorm").count(), 0u);
    EXPECT_EQ(profiler.snapshot().total_ns, 0u);
    EXPECT_EQ(profiler.record_deferred(BrickId::kRmsNorm, 500, 1), BrickFault::kNone);
    profiler.finalize(400);    // before its start: 0, never negative
    EXPECT_EQ(stats("RmsNorm").until_sync_ns, 300u);
    EXPECT_EQ(stats("RmsNorm").until_sync_count, 2u);
    EXPECT_EQ(profiler.record_deferred(BrickId::kRmsNorm, 0, 0), BrickFault::kNoElements);
}

TEST_F(Bricks, AThousandDeferredRecordsCountAThousand) {
    for (int i = 0; i < 1000; ++i) EXPECT_EQ(profiler.record_deferred(BrickId::kRmsNorm, 5, 1), BrickFault::kNone);
    profiler.finalize(10);
    EXPECT_EQ(stats("RmsNorm").until_sync_count, 1000u);
    BrickProfiler small({.enabled = true, .max_pending = 10});
    for (int i = 0; i < 30; ++i) (void)small.record_deferred(BrickId::kRmsNorm, 5, 1);
    EXPECT_EQ(small.pending_count(), 10u);
    EXPECT_EQ(small.snapshot().faults[static_cast<std::size_t>(BrickFault::kRecordsFull)], 20u);
}

TEST_F(Bricks, EpochCountsUpAndStartsAgain) {
    const uint64_t first = profiler.elapsed_ns();
    profiler.finalize(0);    // takes a new rate on: no step back
    const uint64_t second = profiler.elapsed_ns();
    EXPECT_GE(second, first);
    profiler.reset_epoch();
    EXPECT_LT(profiler.elapsed_ns(), second + 1'000'000'000);
}

TEST_F(Bricks, WarmupSamplesAreKeptApart) {
    BrickProfiler warm({.enabled = true, .warmup_samples = 2});
    for (const int64_t ns : {900, 800, 10, 20}) EXPECT_EQ(warm.record_elapsed("LmHead", ns, 1), BrickFault::kNone);
    EXPECT_EQ(warm.record_elapsed("Qkv", 500, 1), BrickFault::kNone);
    const BrickSnapshot now = warm.snapshot();
    const BrickStats& head = *now.stats("LmHead").value();
    EXPECT_EQ(head.count(), 2u);
    EXPECT_EQ(head.total_ns, 30u);
    EXPECT_EQ(head.max_ns, 20u);
    EXPECT_EQ(head.warmup_count, 2u);
    EXPECT_EQ(head.warmup_ns, 1700u);
    EXPECT_EQ(head.warmup_max_ns, 900u);
    EXPECT_EQ(now.stats("Qkv").value()->count(), 0u);
    EXPECT_EQ(now.stats("Qkv").value()->warmup_count, 1u);
    EXPECT_EQ(now.total_ns, 30u);
    warm.reset();
    EXPECT_EQ(warm.record_elapsed("LmHead", 7, 1), BrickFault::kNone);
    EXPECT_EQ(warm.snapshot().stats("LmHead").value()->warmup_count, 1u);
}

TEST_F(Bricks, TokensAreApartFromElements) {
    timed(BrickId::kRmsNorm, 4096);
    timed(BrickId::kLmHead, 151'936);
    profiler.add_tokens(1);
    profiler.add_tokens(2);
    const BrickSnapshot now = profiler.snapshot();
    EXPECT_EQ(now.total_tokens, 3u);
    EXPECT_EQ(now.total_elements, 156'032u);
    ASSERT_TRUE(now.tokens_per_sec().has_value());
    EXPECT_DOUBLE_EQ(*now.tokens_per_sec(), 3e9 / static_cast<double>(now.exclusive_ns));
}

TEST_F(Bricks, ResetForgetsEverythingButNames) {
    const BrickKey named = profiler.brick("mystery").value();
    timed(named);
    EXPECT_TRUE(profiler.set_brick_bottleneck("mystery", BrickBottleneck::kMemory).ok());
    EXPECT_EQ(stats("mystery").bottleneck, BrickBottleneck::kMemory);
    EXPECT_EQ(profiler.record(BrickId::kLmHead, {.ns = 5, .elements = 1, .input_bytes = 9, .cycles = 3}),
              BrickFault::kNone);
    EXPECT_EQ(profiler.record_deferred(BrickId::kLmHead, 0, 1), BrickFault::kNone);
    EXPECT_EQ(profiler.record_elapsed("Qkv", -1, 1), BrickFault::kNegativeDuration);
    profiler.set_l2_cache_hit_rate(7);
    profiler.set_zero_copy(true);
    EXPECT_EQ(profiler.snapshot().l2_cache_hit_rate, 1.0);
    EXPECT_TRUE(profiler.snapshot().zero_copy);
    profiler.set_l2_cache_hit_rate(-3);
    EXPECT_EQ(profiler.snapshot().l2_cache_hit_rate, 0.0);
    profiler.set_l2_cache_hit_rate(std::nan(""));
    EXPECT_EQ(profiler.snapshot().l2_cache_hit_rate, 0.0);
    profiler.add_tokens(5);
    profiler.reset();
    const BrickSnapshot now = profiler.snapshot();
    EXPECT_TRUE(now.bricks.empty());
    EXPECT_EQ(now.total_ns, 0u);
    EXPECT_EQ(now.pending, 0u);
    EXPECT_FALSE(now.total_tokens.has_value());
    EXPECT_FALSE(now.l2_cache_hit_rate.has_value());
    EXPECT_FALSE(now.zero_copy);
    for (const uint64_t fault : now.faults) EXPECT_EQ(fault, 0u);
    timed(named);
    EXPECT_EQ(stats("mystery").count(), 1u);
    EXPECT_EQ(stats("mystery").bottleneck, BrickBottleneck::kUnknown);
    const Status unknown = profiler.set_brick_bottleneck("Nobody", BrickBottleneck::kMemory);
    ASSERT_FALSE(unknown.ok());
    EXPECT_EQ(unknown.error().code, Errc::kNotFound);
}

struct Waits {
    int calls = 0;
    static void wait(void* self) { ++static_cast<Waits*>(self)->calls; }
};

TEST_F(Bricks, ModesThatWaitNeedAFunctionAndCallIt) {
    Waits waits;
    const Status refused = profiler.set_sync_mode(SyncMode::kImmediate);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, Errc::kInvalidArgument);
    EXPECT_NE(refused.error().message.find("set_sync_function"), std::string::npos);
    EXPECT_EQ(profiler.sync_mode(), SyncMode::kDeferred);
    profiler.set_sync_function(Waits::wait, &waits);

    ASSERT_TRUE(profiler.set_sync_mode(SyncMode::kImmediate).ok());
    timed(BrickId::kRmsNorm);
    timed(BrickId::kRmsNorm);
    EXPECT_EQ(waits.calls, 2);
    EXPECT_EQ(stats("RmsNorm").mode(), SyncMode::kImmediate);

    ASSERT_TRUE(profiler.set_sync_mode(SyncMode::kPerLayer).ok());
    for (int step = 0; step < 3; ++step)
        for (int layer = 0; layer < 2; ++layer) {
            profiler.begin_layer(layer);
            timed(BrickId::kQkvProjection);
            timed(BrickId::kUpProjection);
            profiler.end_layer();
        }
    EXPECT_EQ(waits.calls, 2 + 6);
    const BrickSnapshot now = profiler.snapshot();
    ASSERT_EQ(now.layers.size(), 2u);
    EXPECT_EQ(now.layers[1].layer, 1);
    EXPECT_EQ(now.layers[1].count, 3u);
    EXPECT_GT(now.layers[1].total_ns, now.layers[1].wait_ns);
    EXPECT_EQ(now.stats("Qkv").value()->mode(), SyncMode::kPerLayer);

    ASSERT_TRUE(profiler.set_sync_mode(SyncMode::kNone).ok());
    timed(BrickId::kRmsNorm);
    EXPECT_EQ(waits.calls, 8);
    EXPECT_FALSE(stats("RmsNorm").mode().has_value());    // two modes made it
    EXPECT_EQ(stats("RmsNorm").by_mode[static_cast<std::size_t>(SyncMode::kNone)], 1u);
}

// Random nests: what each moment's innermost brick is, counted tick by tick, is what exclusive times must come to.
TEST_F(Bricks, ExclusiveTimesOfCategoriesSumToTheTimeInAnyBrick) {
    std::mt19937 random(11);
    std::map<std::string, uint64_t> exclusive_ticks;
    uint64_t any_ticks = 0, samples = 0;
    std::vector<std::pair<BrickTimer, std::string>> open;
    const auto pass = [&] {
        const uint64_t ticks = 1 + random() % 100'000;
        HandTick::value += ticks;
        if (open.empty()) return;
        any_ticks += ticks;
        exclusive_ticks[open.back().second] += ticks;
    };
    for (int i = 0; i < 4000; ++i) {
        pass();
        if (open.size() < 6 && (open.empty() || random() % 2 == 0)) {
            const BrickId id = all_brick_ids()[random() % kBrickIdCount];
            open.emplace_back(profiler.start_brick<HandTick>(id), to_text(id));
        } else {
            EXPECT_EQ(profiler.stop_brick<HandTick>(open.back().first, 1), BrickFault::kNone);
            open.pop_back();
            ++samples;
        }
    }
    for (; !open.empty(); open.pop_back())
        EXPECT_EQ(profiler.stop_brick<HandTick>(open.back().first, 1), BrickFault::kNone);
    const BrickSnapshot now = profiler.snapshot();
    EXPECT_EQ(now.overlapping, 0u);
    int64_t over_categories = 0;
    for (const CategoryStats& category : now.categories) over_categories += category.exclusive_ns;
    EXPECT_EQ(over_categories, now.exclusive_ns);
    EXPECT_NEAR(static_cast<double>(now.exclusive_ns), ns_of(any_ticks),
                static_cast<double>(samples) + ns_of(any_ticks) * 1e-4);
    EXPECT_GT(now.total_ns, static_cast<uint64_t>(now.exclusive_ns));
    for (const BrickStats& brick : now.bricks) {
        const double ticks = ns_of(exclusive_ticks[brick.name]);
        EXPECT_NEAR(static_cast<double>(brick.exclusive_ns()), ticks, ticks * 1e-4 + 4000) << brick.name;
    }
}

TEST_F(Bricks, StopsOutOfOrderAreCountedAndNestInNothing) {
    BrickTimer first = profiler.start_brick(BrickId::kRmsNorm);
    BrickTimer second = profiler.start_brick(BrickId::kLmHead);
    EXPECT_EQ(profiler.stop_brick(first, 1), BrickFault::kNone);
    EXPECT_EQ(profiler.stop_brick(second, 1), BrickFault::kNone);
    const BrickSnapshot now = profiler.snapshot();
    EXPECT_EQ(now.overlapping, 2u);
    EXPECT_EQ(now.exclusive_ns, static_cast<int64_t>(now.total_ns));
    {
        LAPWING_BRICK(profiler, BrickId::kGateProjection, 1);
        timed(BrickId::kSampling);
    }
    EXPECT_EQ(profiler.snapshot().overlapping, 2u);
    EXPECT_EQ(stats("Gate").child_ns, stats("Sampling").total_ns);
}

TEST_F(Bricks, EqualTimesAreInOrderOfNames) {
    for (const char* name : {"b", "Qkv", "a", "c"}) EXPECT_EQ(profiler.record_elapsed(name, 100, 1), BrickFault::kNone);
    EXPECT_EQ(profiler.record_elapsed("z", 200, 1), BrickFault::kNone);
    std::vector<std::string> names;
    for (const BrickStats& brick : profiler.snapshot().bricks) names.push_back(brick.name);
    EXPECT_EQ(names, (std::vector<std::string>{"z", "QkvProjection", "a", "b", "c"}));
}

}    // namespace
}    // namespace lapwing
