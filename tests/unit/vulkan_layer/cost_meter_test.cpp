#include "attach/session/cost_meter.hpp"

#include <gtest/gtest.h>
#include <time.h>

#include <string>
#include <thread>

namespace lapwing::attach::vulkan_layer {
namespace {

TEST(LayerCostMeter, FirstCallOfAThreadCountsOnce) {
    Counters counters;
    int64_t at_most_ns = 0;
    std::thread([&] {
        const int64_t before_ns = host_now_ns();
        {
            EXPECT_TRUE(CostMeter::is_due());
            const CostMeter meter(counters, CostMeter::Sampled{});
            constexpr timespec kSetUp{0, 2'000'000};
            nanosleep(&kSetUp, nullptr);
        }
        at_most_ns = host_now_ns() - before_ns;
    }).join();
    EXPECT_GE(Counters::read(counters.hook_ns), 2'000'000u);
    EXPECT_LE(Counters::read(counters.hook_ns), static_cast<uint64_t>(at_most_ns));
}

TEST(LayerCostMeter, TheFirst31CallsOfAThreadAreMeasuredAndThenOneIn31) {
    Counters counters;
    std::string due;
    std::thread([&] {
        for (int i = 0; i < 5 * 31; ++i) {
            const bool now = CostMeter::is_due();
            due += now ? 'x' : '.';
            if (now) const CostMeter meter(counters, CostMeter::Sampled{});
        }
    }).join();
    const std::string rest(30, '.');
    EXPECT_EQ(due, std::string(31, 'x') + rest + 'x' + rest + 'x' + rest + 'x' + rest + 'x');
}

TEST(LayerCostMeter, ACallThatWasInterruptedCountsForItselfAlone) {
    Counters counters;
    std::thread([&] {
        for (int measured = 0; measured < 32;) {
            if (!CostMeter::is_due()) continue;
            const CostMeter meter(counters, CostMeter::Sampled{});
            constexpr timespec kInterruption{0, 10'000'000};
            if (++measured == 32) nanosleep(&kInterruption, nullptr);
        }
    }).join();
    EXPECT_GE(Counters::read(counters.hook_ns), 10'000'000u);
    EXPECT_LT(Counters::read(counters.hook_ns), 310'000'000u) << "not for all 31";
}

}    // namespace
}    // namespace lapwing::attach::vulkan_layer
