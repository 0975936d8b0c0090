#include "attach/session/config.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace lapwing::attach::vulkan_layer {
namespace {

std::map<std::string, std::string> g_environment;

LayerConfig read(std::map<std::string, std::string> environment) {
    g_environment = std::move(environment);
    return read_config(
        [](const char* name) -> const char* {
            const auto found = g_environment.find(name);
            return found == g_environment.end() ? nullptr : found->second.c_str();
        },
        "LAPWING_VULKAN_LAYER_DISABLE");
}

TEST(LayerConfig, WithoutAFileTheLayerStaysOut) {
    EXPECT_FALSE(read({}).active());
    EXPECT_FALSE(read({{"LAPWING_OUT", ""}, {"LAPWING_LEVEL", "kernel"}}).active());
}

TEST(LayerConfig, WithoutAFileBadValuesAreNobodysBusiness) {
    EXPECT_EQ(read({{"LAPWING_LEVEL", "Kernel"}, {"LAPWING_EVERY", "x"}}).problem, "");
}

TEST(LayerConfig, AFileAloneTimesEveryStepAtKernelLevel) {
    const LayerConfig config = read({{"LAPWING_OUT", "a.pftrace"}});
    EXPECT_TRUE(config.active());
    EXPECT_EQ(config.out, "a.pftrace");
    EXPECT_EQ(config.level, Level::kKernel);
    EXPECT_EQ(config.arming.every, 1u);
}

TEST(LayerConfig, LevelAndStrideAreTaken) {
    const LayerConfig config = read({{"LAPWING_OUT", "a"}, {"LAPWING_LEVEL", "basic"}, {"LAPWING_EVERY", "64"}});
    EXPECT_TRUE(config.active());
    EXPECT_EQ(config.level, Level::kBasic);
    EXPECT_EQ(config.arming.every, 64u);
}

TEST(LayerConfig, StepsAndArmingAreTakenAndEmptyVariablesAreNone) {
    const LayerConfig config = read({{"LAPWING_OUT", "a"},
                                     {"LAPWING_STEP", "label:^decode"},
                                     {"LAPWING_SKIP", "3"},
                                     {"LAPWING_DURATION", "500ms"},
                                     {"LAPWING_BUDGET", "1%"}});
    EXPECT_EQ(config.step.kind, StepRule::Kind::kLabel);
    EXPECT_EQ(config.step.pattern, "^decode");
    EXPECT_EQ(config.step_text, "label:^decode");
    EXPECT_EQ(config.arming.skip, 3u);
    EXPECT_EQ(config.arming.duration_ns, 500'000'000);
    EXPECT_DOUBLE_EQ(config.arming.budget, 0.01);
    const LayerConfig none = read({{"LAPWING_OUT", "a"}, {"LAPWING_STEP", ""}, {"LAPWING_DURATION", ""}});
    EXPECT_TRUE(none.active());
    EXPECT_EQ(none.step_text, "sync");
}

TEST(LayerConfig, LevelOffIsNotActiveAndNoProblem) {
    const LayerConfig config = read({{"LAPWING_OUT", "a"}, {"LAPWING_LEVEL", "off"}});
    EXPECT_FALSE(config.active());
    EXPECT_EQ(config.problem, "");
}

TEST(LayerConfig, TheVariableThatDisablesTheLayerHasTheLastWord) {
    const LayerConfig config = read({{"LAPWING_OUT", "a"}, {"LAPWING_VULKAN_LAYER_DISABLE", "1"}});
    EXPECT_FALSE(config.active());
    EXPECT_EQ(config.problem, "");
    EXPECT_TRUE(read({{"LAPWING_OUT", "a"}, {"LAPWING_VULKAN_LAYER_DISABLE", ""}}).active());
}

TEST(LayerConfig, LevelLaneIsTaken) {
    const LayerConfig config = read({{"LAPWING_OUT", "a"}, {"LAPWING_LEVEL", "lane"}, {"LAPWING_BUDGET", "1%"}});
    EXPECT_TRUE(config.active());
    EXPECT_EQ(config.level, Level::kLane);
}

TEST(LayerConfig, WhatHasNoEffectIsRefused) {
    const LayerConfig budget = read({{"LAPWING_OUT", "a"}, {"LAPWING_LEVEL", "basic"}, {"LAPWING_BUDGET", "1%"}});
    EXPECT_EQ(budget.problem,
              "LAPWING_BUDGET: level basic times nothing that a budget could bound; use lane or kernel");
    const LayerConfig keep = read({{"LAPWING_OUT", "a"}, {"LAPWING_KEEP", "3"}});
    EXPECT_EQ(keep.problem, "LAPWING_KEEP bounds the number of files that LAPWING_MAX_BYTES makes: set both");
}

TEST(LayerConfig, TextsNameTheRange) {
    const LayerConfig level = read({{"LAPWING_OUT", "a"}, {"LAPWING_LEVEL", "max"}});
    EXPECT_EQ(level.problem, "LAPWING_LEVEL: level \"max\" is not known: use off, basic, lane or kernel");
    const LayerConfig compress = read({{"LAPWING_OUT", "a"}, {"LAPWING_COMPRESS", "yes"}});
    EXPECT_EQ(compress.problem, "LAPWING_COMPRESS: 'yes' is not 0 or 1");
    const LayerConfig keep = read({{"LAPWING_OUT", "a"}, {"LAPWING_KEEP", "-1"}});
    EXPECT_EQ(keep.problem, "LAPWING_KEEP: '-1' is not 0 or a whole number from 1 to 1000000");
}

TEST(LayerConfig, BadValuesTurnItOffAndNameThemselves) {
    for (const char* level : {"Kernel", "Lane", "all", " kernel"}) {
        const LayerConfig config = read({{"LAPWING_OUT", "a"}, {"LAPWING_LEVEL", level}});
        EXPECT_FALSE(config.active()) << level;
        EXPECT_NE(config.problem.find("LAPWING_LEVEL"), std::string::npos) << config.problem;
    }
    for (const auto& [name, value] : std::map<std::string, std::string>{{"LAPWING_STEP", "label:("},
                                                                        {"LAPWING_SKIP", "-1"},
                                                                        {"LAPWING_DURATION", "10"},
                                                                        {"LAPWING_BUDGET", "1"}}) {
        const LayerConfig config = read({{"LAPWING_OUT", "a"}, {name, value}});
        EXPECT_FALSE(config.active()) << name;
        EXPECT_EQ(config.problem.substr(0, name.size()), name);
    }
    for (const char* every : {"0", "-1", "1.5", "8x", "1000001", "99999999999999999999", " 8"}) {
        const LayerConfig config = read({{"LAPWING_OUT", "a"}, {"LAPWING_EVERY", every}});
        EXPECT_FALSE(config.active()) << every;
        EXPECT_NE(config.problem.find("LAPWING_EVERY"), std::string::npos) << config.problem;
        EXPECT_NE(config.problem.find(every), std::string::npos) << config.problem;
    }
}

}    // namespace
}    // namespace lapwing::attach::vulkan_layer
