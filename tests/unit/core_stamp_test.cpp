// Wrap, validity and conversion of device stamps: field-cases, part A.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "lapwing/clock.hpp"
#include "lapwing/stamp.hpp"

namespace lapwing {
namespace {

TickScale scale_of(double period) {
    return TickScale::from_period(period).value();
}

// A17 (gpufl 1.3.0), A18 (ROCm/hrx-system#57): host and device stamps cannot meet in one difference.
template <class A, class B>
concept Comparable = requires(A a, B b) {
    a < b;
};
template <class A, class B>
concept Convertible = std::is_convertible_v<A, B> || std::is_convertible_v<B, A>;
static_assert(Comparable<Ticks, Ticks> && Comparable<HostNs, HostNs>);
static_assert(!Comparable<Ticks, HostNs> && !Comparable<Ticks, HostTicks> && !Comparable<HostTicks, HostNs>);
static_assert(!Convertible<Ticks, HostNs> && !Convertible<Ticks, HostTicks> && !Convertible<HostTicks, HostNs>);
static_assert(!Convertible<Ticks, uint64_t> && !Convertible<HostNs, int64_t>);

// A1: DiligentCore#791, Vulkan-Samples#1368, tracy#642.
TEST(Stamp, SpanAcrossAWrapOf36BitsHasItsTime) {
    const SpanTime time = judge_span({0xFFFFFFFF0}, {0x10}, 36);
    EXPECT_FALSE(time.lost.has_value());
    EXPECT_EQ(time.begin_ticks, 0xFFFFFFFF0u);
    EXPECT_EQ(time.duration_ticks, 0x20u);
    EXPECT_EQ(scale_of(52.08).to_ns(time.duration_ticks), 1667);
}

// A3: mlir-extensions#1132 computed (1 << 64) - 1.
TEST(Stamp, MaskOf64BitsIsAllOnes) {
    EXPECT_EQ(tick_mask(64), ~uint64_t{0});
    EXPECT_EQ(tick_mask(63), ~uint64_t{0} >> 1);
    EXPECT_EQ(tick_mask(1), 1u);
    EXPECT_EQ(tick_mask(0), 0u);
    const SpanTime time = judge_span({~uint64_t{0} - 5}, {10}, 64);
    EXPECT_FALSE(time.lost.has_value());
    EXPECT_EQ(time.duration_ticks, 16u);
}

// A4: Vulkan-Samples#1368.
TEST(Stamp, QueueWithoutValidBitsIsUnsupportedAndNotZero) {
    EXPECT_EQ(judge_span({5}, {9}, 0).lost, LossReason::kUnsupported);
}

// A5: chipStar#128 got -7,078,034 ms by correcting after the conversion.
TEST(Stamp, WrapIsCorrectedInTicksAndConvertedLast) {
    const TickScale scale = scale_of(83.33);
    const uint64_t begin = tick_mask(32) - 1000;
    const SpanTime time = judge_span({begin}, {2000}, 32);
    EXPECT_EQ(time.duration_ticks, 3001u);
    EXPECT_EQ(scale.to_ns(time.duration_ticks), 250'073);
}

// A6: wgpu#1907, MoltenVK#1438, #1997.
TEST(Stamp, PeriodThatIsNoPeriodIsRefused) {
    for (const double bad : {0.0, -1.0, std::nan(""), HUGE_VAL, -HUGE_VAL, 1e9 + 1, 0.0 / 0.0 * 0}) {
        const Result<TickScale> scale = TickScale::from_period(bad);
        ASSERT_FALSE(scale.ok()) << bad;
        EXPECT_EQ(scale.error().code, Errc::kInvalidArgument);
        EXPECT_NE(scale.error().message.find("period"), std::string::npos);
    }
    EXPECT_TRUE(TickScale::from_period(1e9).ok());
    EXPECT_TRUE(TickScale::from_period(std::numeric_limits<double>::denorm_min()).ok());
}

TEST(Stamp, PeriodsOfRealDevicesConvertExactly) {
    EXPECT_EQ(scale_of(1.0).to_ns(123'456'789'012'345), 123'456'789'012'345);
    EXPECT_EQ(scale_of(41.67).to_ns(24'000'000), 1'000'080'000);
    EXPECT_EQ(scale_of(52.08).to_ns(19'200'000), 999'936'000);
    EXPECT_EQ(scale_of(83.33).to_ns(12'000'000), 999'960'000);
    // The float 52.083332 of a 19.2 MHz clock: its exact value, not its decimal.
    EXPECT_EQ(scale_of(static_cast<double>(52.083332f)).to_ns(19'200'000'000), 999'999'975'586);
    EXPECT_EQ(scale_of(0.5).to_ns(3), 2) << "halves go up";
    EXPECT_EQ(scale_of(0.5).to_ns(1), 1);
    EXPECT_EQ(scale_of(0.25).to_ns(1), 0);
    EXPECT_EQ(scale_of(1e9).to_ns(~uint64_t{0}), std::numeric_limits<int64_t>::max()) << "saturates";
    EXPECT_EQ(scale_of(1e-300).to_ns(~uint64_t{0}), 0);
    EXPECT_EQ(scale_of(52.08).to_signed_ns(-1000), -52'080);
}

// A7: wgpu#9414, MoltenVK#2378, kineto#109, nccl#1961.
TEST(Stamp, ZeroStampIsMissingAndNeverASpanAtTheEpoch) {
    EXPECT_EQ(judge_span({0}, {0}, 64).lost, LossReason::kZeroStamp);
    EXPECT_EQ(judge_span({0}, {123'456'789}, 64).lost, LossReason::kZeroStamp);
    EXPECT_EQ(judge_span({123'456'789}, {0}, 64).lost, LossReason::kZeroStamp);
    EXPECT_EQ(judge_span({0}, {0}, 8).lost, LossReason::kZeroStamp);
    EXPECT_EQ(judge_span({200}, {0}, 8).lost, LossReason::kZeroStamp) << "8 bits cannot tell";
    // Bits above the valid ones do not make a zero valid.
    EXPECT_EQ(judge_span({uint64_t{1} << 40}, {123'456'789}, 36).lost, LossReason::kZeroStamp);
}

TEST(Stamp, ZeroIsATimeWhereTheOtherStampShowsTheCounterPassingIt) {
    EXPECT_EQ(judge_span({0xFFFFFFFF0}, {0}, 36).duration_ticks, 16u);
    EXPECT_FALSE(judge_span({0xFFFFFFFF0}, {0}, 36).lost.has_value());
    EXPECT_FALSE(judge_span({0}, {16}, 36).lost.has_value());
    EXPECT_FALSE(judge_span({0}, {65536}, 36).lost.has_value());
    EXPECT_EQ(judge_span({0}, {65537}, 36).lost, LossReason::kZeroStamp);
    EXPECT_EQ(judge_span({0}, {16}, 36, 15).lost, LossReason::kZeroStamp) << "within what is plausible";
    EXPECT_FALSE(judge_span({0}, {256}, 24).lost.has_value());
    EXPECT_EQ(judge_span({0}, {257}, 24).lost, LossReason::kZeroStamp);
}

// A8: wgpu-profiler#64, chipStar#1549, rocm-libraries#6379 (-1.78 ms).
TEST(Stamp, EndBeforeBeginIsReversedAndNotClamped) {
    const SpanTime time = judge_span({1'000'000}, {999'999}, 64);
    EXPECT_EQ(time.lost, LossReason::kReversed);
    EXPECT_EQ(time.duration_ticks, 0u);
    EXPECT_EQ(judge_span({1'781'000}, {1000}, 36).lost, LossReason::kReversed);
    EXPECT_EQ(judge_span({5}, {5}, 36).duration_ticks, 0u) << "an empty span is a span";
    EXPECT_FALSE(judge_span({5}, {5}, 36).lost.has_value());
}

// A12: pytorch#192021.
TEST(Stamp, SpanLongerThanItsWindowIsImplausible) {
    EXPECT_EQ(judge_span({1000}, {3000}, 64, 1999).lost, LossReason::kImplausible);
    EXPECT_FALSE(judge_span({1000}, {3000}, 64, 2000).lost.has_value());
    EXPECT_EQ(judge_span({1000}, {900}, 64, 50).lost, LossReason::kReversed);
}

// A2: intel/llvm#2571, #6006, geopm#3615.
TEST(Stamp, CounterThatWrapsBetweenSpansContinues) {
    TickUnwrapper unwrapper(32);
    EXPECT_EQ(unwrapper.unwrap({0xFFFF'FF00}), 0xFFFF'FF00u);
    EXPECT_EQ(unwrapper.unwrap({0x10}), 0x1'0000'0010u);
    EXPECT_EQ(unwrapper.unwrap({0xFFFF'FFF0}), 0xFFFF'FFF0u) << "a little older than the last";
    EXPECT_EQ(unwrapper.unwrap({0x20}), 0x1'0000'0020u);
}

TEST(Stamp, HostTimeBridgesGapsOfSeveralWraps) {
    const TickScale scale = scale_of(83.33);
    TickUnwrapper unwrapper(32);
    unwrapper.unwrap({1000});
    const uint64_t truth = 1000 + (uint64_t{5} << 32) + 77;
    const auto elapsed = scale.to_ns(truth - 1000);
    bool ambiguous = true;
    EXPECT_EQ(unwrapper.unwrap({truth & tick_mask(32)}, elapsed + 1'000'000, scale, &ambiguous), truth);
    EXPECT_FALSE(ambiguous);
    // A hint that is off by more than a quarter of the range could hide a wrap.
    const int64_t third_of_range = scale.to_ns((uint64_t{1} << 32) / 3);
    unwrapper.unwrap({(truth + 5) & tick_mask(32)}, third_of_range, scale, &ambiguous);
    EXPECT_TRUE(ambiguous);
}

struct Model : ::testing::Test {
    // Fixed, so that a failure repeats.
    std::mt19937_64 random{20240611};
    uint64_t below(uint64_t limit) { return limit == 0 ? 0 : random() % limit; }
    uint32_t bits() { return static_cast<uint32_t>(1 + below(64)); }
    __extension__ typedef __int128 Wide;
    __extension__ typedef unsigned __int128 UWide;
};

TEST_F(Model, JudgeAgreesWithATrueClockOfUnlimitedWidth) {
    for (int i = 0; i < 200'000; ++i) {
        const uint32_t valid_bits = bits();
        const UWide range = static_cast<UWide>(1) << valid_bits;
        const auto half = static_cast<uint64_t>(range / 2);
        const UWide begin = (static_cast<UWide>(below(1000)) << valid_bits) + random() % range;
        // Durations around the interesting places, both signs.
        Wide duration = static_cast<Wide>(below(half)) >> below(64);
        if (below(4) == 0) duration = static_cast<Wide>(half) - static_cast<Wide>(below(std::min<uint64_t>(half, 4)));
        const bool reversed = below(3) == 0 && valid_bits > 1 && duration > 0 && duration < static_cast<Wide>(half);
        const UWide end =
            reversed ? begin + range - static_cast<UWide>(duration) : begin + static_cast<UWide>(duration);
        const auto junk = random() & ~tick_mask(valid_bits);
        const Ticks first{static_cast<uint64_t>(begin % range) | junk};
        const Ticks last{static_cast<uint64_t>(end % range) | junk};
        const uint64_t shown_first = first.value & tick_mask(valid_bits);
        const uint64_t shown_last = last.value & tick_mask(valid_bits);
        const SpanTime time = judge_span(first, last, valid_bits);
        if (shown_first == 0 || shown_last == 0) {
            if (time.lost) {
                EXPECT_EQ(time.lost, LossReason::kZeroStamp);
            }
            continue;
        }
        if (reversed) {
            EXPECT_EQ(time.lost, LossReason::kReversed) << valid_bits << " bits";
        } else {
            ASSERT_FALSE(time.lost.has_value()) << valid_bits << " bits, " << static_cast<uint64_t>(duration);
            EXPECT_EQ(time.duration_ticks, static_cast<uint64_t>(duration));
            EXPECT_EQ(time.begin_ticks, shown_first);
        }
    }
}

TEST_F(Model, UnwrapFollowsATrueClockOfUnlimitedWidth) {
    for (int run = 0; run < 500; ++run) {
        const uint32_t valid_bits = 2 + static_cast<uint32_t>(below(63));
        const uint64_t half = (tick_mask(valid_bits) >> 1) + 1;
        TickUnwrapper unwrapper(valid_bits);
        uint64_t truth = random() & tick_mask(valid_bits);
        ASSERT_EQ(unwrapper.unwrap({truth}), truth);
        for (int i = 0; i < 200; ++i) {
            const uint64_t step = below(half) >> below(valid_bits);
            truth = below(4) == 0 ? truth - step : truth + step;
            ASSERT_EQ(unwrapper.unwrap({truth | (random() & ~tick_mask(valid_bits))}), truth)
                << valid_bits << " bits, step " << i;
        }
    }
}

TEST_F(Model, UnwrapWithAHintFollowsGapsOfAnyLength) {
    for (int i = 0; i < 20'000; ++i) {
        const uint32_t valid_bits = 20 + static_cast<uint32_t>(below(20));
        const TickScale scale = scale_of(1.0 + static_cast<double>(below(10'000)) / 100.0);
        const uint64_t quarter = (tick_mask(valid_bits) >> 2) + 1;
        TickUnwrapper unwrapper(valid_bits);
        const uint64_t start = unwrapper.unwrap({random()});
        const uint64_t gap = below(uint64_t{1} << 45) + quarter;
        // The hint may be off by an eighth of the range either way.
        const uint64_t hinted = gap - quarter / 2 + below(quarter);
        bool ambiguous = true;
        ASSERT_EQ(unwrapper.unwrap({start + gap}, scale.to_ns(hinted), scale, &ambiguous), start + gap);
        EXPECT_FALSE(ambiguous);
    }
}

TEST_F(Model, ConversionIsTheNearestIntegerOfTheExactProduct) {
    for (int i = 0; i < 100'000; ++i) {
        // Periods of few bits, whose products long double (64 bits of mantissa) holds exactly.
        const double period = std::ldexp(static_cast<double>(1 + below(1u << 20)), -static_cast<int>(below(24)));
        if (period > 1e9) continue;
        const uint64_t ticks = below(uint64_t{1} << 40);
        const long double exact = static_cast<long double>(ticks) * static_cast<long double>(period);
        EXPECT_EQ(scale_of(period).to_ns(ticks), static_cast<int64_t>(std::floor(exact + 0.5L)))
            << ticks << " x " << period;
    }
}

TEST_F(Model, TicksAndNanosecondsRoundTrip) {
    for (int i = 0; i < 20'000; ++i) {
        const TickScale scale = scale_of(1.0 + static_cast<double>(below(1'000'000)) / 7919.0);
        const uint64_t ticks = below(uint64_t{1} << 50);
        const uint64_t back = scale.to_ticks(scale.to_ns(ticks));
        EXPECT_LE(back > ticks ? back - ticks : ticks - back, 1u);
    }
    EXPECT_EQ(scale_of(52.08).to_ticks(-1), 0u);
    EXPECT_EQ(scale_of(1e-9).to_ticks(std::numeric_limits<int64_t>::max()), std::numeric_limits<uint64_t>::max());
}

TEST(Stamp, TicksBeforeTheAnchorLieBeforeIt) {
    const TickScale scale = scale_of(2.0);
    EXPECT_EQ(align(150, 100, HostNs{1'000}, scale).value, 1'100);
    EXPECT_EQ(align(50, 100, HostNs{1'000}, scale).value, 900);
    EXPECT_EQ(align(~uint64_t{0}, 1, HostNs{1'000}, scale).value, 996) << "across the 64-bit origin";
}

}    // namespace
}    // namespace lapwing
