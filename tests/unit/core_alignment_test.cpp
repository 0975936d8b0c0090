// Device ticks on the host clock.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "lapwing/alignment.hpp"

namespace lapwing {
namespace {

TickScale scale_of(double period) {
    return TickScale::from_period(period).value();
}

TEST(Alignment, KnowsNothingBeforeTheFirstAnchorOrBracket) {
    const ClockAlignment alignment(scale_of(2));
    EXPECT_FALSE(alignment.aligned());
    EXPECT_FALSE(alignment.uncertainty_ns().has_value());
    EXPECT_EQ(alignment.to_host(50).value, 100);
}

TEST(Alignment, BracketsNarrowTheOffset) {
    ClockAlignment alignment(scale_of(1));
    alignment.bracket(1'000, 1'100, HostNs{50'000}, HostNs{60'100});
    EXPECT_EQ(alignment.uncertainty_ns(), 5'001);
    alignment.bracket(2'000, 2'100, HostNs{53'000}, HostNs{53'400});
    EXPECT_LE(*alignment.uncertainty_ns(), 151);
    // The truth, 51 000 ns apart, is within what is claimed.
    EXPECT_NEAR(static_cast<double>(alignment.to_host(3'000).value), 54'150.0, 151.0);
    EXPECT_TRUE(alignment.aligned());
    EXPECT_FALSE(alignment.calibrated());
}

TEST(Alignment, ClaimedUncertaintyContainsTheTruth) {
    std::mt19937_64 random{7};
    const TickScale scale = scale_of(52.08);
    for (int run = 0; run < 200; ++run) {
        const auto offset = static_cast<int64_t>(random() % 1'000'000'000);
        ClockAlignment alignment(scale);
        uint64_t device = random() % 1'000'000;
        for (int i = 0; i < 30; ++i) {
            device += random() % 100'000;
            const uint64_t last = device + random() % 1'000;
            const auto before = offset + scale.to_ns(device) - static_cast<int64_t>(random() % 100'000);
            const auto after = offset + scale.to_ns(last) + static_cast<int64_t>(random() % 100'000);
            alignment.bracket(device, last, HostNs{before}, HostNs{after});
            const int64_t error = alignment.to_host(device).value - (offset + scale.to_ns(device));
            ASSERT_LE(std::abs(error), *alignment.uncertainty_ns() + 2);
        }
        EXPECT_EQ(alignment.restarts(), 0u);
    }
}

TEST(Alignment, AnchorIsUsedWhereNothingContradictsIt) {
    ClockAlignment alignment(scale_of(1));
    alignment.anchor(500, HostNs{10'500}, 20);
    EXPECT_TRUE(alignment.calibrated());
    EXPECT_EQ(alignment.uncertainty_ns(), 20);
    EXPECT_EQ(alignment.to_host(700).value, 10'700);
    alignment.bracket(600, 650, HostNs{10'590}, HostNs{10'700});
    EXPECT_TRUE(alignment.calibrated());
    EXPECT_FALSE(alignment.calibration_refused());
}

// A10: blade#388, 11.85 s between the epochs on GFX11.5.
TEST(Alignment, AnchorOfAnotherEpochIsRefusedWhicheverComesFirst) {
    constexpr int64_t kLie = 11'850'000'000;
    for (const bool anchor_first : {true, false}) {
        ClockAlignment alignment(scale_of(1));
        if (anchor_first) alignment.anchor(1'000, HostNs{50'000 + kLie}, 100);
        alignment.bracket(1'000, 2'000, HostNs{49'000}, HostNs{52'000});
        if (!anchor_first) alignment.anchor(1'000, HostNs{50'000 + kLie}, 100);
        EXPECT_TRUE(alignment.calibration_refused());
        EXPECT_FALSE(alignment.calibrated());
        EXPECT_TRUE(alignment.aligned());
        EXPECT_NEAR(static_cast<double>(alignment.to_host(1'000).value), 49'500.0, 1'001.0);
        alignment.anchor(3'000, HostNs{52'000}, 100);
        EXPECT_FALSE(alignment.calibrated()) << "a clock that lied once is not asked again";
    }
}

TEST(Alignment, DriftSinceAnOldAnchorIsNotALie) {
    ClockAlignment alignment(scale_of(1));
    alignment.anchor(0, HostNs{0}, 100);
    // A minute later, 50 ppm apart: 3 ms.
    constexpr uint64_t kMinute = 60'000'000'000;
    alignment.bracket(kMinute, kMinute + 100, HostNs{kMinute + 3'000'000}, HostNs{kMinute + 3'000'300});
    EXPECT_FALSE(alignment.calibration_refused());
}

TEST(Alignment, ContradictingBracketsStartAnew) {
    ClockAlignment alignment(scale_of(1));
    alignment.bracket(1'000, 1'010, HostNs{2'000}, HostNs{2'020});
    alignment.bracket(9'000, 9'010, HostNs{10'500}, HostNs{10'520});
    EXPECT_EQ(alignment.restarts(), 1u);
    EXPECT_NEAR(static_cast<double>(alignment.to_host(9'000).value), 10'505.0, 7.0);
    EXPECT_LE(*alignment.uncertainty_ns(), 7);
}

TEST(Alignment, BracketThatIsLongerOnTheDeviceSaysNothing) {
    ClockAlignment alignment(scale_of(1));
    alignment.bracket(1'000, 5'000, HostNs{2'000}, HostNs{2'100});
    EXPECT_FALSE(alignment.aligned());
    EXPECT_EQ(alignment.brackets_refused(), 1u);
}

// What a test knows: host = offset + device x (1 + ppm).
struct DriftingClocks {
    double ppm;
    int64_t offset;
    [[nodiscard]] int64_t host(uint64_t device) const {
        return offset + static_cast<int64_t>(device) + std::llround(static_cast<double>(device) * ppm * 1e-6);
    }
};
constexpr uint64_t kSecond = 1'000'000'000;

// A13, A14: MoltenVK#1713, tracy#1393. Ten minutes, 50 ppm: 30 ms, were it not followed.
TEST(Alignment, DriftIsFollowedByAnchorsWithinTheUncertaintyStated) {
    for (const double ppm : {-50.0, 50.0, 0.0, 120.0}) {
        std::mt19937_64 random{11};
        const DriftingClocks truth{ppm, 5'000'000'000'000};
        ClockAlignment alignment(scale_of(1));
        int64_t widest = 0;
        int64_t before = 0;
        uint64_t anchor_at = 0;
        for (uint64_t device = kSecond; device < 600 * kSecond; device += 100'000'000 + random() % 50'000'000) {
            if (device >= anchor_at) {    // as the layer asks: once a second, here some late
                const auto off = static_cast<int64_t>(random() % 1001) - 500;
                alignment.anchor(device, HostNs{truth.host(device) + off}, 500);
                anchor_at = device + kSecond + (random() % 8 == 0 ? 4 * kSecond : 0);
            }
            alignment.placed(device);
            const int64_t now = alignment.to_host(device).value;
            ASSERT_LE(std::abs(now - truth.host(device)), *alignment.uncertainty_ns() + 2) << ppm << " at " << device;
            ASSERT_GE(now, before) << "time went back";
            before = now;
            if (device > 20 * kSecond) widest = std::max(widest, *alignment.uncertainty_ns());
        }
        ASSERT_TRUE(alignment.drift_ppm().has_value());
        EXPECT_NEAR(*alignment.drift_ppm(), ppm, 0.5);
        EXPECT_LT(widest, 30'000) << "after 20 s the rate is known, and 200 ppm need not be assumed any more";
        EXPECT_LE(std::abs(*alignment.residual_ns()), 5'000);
        EXPECT_EQ(alignment.restarts(), 0u);
    }
}

TEST(Alignment, DriftIsFollowedByBracketsAlone) {
    for (const double ppm : {-50.0, 50.0, 0.0}) {
        std::mt19937_64 random{13};
        const DriftingClocks truth{ppm, 5'000'000'000'000};
        ClockAlignment alignment(scale_of(1));
        for (uint64_t device = kSecond; device < 600 * kSecond; device += 50'000'000 + random() % 50'000'000) {
            const uint64_t last = device + 1'000'000;
            const int64_t early = static_cast<int64_t>(random() % 100'000);
            const int64_t late = static_cast<int64_t>(random() % 300'000);
            alignment.bracket(device, last, HostNs{truth.host(device) - early - 100},
                              HostNs{truth.host(last) + late + 100});
            ASSERT_LE(std::abs(alignment.to_host(last).value - truth.host(last)), *alignment.uncertainty_ns() + 2)
                << ppm << " at " << device;
        }
        ASSERT_TRUE(alignment.drift_ppm().has_value());
        EXPECT_NEAR(*alignment.drift_ppm(), ppm, 3);
        EXPECT_EQ(alignment.restarts(), 0u) << "drift is not a step";
    }
}

TEST(Alignment, WhatWasPlacedDoesNotMoveWhenTheNextAnchorComes) {
    const DriftingClocks truth{-50, 1'000'000};
    ClockAlignment alignment(scale_of(1));
    for (uint64_t second = 1; second < 20; ++second) {
        const uint64_t device = second * kSecond;
        alignment.anchor(device, HostNs{truth.host(device)}, 100);
        const uint64_t ahead = device + kSecond + 300'000'000;    // the next anchor is behind what was placed
        alignment.placed(ahead);
        const int64_t then = alignment.to_host(ahead).value;
        const int64_t back = alignment.to_host(device + 1).value;
        alignment.anchor(device + kSecond, HostNs{truth.host(device + kSecond)}, 100);
        EXPECT_EQ(alignment.to_host(ahead).value, then);
        EXPECT_EQ(alignment.to_host(device + 1).value, back);
    }
}

TEST(Alignment, StepOfTheHostClockIsRecognisedAndIsNoLie) {
    constexpr int64_t kStep = 2'000'000'000;
    const DriftingClocks truth{20, 1'000'000};
    for (const bool anchors : {true, false}) {
        for (const bool anchor_first : {true, false}) {
            ClockAlignment alignment(scale_of(1));
            int64_t step = 0;
            for (uint64_t second = 1; second < 40; ++second) {
                const uint64_t device = second * kSecond;
                if (second == 20) step = kStep;
                if (anchors && anchor_first) alignment.anchor(device, HostNs{truth.host(device) + step}, 100);
                alignment.bracket(device, device + 1'000, HostNs{truth.host(device) + step - 5'000},
                                  HostNs{truth.host(device + 1'000) + step + 5'000});
                if (anchors && !anchor_first)
                    alignment.anchor(device + 1'000, HostNs{truth.host(device + 1'000) + step}, 100);
                ASSERT_LE(std::abs(alignment.to_host(device).value - truth.host(device) - step),
                          *alignment.uncertainty_ns() + 5)
                    << second;
            }
            EXPECT_EQ(alignment.restarts(), 1u);
            EXPECT_FALSE(alignment.calibration_refused());
            EXPECT_EQ(alignment.calibrated(), anchors);
        }
    }
}

}    // namespace
}    // namespace lapwing
