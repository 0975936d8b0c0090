// The checks that a decode profile has to pass.
#include "lapwing/profile_checks.hpp"

#include <gtest/gtest.h>

namespace lapwing {
namespace {

std::vector<std::string> checks_of(const ProfileFacts& facts) {
    std::vector<std::string> out;
    for (const ProfileFinding& finding : check_profile(facts)) out.emplace_back(finding.check);
    return out;
}
using Names = std::vector<std::string>;

ProfileFacts good() {
    ProfileFacts facts;
    facts.profiled_ns = 900;
    facts.wall_ns = 1000;
    facts.lm_head_mean_ns = 595'000;
    facts.norm_mean_ns = 25'000;
    facts.device_times = true;
    facts.lm_head_count = 32;
    facts.tokens = 32;
    facts.gemm_share = 0.7;
    return facts;
}

TEST(ProfileChecks, AGoodProfileHasNoFindings) {
    EXPECT_EQ(checks_of(good()), Names{});
}

TEST(ProfileChecks, WhatIsUnknownIsNotChecked) {
    EXPECT_EQ(checks_of({}), Names{});
    ProfileFacts facts;
    facts.profiled_ns = 1;
    facts.lm_head_mean_ns = 1;
    facts.tokens = 1;
    EXPECT_EQ(checks_of(facts), Names{});
}

TEST(ProfileChecks, EachRuleHasItsFinding) {
    ProfileFacts facts = good();
    facts.profiled_ns = 849;
    EXPECT_EQ(checks_of(facts), Names{"coverage"});
    facts.profiled_ns = 850;
    EXPECT_EQ(checks_of(facts), Names{});
    facts.profiled_ns = 1200;
    EXPECT_EQ(checks_of(facts), Names{"coverage"}) << "more than there was";
    facts = good();
    facts.lm_head_mean_ns = 58'000;    // the launch latencies that realizar saw: both about 55 us
    facts.norm_mean_ns = 55'000;
    EXPECT_EQ(checks_of(facts), Names{"lm_head_ratio"});
    facts.device_times = false;
    EXPECT_EQ(checks_of(facts), Names{}) << "host starts cannot show it";
    facts = good();
    facts.lm_head_count = 31;
    EXPECT_EQ(checks_of(facts), Names{"lm_head_count"});
    facts = good();
    facts.gemm_share = 0.49;
    EXPECT_EQ(checks_of(facts), Names{"gemm_share"});
}

}    // namespace
}    // namespace lapwing
