#include "attach/vulkan_layer/config.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace lapwing::vulkan_layer {
namespace {

std::map<std::string, std::string> g_environment;

LayerConfig read(std::map<std::string, std::string> environment) {
    g_environment = std::move(environment);
    return read_config([](const char* name) -> const char* {
        const auto found = g_environment.find(name);
        return found == g_environment.end() ? nullptr : found->second.c_str();
    });
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
    EXPECT_EQ(config.every, 1u);
}

TEST(LayerConfig, LevelAndStrideAreTaken) {
    const LayerConfig config = read({{"LAPWING_OUT", "a"}, {"LAPWING_LEVEL", "basic"}, {"LAPWING_EVERY", "64"}});
    EXPECT_TRUE(config.active());
    EXPECT_EQ(config.level, Level::kBasic);
    EXPECT_EQ(config.every, 64u);
}

TEST(LayerConfig, LevelOffIsNotActiveAndNoProblem) {
    const LayerConfig config = read({{"LAPWING_OUT", "a"}, {"LAPWING_LEVEL", "off"}});
    EXPECT_FALSE(config.active());
    EXPECT_EQ(config.problem, "");
}

TEST(LayerConfig, BadValuesTurnItOffAndNameThemselves) {
    for (const char* level : {"Kernel", "lane", "all", " kernel"}) {
        const LayerConfig config = read({{"LAPWING_OUT", "a"}, {"LAPWING_LEVEL", level}});
        EXPECT_FALSE(config.active()) << level;
        EXPECT_NE(config.problem.find("LAPWING_LEVEL"), std::string::npos) << config.problem;
    }
    for (const char* every : {"0", "-1", "1.5", "8x", "1000001", "99999999999999999999", " 8"}) {
        const LayerConfig config = read({{"LAPWING_OUT", "a"}, {"LAPWING_EVERY", every}});
        EXPECT_FALSE(config.active()) << every;
        EXPECT_NE(config.problem.find("LAPWING_EVERY"), std::string::npos) << config.problem;
        EXPECT_NE(config.problem.find(every), std::string::npos) << config.problem;
    }
}

}    // namespace
}    // namespace lapwing::vulkan_layer
