// The log-linear histogram against sorted lists of what was recorded.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <thread>
#include <vector>

#include "lapwing/histogram.hpp"

namespace lapwing {
namespace {

using Histogram = LogLinearHistogram;

// Values over all magnitudes: a random width, then a random value of it.
std::vector<uint64_t> values_of(uint32_t seed, std::size_t count, unsigned max_bits) {
    std::mt19937_64 random(seed);
    std::vector<uint64_t> values(count);
    for (uint64_t& value : values) {
        const auto bits = static_cast<unsigned>(random() % (max_bits + 1));
        value = bits == 0 ? 0 : random() >> (64 - bits);
    }
    return values;
}

uint64_t nearest_rank(const std::vector<uint64_t>& sorted, uint64_t numerator, uint64_t denominator) {
    const uint64_t rank = (sorted.size() * numerator + denominator - 1) / denominator;
    return sorted[rank == 0 ? 0 : rank - 1];
}

TEST(LogLinearHistogram, EveryBucketHoldsExactlyTheValuesBetweenItsBounds) {
    for (std::size_t bucket = 0; bucket < Histogram::kBuckets; ++bucket) {
        const uint64_t low = Histogram::lower_bound(bucket);
        const uint64_t high = Histogram::upper_bound(bucket);
        ASSERT_LE(low, high) << bucket;
        ASSERT_EQ(Histogram::bucket_of(low), bucket);
        ASSERT_EQ(Histogram::bucket_of(high), bucket);
        ASSERT_EQ(bucket == 0 ? 0 : Histogram::upper_bound(bucket - 1) + 1, low);
    }
    EXPECT_EQ(Histogram::lower_bound(0), 0u);
    EXPECT_EQ(Histogram::upper_bound(Histogram::kBuckets - 1), std::numeric_limits<uint64_t>::max());
}

TEST(LogLinearHistogram, QuantilesAreWithinOnePercentOfTheSortedList) {
    for (uint32_t seed = 1; seed <= 40; ++seed) {
        const std::vector<uint64_t> values = values_of(seed, 1 + seed * seed * 7, 8 + seed);
        Histogram histogram;
        for (const uint64_t value : values) histogram.record(value);
        std::vector<uint64_t> sorted = values;
        std::sort(sorted.begin(), sorted.end());
        ASSERT_EQ(histogram.count(), values.size());
        for (uint64_t permille = 0; permille <= 1000; permille += 5) {
            const auto exact = static_cast<double>(nearest_rank(sorted, permille, 1000));
            const auto got = histogram.quantile(static_cast<double>(permille) / 1000);
            ASSERT_TRUE(got.has_value());
            ASSERT_LE(std::abs(static_cast<double>(*got) - exact), exact * 0.0079)
                << "seed " << seed << " q " << permille << "/1000";
        }
    }
}

TEST(LogLinearHistogram, QuantilesOfSmallValuesAreExactAndOfTheVeryRankAsked) {
    Histogram histogram;
    for (uint64_t value = 1; value <= 100; ++value) histogram.record(value);
    for (uint64_t percent = 1; percent <= 100; ++percent)
        EXPECT_EQ(histogram.quantile(static_cast<double>(percent) / 100), percent);
    EXPECT_EQ(histogram.quantile(0), 1u);
}

TEST(LogLinearHistogram, MergeEqualsRecordingEverythingInOne) {
    Histogram whole, left, right;
    const std::vector<uint64_t> values = values_of(7, 5000, 64);
    for (std::size_t i = 0; i < values.size(); ++i) {
        whole.record(values[i]);
        (i % 3 == 0 ? left : right).record(values[i]);
    }
    left.merge(right);
    const Histogram copy = left;
    for (std::size_t bucket = 0; bucket < Histogram::kBuckets; ++bucket)
        ASSERT_EQ(copy.count_in(bucket), whole.count_in(bucket)) << bucket;
}

TEST(LogLinearHistogram, EmptyOrAskedForNoQuantileHasNone) {
    Histogram histogram;
    EXPECT_FALSE(histogram.quantile(0.5).has_value());
    histogram.record(5);
    EXPECT_FALSE(histogram.quantile(-0.01).has_value());
    EXPECT_FALSE(histogram.quantile(1.01).has_value());
    EXPECT_FALSE(histogram.quantile(std::numeric_limits<double>::quiet_NaN()).has_value());
    histogram.reset();
    EXPECT_EQ(histogram.count(), 0u);
    EXPECT_FALSE(histogram.quantile(0.5).has_value());
}

TEST(LogLinearHistogram, SharedRecordingLosesNothingWhileItIsRead) {
    Histogram histogram;
    constexpr int kThreads = 4;
    constexpr uint64_t kEach = 20'000;
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t)
        threads.emplace_back([&histogram] {
            for (uint64_t i = 0; i < kEach; ++i) histogram.record_shared(i % 1000);
        });
    uint64_t seen = 0;
    for (int reads = 0; reads < 50; ++reads) {
        const uint64_t now = Histogram(histogram).count();
        EXPECT_GE(now, seen);
        seen = now;
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(histogram.count(), kThreads * kEach);
}

}    // namespace
}    // namespace lapwing
