// What two runs differ in, as text and JSON, and what is collected of a stream.
#include "lapwing/divergence_export.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "lapwing/fingerprint_run.hpp"

namespace lapwing {
namespace {

using testing::HasSubstr;

FingerprintRecord record(const std::string& name, int32_t layer, uint32_t order, const std::vector<float>& values) {
    FingerprintRecord out{.name = name, .layer = layer, .order = order, .shape = {values.size(), 1, 1, 1}};
    out.fingerprint = fingerprint_of({values.data(), values.size(), DType::kF32}).value();
    return out;
}

const ComparedRun kA{"a.pftrace", 3, 0, 0};
const ComparedRun kB{"b.pftrace", 3, 2, 1};

std::vector<FingerprintRecord> good() {
    return {record("norm", 0, 0, {1, 2}), record("ffn", 0, 1, {3, 4}), record("out", -1, 2, {5, 6})};
}

TEST(DivergenceText, NamesTheFirstBrickAndHowBadItIs) {
    std::vector<FingerprintRecord> bad = good();
    bad[1] = record("ffn", 0, 1, {3, 4.5F});
    bad[2] = record("out", -1, 2, {5, 6, 7});
    bad[0].isolated_ns = 1500;
    const std::string text = to_text(compare_runs(good(), bad).value(), kA, kB);
    EXPECT_THAT(text, HasSubstr("diverges first at ffn, layer 0, position 0 (values): NMSE 0.01, 5e+04 times the limit "
                                "2e-07\n"));
    EXPECT_THAT(text, HasSubstr("|a - b| is about 0.5: "));
    EXPECT_THAT(text, HasSubstr("  out, position 0: shape: 2 against 3\n"));
    EXPECT_THAT(text, HasSubstr("b.pftrace: 2 fingerprints dropped because"));
    EXPECT_THAT(text, HasSubstr("3 bricks compared: 2 diverge, 0 only in the reference, 0 only in the candidate; worst "
                                "NMSE 0.01 at ffn, layer 0, position 0 (limit 2e-07)\n"));
    EXPECT_THAT(text, testing::Not(HasSubstr("isolated"))) << "of the first finding only";
    bad[1].isolated_ns = 1500;
    EXPECT_THAT(to_text(compare_runs(good(), bad).value(), kA, kB), HasSubstr("time, isolated"));
}

TEST(DivergenceText, WhatOnlyOneRunHasIsListedInOrderAndCut) {
    std::vector<FingerprintRecord> fewer = good();
    fewer.erase(fewer.begin());
    const std::string text = to_text(compare_runs(good(), fewer).value(), kA, kB);
    EXPECT_THAT(text, HasSubstr("diverges: what both have agrees"));
    EXPECT_THAT(text, HasSubstr("only in the reference (1):\n  norm, layer 0, position 0\n"));
    std::vector<FingerprintRecord> more = good();
    for (uint32_t i = 0; i < 30; ++i) {
        std::string name = "x";
        name += std::to_string(30 - i);
        more.push_back(record(name, 1, 3 + i, {1}));
    }
    const std::string cut = to_text(compare_runs(good(), more).value(), kA, kB);
    EXPECT_THAT(cut, HasSubstr("only in the candidate (30):\n  x30, layer 1, position 0\n  x29,"));
    EXPECT_THAT(cut, HasSubstr("  and 10 more (--format json has all)\n"));
}

TEST(DivergenceText, NamesCannotWriteToTheTerminal) {
    std::vector<FingerprintRecord> odd = good();
    odd[0].name = "\x1b[31m\xff";
    const DivergenceReport report = compare_runs(good(), odd).value();
    EXPECT_THAT(to_text(report, kA, kB), HasSubstr("\\x1b[31m\\xff, layer 0"));
    EXPECT_EQ(nlohmann::json::parse(to_json(report, kA, kB))["extra"][0]["name"], "\\x1b[31m\\xff");
}

TEST(DivergenceJson, WhatIsNoNumberIsNull) {
    std::vector<FingerprintRecord> bad = good();
    bad[0].fingerprint.projections[0] = std::numeric_limits<double>::quiet_NaN();
    const DivergenceReport report = compare_runs(good(), bad).value();
    ASSERT_TRUE(report.diverges()) << "a fingerprint that is no number is a finding";
    const auto json = nlohmann::json::parse(to_json(report, kA, kB));
    EXPECT_TRUE(json["first"]["nmse"].is_null());
    EXPECT_EQ(json["first"]["name"], "norm");
    EXPECT_EQ(json["worst"]["name"], "norm");
    EXPECT_EQ(json["candidate"]["dropped"], 2);
}

TEST(CompareRuns, EqualOrdersAreComparedAsTheyCame) {
    std::vector<FingerprintRecord> reference{record("zeta", 0, 0, {1}), record("alpha", 0, 0, {1})};
    std::vector<FingerprintRecord> candidate{record("alpha", 0, 0, {2}), record("zeta", 0, 0, {2})};
    EXPECT_EQ(compare_runs(reference, candidate).value().findings.at(0).reference.name, "zeta");
}

TEST(FingerprintRun, KeepsOneProcessAndRefusesToMixTwo) {
    FingerprintRun run;
    ASSERT_TRUE(run.process({1, "parent", "", "off"}).ok());
    ASSERT_TRUE(run.process({2, "child", "", "off"}).ok());
    ASSERT_TRUE(run.fingerprint({.name = "a"}).ok());
    RecordingStats stats;
    stats.fingerprints_dropped = 4;
    stats.fingerprints_left_out = 5;
    ASSERT_TRUE(run.stats(stats).ok());
    EXPECT_EQ(run.command(), "child");
    EXPECT_EQ(run.dropped(), 4u);
    EXPECT_EQ(run.left_out(), 5u);
    ASSERT_TRUE(run.process({3, "", "", "off"}).ok());
    const Status second = run.fingerprint({.name = "a"});
    ASSERT_FALSE(second.ok());
    EXPECT_THAT(second.error().message, HasSubstr("pid 3"));
    EXPECT_EQ(run.records().size(), 1u);
}

}    // namespace
}    // namespace lapwing
