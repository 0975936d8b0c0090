// Names, formulas and spread of bricks, against the known answers and against lists of samples.
#include "lapwing/brick_stats.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "lapwing/statistics.hpp"

namespace lapwing {
namespace {

TEST(BrickId, ThereAre23InOneByteAndEveryNameParsesToItsId) {
    EXPECT_EQ(kBrickIdCount, 23u);
    EXPECT_EQ(sizeof(BrickId), 1u);
    const auto ids = all_brick_ids();
    for (std::size_t i = 0; i < ids.size(); ++i) {
        EXPECT_EQ(static_cast<std::size_t>(ids[i]), i);
        EXPECT_EQ(parse_brick_id(to_text(ids[i])), ids[i]) << to_text(ids[i]);
    }
    EXPECT_STREQ(to_text(BrickId::kRmsNorm), "RmsNorm");
    EXPECT_STREQ(to_text(BrickId::kSampling), "Sampling");
    EXPECT_STREQ(to_text(BrickId::kSvdCompute), "SVDCompute");
}

TEST(BrickId, OtherSpellingsParseAndNothingElseDoes) {
    const std::vector<std::pair<const char*, BrickId>> spellings{{"Qkv", BrickId::kQkvProjection},
                                                                 {"Rope", BrickId::kRopeEmbedding},
                                                                 {"RoPE", BrickId::kRopeEmbedding},
                                                                 {"Softmax", BrickId::kAttentionSoftmax},
                                                                 {"OutProj", BrickId::kOutputProjection},
                                                                 {"Gate", BrickId::kGateProjection},
                                                                 {"Up", BrickId::kUpProjection},
                                                                 {"SiLU", BrickId::kActivation},
                                                                 {"GELU", BrickId::kActivation},
                                                                 {"ReLU", BrickId::kActivation},
                                                                 {"Down", BrickId::kDownProjection},
                                                                 {"Embed", BrickId::kEmbedding},
                                                                 {"Head", BrickId::kLmHead},
                                                                 {"Sample", BrickId::kSampling},
                                                                 {"spmv", BrickId::kSpMV},
                                                                 {"spmm", BrickId::kSpMM},
                                                                 {"fft1d", BrickId::kFft1D},
                                                                 {"FFT", BrickId::kFft1D},
                                                                 {"fft2d", BrickId::kFft2D},
                                                                 {"LU", BrickId::kLuFactorize},
                                                                 {"QR", BrickId::kQrFactorize},
                                                                 {"SVD", BrickId::kSvdCompute}};
    for (const auto& [text, id] : spellings) EXPECT_EQ(parse_brick_id(text), id) << text;
    for (const char* text : {"", "rmsnorm", "RMSNORM", " RmsNorm", "RmsNorm ", "Custom", "Unknown"})
        EXPECT_FALSE(parse_brick_id(text).has_value()) << text;
}

TEST(BrickId, CategoriesAreSevenAndAsDocumented) {
    EXPECT_EQ(kBrickCategoryCount, 7u);
    const char* const names[] = {"Norm", "Attention", "FFN", "Other", "Sparse", "FFT", "Solver"};
    const std::size_t sizes[] = {2, 6, 4, 3, 3, 2, 3};
    std::size_t found[7] = {};
    for (const BrickId id : all_brick_ids()) ++found[static_cast<std::size_t>(category_of(id))];
    for (std::size_t i = 0; i < 7; ++i) {
        EXPECT_STREQ(to_text(static_cast<BrickCategory>(i)), names[i]);
        EXPECT_EQ(found[i], sizes[i]) << names[i];
    }
    EXPECT_EQ(category_of(BrickId::kOutputProjection), BrickCategory::kAttention);
    EXPECT_EQ(category_of(BrickId::kFormatConvert), BrickCategory::kSparse);
}

TEST(BrickStats, EmptyGivesZerosAndRatioOneAndNoSpread) {
    const BrickStats stats;
    EXPECT_EQ(stats.avg_us(), 0);
    EXPECT_EQ(stats.min_us(), 0);
    EXPECT_EQ(stats.max_us(), 0);
    EXPECT_EQ(stats.throughput(), 0);
    EXPECT_EQ(stats.throughput_gbps(), 0);
    EXPECT_EQ(stats.compression_ratio(), 1);
    EXPECT_EQ(stats.cycles_per_element(), 0);
    EXPECT_EQ(stats.avg_cycles(), 0);
    EXPECT_EQ(stats.estimated_ipc(), 0);
    EXPECT_STREQ(stats.diagnose_from_cycles(), "insufficient data");
    EXPECT_FALSE(stats.quantile_ns(0.5).has_value());
    EXPECT_FALSE(stats.variance_ns2().has_value());
    EXPECT_FALSE(stats.ci95_half_width_ns().has_value());
    EXPECT_FALSE(stats.mode().has_value());
}

TEST(BrickStats, BytesAddUpToTheKnownAnswers) {
    BrickStats stats;
    EXPECT_EQ(stats.add_sample_with_bytes(1000, 10, 100, 25), BrickFault::kNone);
    EXPECT_EQ(stats.add_sample_with_bytes(500, 5, 50, 20), BrickFault::kNone);
    EXPECT_EQ(stats.count(), 2u);
    EXPECT_EQ(stats.total_ns, 1500u);
    EXPECT_EQ(stats.total_elements, 15u);
    EXPECT_EQ(stats.total_bytes, 150u);
    EXPECT_EQ(stats.total_compressed_bytes, 45u);
    EXPECT_EQ(stats.min_ns, 500u);
    EXPECT_EQ(stats.max_ns, 1000u);
    EXPECT_DOUBLE_EQ(stats.avg_us(), 0.75);
    EXPECT_DOUBLE_EQ(stats.throughput(), 1e7);
    BrickStats ratio;
    EXPECT_EQ(ratio.add_sample_with_bytes(1, 1, 1000, 250), BrickFault::kNone);
    EXPECT_DOUBLE_EQ(ratio.compression_ratio(), 4);
    BrickStats bandwidth;
    EXPECT_EQ(bandwidth.add_sample_with_bytes(1'000'000'000, 1, 1'000'000'000, 0), BrickFault::kNone);
    EXPECT_DOUBLE_EQ(bandwidth.throughput_gbps(), 1);
    EXPECT_DOUBLE_EQ(bandwidth.compression_ratio(), 1);
}

TEST(BrickStats, CyclesAddUpToTheKnownAnswersAndAreDiagnosed) {
    BrickStats stats;
    EXPECT_EQ(stats.add_sample_with_cycles(1000, 100, 3000), BrickFault::kNone);
    EXPECT_EQ(stats.add_sample_with_cycles(2000, 200, 6000), BrickFault::kNone);
    EXPECT_DOUBLE_EQ(stats.cycles_per_element(), 30);
    EXPECT_DOUBLE_EQ(stats.avg_cycles(), 4500);
    EXPECT_EQ(stats.min_cycles, 3000u);
    EXPECT_EQ(stats.max_cycles, 6000u);
    const auto diagnosis = [](uint64_t ns, uint64_t elements, uint64_t cycles) {
        BrickStats one;
        EXPECT_EQ(one.add_sample_with_cycles(ns, elements, cycles), BrickFault::kNone);
        return std::string(one.diagnose_from_cycles());
    };
    EXPECT_NE(diagnosis(1000, 100, 3000).find("memory-bound"), std::string::npos);
    EXPECT_NE(diagnosis(1000, 9000, 3000).find("compute-bound"), std::string::npos);
    EXPECT_NE(diagnosis(4000, 3000, 3000).find("throttled"), std::string::npos);
    EXPECT_EQ(diagnosis(1000, 3000, 3000), "balanced");
}

TEST(BrickStats, SamplesThatCannotBeRightChangeNothing) {
    BrickStats stats;
    EXPECT_EQ(stats.add_sample(5, 7), BrickFault::kNone);
    EXPECT_EQ(stats.add_sample(5, 0), BrickFault::kNoElements);
    EXPECT_EQ(stats.add_sample(kMaxBrickNs + 1, 1), BrickFault::kOverflow);
    EXPECT_EQ(stats.add_sample(5, std::numeric_limits<uint64_t>::max()), BrickFault::kOverflow);
    EXPECT_EQ(stats.add_sample_with_bytes(5, 1, 1, 0), BrickFault::kNone);
    EXPECT_EQ(stats.add_sample_with_bytes(5, 1, std::numeric_limits<uint64_t>::max(), 0), BrickFault::kOverflow);
    EXPECT_EQ(stats.count(), 2u);
    EXPECT_EQ(stats.total_ns, 10u);
    EXPECT_EQ(stats.total_elements, 8u);
    EXPECT_EQ(stats.total_bytes, 1u);
    for (std::size_t i = 0; i < kBrickFaultCount; ++i)
        EXPECT_GT(std::string(describe(static_cast<BrickFault>(i))).size(), 15u);
}

TEST(BrickStats, SpreadEqualsThatOfTheListOfSamples) {
    std::mt19937_64 random(3);
    for (const uint64_t base : {uint64_t{100}, uint64_t{1'000'000}, uint64_t{1} << 45}) {
        BrickStats stats, left, right;
        SampleMoments moments;
        std::vector<uint64_t> values;
        for (int i = 0; i < 2000; ++i) {
            const uint64_t ns = base + random() % 1000;
            values.push_back(ns);
            moments.add(static_cast<double>(ns - base));
            ASSERT_EQ(stats.add_sample(ns, 1), BrickFault::kNone);
            ASSERT_EQ((i % 2 == 0 ? left : right).add_sample(ns, 1), BrickFault::kNone);
        }
        left.merge(right);
        for (const BrickStats* each : {&stats, &left}) {
            EXPECT_NEAR(*each->variance_ns2(), *moments.variance(), *moments.variance() * 1e-9) << base;
            EXPECT_NEAR(*each->ci95_half_width_ns(), student_t_975(1999) * std::sqrt(*moments.variance() / 2000), 1e-6);
            std::sort(values.begin(), values.end());
            for (const double q : {0.0, 0.5, 0.9, 0.99, 1.0}) {
                const auto exact =
                    static_cast<double>(values[static_cast<std::size_t>(std::max(0.0, std::ceil(q * 2000) - 1))]);
                EXPECT_NEAR(static_cast<double>(*each->quantile_ns(q)), exact, exact * 0.0079) << base << " " << q;
            }
            EXPECT_EQ(each->min_ns, values.front());
            EXPECT_EQ(each->max_ns, values.back());
        }
    }
}

TEST(BrickStats, ConfidenceIntervalIsStudents) {
    BrickStats stats;
    for (const uint64_t ns : {95, 100, 100, 100, 105}) ASSERT_EQ(stats.add_sample(ns, 1), BrickFault::kNone);
    EXPECT_NEAR(*stats.ci95_half_width_ns(), 4.389, 0.001);
}

TEST(CategoryStats, PercentageOfNothingIsZero) {
    CategoryStats stats;
    EXPECT_EQ(stats.percentage(0), 0);
    EXPECT_EQ(stats.avg_us(), 0);
    EXPECT_EQ(stats.throughput(), 0);
    stats.total_ns = 250;
    EXPECT_DOUBLE_EQ(stats.percentage(1000), 25);
}

}    // namespace
}    // namespace lapwing
