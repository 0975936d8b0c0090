#include "attach/vulkan_layer/cost_meter.hpp"

#include <gtest/gtest.h>
#include <time.h>

#include <thread>

namespace lapwing::vulkan_layer {
namespace {

TEST(LayerCostMeter, FirstCallOfAThreadCountsOnce) {
    Counters counters;
    int64_t at_most_ns = 0;
    std::thread([&] {
        const int64_t before_ns = host_now_ns();
        {
            const CostMeter meter(counters, CostMeter::Sampled{});
            constexpr timespec kSetUp{0, 2'000'000};
            nanosleep(&kSetUp, nullptr);
        }
        at_most_ns = host_now_ns() - before_ns;
    }).join();
    EXPECT_GE(Counters::read(counters.hook_ns), 2'000'000u);
    EXPECT_LE(Counters::read(counters.hook_ns), static_cast<uint64_t>(at_most_ns));
}

}    // namespace
}    // namespace lapwing::vulkan_layer
