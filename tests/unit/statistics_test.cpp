#include "lapwing/statistics.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

namespace lapwing {
namespace {

std::vector<double> one_to_ten() {
    std::vector<double> out(10);
    std::iota(out.begin(), out.end(), 1);
    return out;
}

const std::vector<double> kFive{95, 100, 100, 100, 105};

TEST(Percentile, OfOneToTenIsWhatNumpyGives) {
    const std::vector<double> values = one_to_ten();
    EXPECT_DOUBLE_EQ(percentile(values, 50).value(), 5.5);
    EXPECT_DOUBLE_EQ(percentile(values, 0).value(), 1);
    EXPECT_DOUBLE_EQ(percentile(values, 100).value(), 10);
    EXPECT_DOUBLE_EQ(percentile(values, 99).value(), 9.91);
}

TEST(Percentile, DoesNotDependOnTheOrderAndLeavesTheValues) {
    std::vector<double> values = one_to_ten();
    std::shuffle(values.begin(), values.end(), std::mt19937(7));
    const std::vector<double> before = values;
    EXPECT_DOUBLE_EQ(percentile(values, 99).value(), 9.91);
    EXPECT_EQ(values, before);
}

TEST(Percentile, OfOneValueIsThatValue) {
    const std::vector<double> one{42};
    for (const double percent : {0.0, 37.0, 100.0}) EXPECT_DOUBLE_EQ(percentile(one, percent).value(), 42);
}

// The definition, word for word: h = (n - 1) p; x[floor h] + (h - floor h) (x[floor h + 1] - x[floor h]).
TEST(Percentile, FollowsTheDefinitionForEverySizeAndShare) {
    std::mt19937 random(11);
    std::uniform_real_distribution<double> value(-1e6, 1e6);
    for (std::size_t size = 1; size <= 40; ++size) {
        std::vector<double> values(size);
        for (double& v : values) v = value(random);
        std::vector<double> sorted = values;
        std::sort(sorted.begin(), sorted.end());
        std::vector<double> percents;
        for (int p = 0; p <= 100; ++p) percents.push_back(p);
        const std::vector<double> all = percentiles(values, percents).value();
        for (int p = 0; p <= 100; ++p) {
            const double h = static_cast<double>(size - 1) * p / 100;
            const auto floor = static_cast<std::size_t>(h + 1e-9);
            const double next = sorted[std::min(floor + 1, size - 1)];
            const double expected = sorted[floor] + (h - static_cast<double>(floor)) * (next - sorted[floor]);
            EXPECT_NEAR(all[static_cast<std::size_t>(p)], expected, 1e-6) << size << " values, p" << p;
            EXPECT_DOUBLE_EQ(all[static_cast<std::size_t>(p)], percentile(values, p).value());
        }
    }
}

TEST(Percentile, RefusesWhatHasNoAnswerAndSaysWhatToDo) {
    const std::vector<double> values = one_to_ten();
    const std::vector<double> broken{1, std::numeric_limits<double>::quiet_NaN()};
    for (const auto& result : {percentile({}, 50), percentile(values, -0.1), percentile(values, 100.1),
                               percentile(values, std::nan("")), percentile(broken, 50)}) {
        ASSERT_FALSE(result.ok());
        EXPECT_EQ(result.error().code, Errc::kInvalidArgument);
    }
    EXPECT_NE(percentile(values, 101).error().message.find("give 0 to 100"), std::string::npos);
}

TEST(SampleStatistics, OfFiveValuesIsTheKnownAnswer) {
    const SampleStatistics five = sample_statistics(kFive);
    EXPECT_EQ(five.count, 5u);
    EXPECT_DOUBLE_EQ(*five.mean, 100);
    EXPECT_DOUBLE_EQ(*five.stddev, std::sqrt(12.5));
    EXPECT_DOUBLE_EQ(*five.ci95_half_width, 2.776 * std::sqrt(12.5) / std::sqrt(5));
    EXPECT_NEAR(*five.ci95_half_width, 4.389, 5e-4);
}

TEST(SampleStatistics, BelowThreeValuesOnlyTheMeanIsKnown) {
    EXPECT_FALSE(sample_statistics({}).mean);
    for (const std::vector<double>& few : {std::vector<double>{7}, std::vector<double>{6, 8}}) {
        const SampleStatistics statistics = sample_statistics(few);
        EXPECT_DOUBLE_EQ(*statistics.mean, 7);
        EXPECT_FALSE(statistics.stddev);
        EXPECT_FALSE(statistics.ci95_half_width);
    }
}

TEST(SampleStatistics, EqualValuesHaveAKnownSpreadOfZero) {
    const SampleStatistics statistics = sample_statistics(std::vector<double>(9, 3.25));
    EXPECT_DOUBLE_EQ(*statistics.stddev, 0);
    EXPECT_DOUBLE_EQ(*statistics.ci95_half_width, 0);
}

TEST(SampleStatistics, SmallSpreadOnALargeMeanKeepsItsDigits) {
    const SampleStatistics statistics = sample_statistics(std::vector<double>{1e15 + 1, 1e15 + 2, 1e15 + 3});
    EXPECT_DOUBLE_EQ(*statistics.stddev, 1);
}

TEST(SampleStatistics, ValueThatIsNotFiniteMakesThemUnknown) {
    const SampleStatistics statistics = sample_statistics(std::vector<double>{1, 2, HUGE_VAL, 4});
    EXPECT_EQ(statistics.count, 4u);
    EXPECT_FALSE(statistics.mean);
    EXPECT_FALSE(statistics.stddev);
}

TEST(SampleMoments, MergedPartsAreWhatTheWholeComesTo) {
    std::mt19937 random(3);
    std::lognormal_distribution<double> value(8, 2);
    for (int round = 0; round < 50; ++round) {
        SampleMoments whole;
        SampleMoments merged;
        for (int part = 0; part < 4; ++part) {
            SampleMoments own;
            for (auto left = random() % 20; left > 0; --left) {
                const double v = value(random);
                own.add(v);
                whole.add(v);
            }
            merged.merge(own);
        }
        ASSERT_EQ(merged.count(), whole.count());
        EXPECT_NEAR(merged.mean(), whole.mean(), 1e-9 * whole.mean());
        ASSERT_EQ(merged.variance().has_value(), whole.variance().has_value());
        if (!whole.variance()) continue;
        EXPECT_NEAR(*merged.variance(), *whole.variance(), 1e-9 * *whole.variance());
    }
}

TEST(StudentT, IsTheTableUpTo29ThenThreeDecimals) {
    EXPECT_DOUBLE_EQ(student_t_975(1), 12.706);
    EXPECT_DOUBLE_EQ(student_t_975(4), 2.776);
    EXPECT_DOUBLE_EQ(student_t_975(29), 2.045);
    EXPECT_TRUE(std::isinf(student_t_975(0)));
    // NIST/SEMATECH e-Handbook of Statistical Methods, table 1.3.6.7.2.
    EXPECT_NEAR(student_t_975(30), 2.042, 6e-4);
    EXPECT_NEAR(student_t_975(60), 2.000, 6e-4);
    EXPECT_NEAR(student_t_975(100), 1.984, 6e-4);
    for (uint64_t degrees = 1; degrees < 200; ++degrees)
        EXPECT_GT(student_t_975(degrees), student_t_975(degrees + 1)) << degrees;
}

TEST(StudentT, HalfWidthsUseTheNormalDistributionFrom30On) {
    EXPECT_DOUBLE_EQ(ci95_factor(29), 2.045);
    EXPECT_DOUBLE_EQ(ci95_factor(30), 1.96);
}

TEST(CompareMeans, DifferWhereTheIntervalsDoNotMeet) {
    const SampleStatistics base{5, 100, 1, 4};
    EXPECT_EQ(compare_means(base, {5, 107, 1, 2.5}).verdict, MeansVerdict::kHigher);
    EXPECT_EQ(compare_means(base, {5, 106, 1, 2}).verdict, MeansVerdict::kSame) << "they touch";
    EXPECT_EQ(compare_means(base, {5, 93, 1, 2}).verdict, MeansVerdict::kLower);
    const MeansComparison higher = compare_means(base, {5, 107, 1, 2.5});
    EXPECT_DOUBLE_EQ(*higher.difference, 7);
    EXPECT_DOUBLE_EQ(*higher.needed, 6.5);
}

TEST(CompareMeans, SaysNothingWithoutAnInterval) {
    const MeansComparison unknown = compare_means({5, 100, 1, 4}, sample_statistics(std::vector<double>{900, 901}));
    EXPECT_EQ(unknown.verdict, MeansVerdict::kUnknown);
    EXPECT_DOUBLE_EQ(*unknown.difference, 800.5);
    EXPECT_FALSE(unknown.needed);
    EXPECT_STREQ(to_text(unknown.verdict), "unknown");
    EXPECT_FALSE(compare_means({}, {5, 100, 1, 4}).difference);
}

}    // namespace
}    // namespace lapwing
