// Which steps are timed.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "lapwing/arming.hpp"
#include "lapwing/step_rule.hpp"

namespace lapwing {
namespace {

std::vector<uint32_t> armed_steps(Arming& arming, uint32_t steps, int64_t step_ns = 1) {
    std::vector<uint32_t> out;
    for (uint32_t step = 0; step < steps; ++step) {
        const int64_t now_ns = step * step_ns;
        if (!arming.decide(step, now_ns).armed) continue;
        out.push_back(step);
        arming.worked(now_ns);
    }
    return out;
}

TEST(Arming, TimesOneStepInSoManyTheFirstIncluded) {
    Arming all({});
    EXPECT_EQ(armed_steps(all, 4), (std::vector<uint32_t>{0, 1, 2, 3}));
    Arming fourth({.every = 4});
    EXPECT_EQ(armed_steps(fourth, 10), (std::vector<uint32_t>{0, 4, 8}));
}

TEST(Arming, SkippedStepsAreNotAmongThoseToChooseFrom) {
    Arming arming({.every = 4, .skip = 3});
    EXPECT_EQ(arming.decide(0, 0), (Arming::Decision{false, false}));
    EXPECT_EQ(arming.decide(3, 0), (Arming::Decision{true, true}));
    EXPECT_EQ(arming.decide(4, 0), (Arming::Decision{false, true}));
    Arming again({.every = 4, .skip = 3});
    EXPECT_EQ(armed_steps(again, 12), (std::vector<uint32_t>{3, 7, 11}));
}

TEST(Arming, EndsAfterItsDurationCountedFromTheFirstTimedStep) {
    Arming arming({.every = 2, .skip = 1, .duration_ns = 50});
    EXPECT_EQ(armed_steps(arming, 100, 10), (std::vector<uint32_t>{1, 3, 5}));
    EXPECT_FALSE(arming.decide(101, 2000).sampled);
}

TEST(Arming, ADurationBeyondTheClockIsNoLimit) {
    Arming arming({.duration_ns = INT64_MAX});
    EXPECT_EQ(armed_steps(arming, 3, INT64_MAX / 4).size(), 3u);
}

TEST(Arming, TheSameStepGetsTheSameAnswer) {
    Arming arming({.every = 2});
    EXPECT_TRUE(arming.decide(0, 0).armed);
    EXPECT_TRUE(arming.decide(0, 0).armed);
    EXPECT_FALSE(arming.decide(1, 0).armed);
    EXPECT_FALSE(arming.decide(1, 0).armed);
    EXPECT_TRUE(arming.decide(2, 0).armed);
}

TEST(Arming, StepsThatNobodyAskedAboutDoNotShiftTheStrideForEver) {
    Arming arming({.every = 4});
    EXPECT_TRUE(arming.decide(0, 0).armed);
    EXPECT_TRUE(arming.decide(9, 0).armed) << "due since step 4";
    EXPECT_FALSE(arming.decide(12, 0).armed);
    EXPECT_TRUE(arming.decide(13, 0).armed);
}

TEST(ArmingText, TakesWhatIsDocumented) {
    EXPECT_EQ(parse_every("64").value(), 64u);
    EXPECT_EQ(parse_skip("0").value(), 0u);
    EXPECT_EQ(parse_duration("500ms").value(), 500'000'000);
    EXPECT_EQ(parse_duration("10s").value(), 10'000'000'000);
    EXPECT_EQ(parse_duration("2m").value(), 120'000'000'000);
    EXPECT_EQ(parse_duration("5min").value(), 300'000'000'000);
    EXPECT_EQ(parse_duration("1000h").value(), 3'600'000'000'000'000);
    EXPECT_DOUBLE_EQ(parse_budget("1%").value(), 0.01);
    EXPECT_DOUBLE_EQ(parse_budget("0.5%").value(), 0.005);
    EXPECT_DOUBLE_EQ(parse_budget("100%").value(), 1);
}

template <class Parse>
void expect_refused(Parse&& parse, std::initializer_list<const char*> texts) {
    for (const char* text : texts) {
        const auto parsed = parse(text);
        ASSERT_FALSE(parsed.ok()) << text;
        const std::string message = parsed.error().message;
        EXPECT_EQ(message.front(), '\'') << message;
        EXPECT_EQ(message.substr(1, message.find("' is not ") - 1), text) << message;
    }
}

TEST(ArmingText, RefusesEverythingElseByName) {
    expect_refused(parse_every, {"", "0", "-1", "1.5", "8x", "1000001", "99999999999999999999", " 8", "+8"});
    expect_refused(parse_skip, {"", "-1", "1000000001", "x"});
    expect_refused(parse_duration, {"", "10", "s", "0s", "-1s", "1.5s", "10 s", "10S", "10us", "1001h",
                                    "99999999999999999999ms", "10s "});
    expect_refused(parse_budget, {"", "1", "%", "0%", "0.001%", "101%", "-1%", "1 %", "nan%", "inf%", "1e0%", "1%%"});
}

TEST(StepRule, TakesTheThreeWaysToFindSteps) {
    EXPECT_EQ(parse_step_rule("sync").value().kind, StepRule::Kind::kSync);
    const StepRule label = parse_step_rule("label:^decode [0-9]+$").value();
    EXPECT_EQ(label.kind, StepRule::Kind::kLabel);
    EXPECT_EQ(label.pattern, "^decode [0-9]+$");
    const StepRule submits = parse_step_rule("submits:4").value();
    EXPECT_EQ(submits.kind, StepRule::Kind::kSubmits);
    EXPECT_EQ(submits.submits, 4u);
}

TEST(StepRule, RefusesOthersAndSaysWhatIsWrongWithAnExpression) {
    for (const char* text : {"", "Sync", "sync ", "submits", "submits:", "submits:0", "submits:1000001", "submits:x",
                             "label", "every:3"}) {
        const Result<StepRule> rule = parse_step_rule(text);
        ASSERT_FALSE(rule.ok()) << text;
        EXPECT_NE(rule.error().message.find("sync, label:REGEX, submits:N"), std::string::npos);
    }
    EXPECT_NE(parse_step_rule("label:a(b").error().message.find("'a(b'"), std::string::npos);
    EXPECT_FALSE(parse_step_rule("label:").ok());
}

TEST(StepRule, APatternIsFoundAnywhereUnlessItIsAnchored) {
    const LabelPattern anywhere = LabelPattern::compile("dec|pre").value();
    EXPECT_TRUE(anywhere.matches("run decode 4"));
    EXPECT_FALSE(anywhere.matches("upload"));
    const LabelPattern whole = LabelPattern::compile("^step$").value();
    EXPECT_TRUE(whole.matches("step"));
    EXPECT_FALSE(whole.matches("step 1"));
}

}    // namespace
}    // namespace lapwing
