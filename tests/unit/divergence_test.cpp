// Fingerprints and what they tell of two runs: rounding is no divergence, one wrong element is.
#include "lapwing/divergence.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>

namespace lapwing {
namespace {

using F32 = std::vector<float>;

TensorView view(const F32& values) {
    return {values.data(), values.size(), DType::kF32};
}
TensorView view(const std::vector<uint16_t>& bits, DType type) {
    return {bits.data(), bits.size(), type};
}
FingerprintRecord record(const std::string& name, const TensorView& tensor, int32_t layer = 0, uint32_t order = 0,
                         uint32_t position = 0) {
    FingerprintRecord out;
    out.name = name;
    out.layer = layer;
    out.order = order;
    out.position = position;
    out.fingerprint = fingerprint_of(tensor).value();
    return out;
}
DivergenceReport compare(const std::vector<FingerprintRecord>& a, const std::vector<FingerprintRecord>& b) {
    return compare_runs(a, b).value();
}

F32 normal(std::size_t count, uint32_t seed) {
    std::mt19937 random(seed);
    std::normal_distribution<float> distribution;
    F32 out(count);
    for (float& value : out) value = distribution(random);
    return out;
}

// Bit patterns of finite values whose neighbours are finite too.
std::vector<uint16_t> random_bits(std::size_t count, std::mt19937& random, DType type) {
    const uint16_t largest = type == DType::kF16 ? 0x4bff : 0x43ff;    // about 16 and 512
    const uint16_t smallest = type == DType::kF16 ? 0x2c00 : 0x3d00;
    std::uniform_int_distribution<uint32_t> magnitude(smallest, largest);
    std::vector<uint16_t> out(count);
    for (uint16_t& bits : out) bits = static_cast<uint16_t>(magnitude(random) | (random() & 1) << 15);
    return out;
}

TEST(FloatChecksum, KnownAnswers) {
    EXPECT_EQ(float_checksum({}), 0xcbf29ce484222325u);
    EXPECT_EQ(float_checksum(F32{1, 2, 3}), 0x1de40d89811fe258u);
    EXPECT_EQ(float_checksum(F32{1, 2, 3, 4}), 0x8faa0a18faf0fb98u);
    EXPECT_EQ(float_checksum(F32{1, 2, 3, 5}), 0x90174a18fb4e3a38u);
    EXPECT_EQ(float_checksum(F32{0.0F}), 0x4d25767f9dce13f5u);
    EXPECT_EQ(float_checksum(F32{-0.0F}), 0x4d24f67f9dcd3a75u);
    F32 ramp(100);
    std::iota(ramp.begin(), ramp.end(), 0.0F);
    EXPECT_EQ(float_checksum(ramp), 0x335b076c7de57d88u);
    ramp.resize(64);
    EXPECT_EQ(float_checksum(ramp), 0x335b076c7de57d88u);
}

TEST(FindDivergence, FirstOfItsOwnOrderAndTheLastOfDoubledReferences) {
    const std::vector<KernelChecksum> reference{{"a", 0, 0, 1}, {"b", 0, 0, 2}, {"c", 1, 0, 3}, {"b", 0, 0, 7}};
    EXPECT_FALSE(
        find_divergence(std::vector<KernelChecksum>{{"a", 0, 0, 1}, {"b", 0, 0, 7}, {"z", 0, 0, 9}}, reference));
    const auto found = find_divergence(std::vector<KernelChecksum>{{"c", 1, 0, 4}, {"a", 0, 0, 5}}, reference);
    ASSERT_TRUE(found.has_value());
    EXPECT_EQ(found->kernel_name, "c");
    EXPECT_EQ(found->expected_checksum, 3u);
    EXPECT_EQ(to_text(*found),
              "Divergence at c layer 1 position 0: expected 0x0000000000000003, got 0x0000000000000004");
}

TEST(Fingerprint, HoldsWhatItsNameSays) {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const float inf = std::numeric_limits<float>::infinity();
    const Fingerprint print = fingerprint_of(view({1, -2, nan, 3, -inf, inf})).value();
    EXPECT_EQ(print.count, 6u);
    EXPECT_EQ(print.nans, 1u);
    EXPECT_EQ(print.infs, 2u);
    EXPECT_DOUBLE_EQ(print.sum, 2);
    EXPECT_DOUBLE_EQ(print.sum_squares, 14);
    EXPECT_DOUBLE_EQ(print.sum_abs, 6);
    EXPECT_DOUBLE_EQ(print.min, -2);
    EXPECT_DOUBLE_EQ(print.max, 3);
    for (std::size_t k = 0; k < kProjections; ++k) {
        double expected = 0;
        for (const auto& [index, value] : {std::pair{0u, 1.0}, {1u, -2.0}, {3u, 3.0}})
            expected += (projection_signs(kFingerprintSeed, index) >> k & 1) != 0 ? -value : value;
        EXPECT_DOUBLE_EQ(print.projections[k], expected);
    }
    const Fingerprint none = fingerprint_of({}).value();
    EXPECT_EQ(none.count, 0u);
    EXPECT_EQ(none.min, 0);
    EXPECT_FALSE(fingerprint_of({nullptr, 3, DType::kF32}).ok());
    EXPECT_FALSE(fingerprint_of({&nan, uint64_t{1} << 32, DType::kF32}).ok());
}

TEST(Fingerprint, ReadsTheSmallFormatsExactly) {
    const std::vector<uint16_t> half{0x3c00, 0xc000, 0x0001, 0x7bff, 0x7c00, 0x7e00};
    const Fingerprint print = fingerprint_of(view(half, DType::kF16)).value();
    EXPECT_DOUBLE_EQ(print.sum, 1.0 - 2.0 + std::ldexp(1, -24) + 65504.0);
    EXPECT_EQ(print.infs, 1u);
    EXPECT_EQ(print.nans, 1u);
    EXPECT_DOUBLE_EQ(fingerprint_of(view({0x3f80, 0xc020}, DType::kBf16)).value().sum, 1 - 2.5);
    const std::vector<int8_t> steps{-128, 127, 3};
    EXPECT_DOUBLE_EQ(fingerprint_of({steps.data(), steps.size(), DType::kI8}).value().sum, 2);
}

TEST(Fingerprint, ChecksumIsThatOfTheFirstValuesAsFloats) {
    const F32 many = normal(100, 4);
    EXPECT_EQ(fingerprint_of(view(many)).value().checksum, float_checksum(many));
    EXPECT_EQ(fingerprint_of({nullptr, 0, DType::kF32}).value().checksum, float_checksum({}));
    // 1, -0.5, the smallest subnormal half, a larger one, -0, infinity, the largest.
    const F32 values{1, -0.5F, std::ldexp(1.0F, -24), std::ldexp(-0x2abp0F, -24), -0.0F, HUGE_VALF, 65504};
    EXPECT_EQ(
        fingerprint_of(view({0x3c00, 0xb800, 0x0001, 0x82ab, 0x8000, 0x7c00, 0x7bff}, DType::kF16)).value().checksum,
        float_checksum(values));
    EXPECT_EQ(fingerprint_of(view({0x3f80, 0xc020}, DType::kBf16)).value().checksum, float_checksum(F32{1, -2.5F}));
    const std::vector<int8_t> steps{-128, 127, 3};
    EXPECT_EQ(fingerprint_of({steps.data(), steps.size(), DType::kI8}).value().checksum,
              float_checksum(F32{-128, 127, 3}));
}

// The signs are fair and independent enough: estimates of random differences are unbiased.
TEST(Fingerprint, ProjectionsEstimateTheDistance) {
    double ratio = 0;
    constexpr int kRounds = 400;
    for (int round = 0; round < kRounds; ++round) {
        const F32 a = normal(300, static_cast<uint32_t>(round));
        const F32 b = normal(300, static_cast<uint32_t>(round) + 10'000);
        double exact = 0;
        for (std::size_t i = 0; i < a.size(); ++i) exact += (a[i] - b[i]) * (a[i] - b[i]);
        const Fingerprint x = fingerprint_of(view(a)).value();
        const Fingerprint y = fingerprint_of(view(b)).value();
        double estimate = 0;
        for (std::size_t k = 0; k < kProjections; ++k)
            estimate += std::pow(x.projections[k] - y.projections[k], 2) / kProjections;
        ratio += estimate / exact / kRounds;
    }
    EXPECT_NEAR(ratio, 1, 0.06);
}

TEST(CompareRuns, OneUnitInTheLastPlaceIsNoDivergenceInTenThousandTrials) {
    std::mt19937 random(3);
    for (int trial = 0; trial < 10'000; ++trial) {
        const std::size_t count = 1 + random() % 200;
        F32 a = normal(count, static_cast<uint32_t>(random()));
        F32 b = a;
        for (float& value : b) value = std::nextafter(value, (random() & 1) != 0 ? 1e9F : -1e9F);
        ASSERT_FALSE(compare({record("x", view(a))}, {record("x", view(b))}).diverges());
        for (const DType type : {DType::kF16, DType::kBf16}) {
            std::vector<uint16_t> c = random_bits(count, random, type);
            std::vector<uint16_t> d = c;
            for (uint16_t& bits : d) bits = static_cast<uint16_t>((random() & 1) != 0 ? bits + 1 : bits - 1);
            ASSERT_FALSE(compare({record("x", view(c, type))}, {record("x", view(d, type))}).diverges())
                << to_text(type) << " " << count;
        }
        std::vector<int8_t> e(count), f(count);
        for (std::size_t i = 0; i < count; ++i) {
            e[i] = static_cast<int8_t>(static_cast<int>(random() % 200) - 100);
            f[i] = static_cast<int8_t>(e[i] + ((random() & 1) != 0 ? 1 : -1));
        }
        ASSERT_FALSE(compare({record("x", {e.data(), count, DType::kI8})}, {record("x", {f.data(), count, DType::kI8})})
                         .diverges());
    }
}

// One element of a million, moved so that the whole tensor's NMSE is four times the bound, among rounding everywhere.
TEST(CompareRuns, OneWrongElementOfAMillionIsFound) {
    const F32 a = normal(1'000'000, 1);
    const FingerprintRecord reference = record("x", view(a));
    const double delta = std::sqrt(4 * nmse_bound(DType::kF32) * reference.fingerprint.sum_squares);
    std::mt19937 random(5);
    F32 b = a;
    for (float& value : b) value = std::nextafter(value, (random() & 1) != 0 ? 1e9F : -1e9F);
    const FingerprintRecord noisy = record("x", view(b));
    ASSERT_FALSE(compare({reference}, {noisy}).diverges());
    int found = 0;
    constexpr int kTrials = 10'000;
    for (int trial = 0; trial < kTrials; ++trial) {
        // What another element would change in the fingerprint, without reading the million again.
        const auto index = static_cast<uint32_t>(random() % a.size());
        FingerprintRecord faulty = noisy;
        const double moved = static_cast<double>(static_cast<float>(b[index] + delta)) - b[index];
        for (std::size_t k = 0; k < kProjections; ++k)
            faulty.fingerprint.projections[k] +=
                (projection_signs(kFingerprintSeed, index) >> k & 1) != 0 ? -moved : moved;
        found += compare({reference}, {faulty}).diverges() ? 1 : 0;
    }
    EXPECT_GE(found, kTrials * 999 / 1000);
    // And one read from the tensor itself.
    b[777'777] += static_cast<float>(delta);
    const DivergenceReport report = compare({reference}, {record("x", view(b))});
    ASSERT_EQ(report.findings.size(), 1u);
    EXPECT_NEAR(report.findings[0].nmse, 4 * nmse_bound(DType::kF32), 1e-9);
}

// f16 is the hard case: one unit everywhere is nearly half of the bound.
TEST(CompareRuns, OneWrongElementIsFoundAmongTheRoundingOfHalves) {
    std::mt19937 random(9);
    constexpr int kTrials = 10'000;
    for (const DType type : {DType::kF16, DType::kBf16}) {
        for (const std::size_t count : {std::size_t{256}, std::size_t{1'000'000}}) {
            const std::vector<uint16_t> a = random_bits(count, random, type);
            const FingerprintRecord reference = record("x", view(a, type));
            const double moved = std::sqrt(4 * nmse_bound(type) * reference.fingerprint.sum_squares);
            int found = 0;
            std::vector<uint16_t> b = a;
            FingerprintRecord noisy;
            for (int trial = 0; trial < kTrials; ++trial) {
                // Other noise for each small tensor; of the large one every thousandth trial, since it takes 10 ms.
                if (count < 1000 || trial % 1000 == 0) {
                    for (std::size_t i = 0; i < count; ++i)
                        b[i] = static_cast<uint16_t>((random() & 1) != 0 ? a[i] + 1 : a[i] - 1);
                    noisy = record("x", view(b, type));
                }
                FingerprintRecord faulty = noisy;
                const auto index = static_cast<uint32_t>(random() % count);
                for (std::size_t k = 0; k < kProjections; ++k)
                    faulty.fingerprint.projections[k] +=
                        (projection_signs(kFingerprintSeed, index) >> k & 1) != 0 ? -moved : moved;
                found += compare({reference}, {faulty}).diverges() ? 1 : 0;
            }
            EXPECT_GE(found, kTrials * 999 / 1000) << to_text(type) << " of " << count;
            EXPECT_FALSE(compare({reference}, {noisy}).diverges()) << to_text(type) << " of " << count;
        }
    }
}

TEST(CompareRuns, FindingsAreInTopologicalOrderWithMissingAndExtraOnes) {
    const F32 good = normal(100, 1);
    F32 bad = good;
    bad[50] += 1;
    F32 shorter = good;
    shorter.pop_back();
    F32 hole = good;
    hole[3] = std::numeric_limits<float>::quiet_NaN();
    const std::vector<FingerprintRecord> reference{record("Zeta", view(good), 0, 0), record("Beta", view(good), 0, 1),
                                                   record("Alpha", view(good), 0, 2), record("Gone", view(good), 1, 3),
                                                   record("Alpha", view(good), -1, 0, 1)};
    const std::vector<FingerprintRecord> candidate{
        record("Alpha", view(bad), 0, 2), record("Zeta", view(shorter), 0, 0), record("Beta", view(hole), 0, 1),
        record("New", view(good), 0, 9), record("Alpha", view(good), -1, 0, 1)};
    const DivergenceReport report = compare(reference, candidate);
    EXPECT_EQ(report.compared, 4u);
    ASSERT_EQ(report.findings.size(), 3u);
    EXPECT_EQ(report.findings[0].reference.name, "Zeta");
    EXPECT_EQ(report.findings[0].kind, DivergenceKind::kShape);
    EXPECT_EQ(report.findings[1].reference.name, "Beta");
    EXPECT_EQ(report.findings[1].kind, DivergenceKind::kNotFinite);
    EXPECT_EQ(report.findings[2].kind, DivergenceKind::kValues);
    EXPECT_GT(report.findings[2].nmse, report.findings[2].limit);
    ASSERT_EQ(report.missing.size(), 1u);
    EXPECT_EQ(report.missing[0].name, "Gone");
    ASSERT_EQ(report.extra.size(), 1u);
    EXPECT_EQ(report.extra[0].name, "New");
    EXPECT_FALSE(compare(reference, reference).diverges());
    EXPECT_TRUE(compare(reference, {}).diverges());
}

TEST(CompareRuns, TypesMayDifferAndSeedsMayNot) {
    const F32 a{1, 2, 3, 4};
    const std::vector<uint16_t> b{0x3c00, 0x4000, 0x4200, 0x4400};
    const DivergenceReport report = compare({record("x", view(a))}, {record("x", view(b, DType::kF16))});
    ASSERT_EQ(report.findings.size(), 1u);
    EXPECT_EQ(report.findings[0].kind, DivergenceKind::kType) << "the values agree";
    FingerprintRecord other = record("x", view(a));
    other.fingerprint = fingerprint_of(view(a), 5).value();
    const std::vector<FingerprintRecord> one{record("x", view(a))};
    const std::vector<FingerprintRecord> two{other};
    EXPECT_NE(compare_runs(one, two).error().message.find("different seeds"), std::string::npos);
}

TEST(CompareRuns, ATensorOfZerosIsComparedByItsMeanSquare) {
    const F32 zeros(1000, 0.0F);
    F32 tiny = zeros;
    tiny[5] = 1e-4F;
    EXPECT_FALSE(compare({record("x", view(zeros))}, {record("x", view(tiny))}).diverges());
    tiny[5] = 1;
    EXPECT_TRUE(compare({record("x", view(zeros))}, {record("x", view(tiny))}).diverges());
}

TEST(CompareTensors, CountsUnitsAndFindsTheWorst) {
    const F32 a{1, 2, -0.0F, 100};
    F32 b{std::nextafter(1.0F, 2.0F), 2, 0.0F, 100.5F};
    const TensorDifference difference = compare_tensors(view(a), view(b)).value();
    EXPECT_DOUBLE_EQ(difference.max_abs, 0.5);
    EXPECT_EQ(difference.worst, 3u);
    EXPECT_NEAR(difference.nmse, 0.25 / 10005, 1e-9);
    EXPECT_GT(difference.max_ulp, 1000u);
    b[3] = 100;
    EXPECT_EQ(compare_tensors(view(a), view(b)).value().max_ulp, 1u) << "both zeros are one value";
    b[1] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_EQ(compare_tensors(view(a), view(b)).value().not_finite, 1u);
    b.pop_back();
    EXPECT_FALSE(compare_tensors(view(a), view(b)).ok());
    EXPECT_FALSE(compare_tensors(view(a), {a.data(), 4, DType::kBf16}).ok());
}

}    // namespace
}    // namespace lapwing
