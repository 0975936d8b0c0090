#include "attach/session/queue_clock.hpp"

#include <gtest/gtest.h>

namespace lapwing::attach::vulkan_layer {
namespace {

constexpr int64_t kUs = 1000;

QueueClock nanosecond_clock() {
    Caps caps;
    caps.valid_bits = 64;
    return QueueClock(caps, TickScale());
}

TEST(LayerQueueClock, WorkThatFollowsOnTheDeviceIsNotPlacedOverWhatWasBefore) {
    QueueClock clock = nanosecond_clock();
    // Two submits in flight at once: the first is seen complete late, the second then tells that the clock was wrong.
    clock.bracket(0, 100 * kUs, 0, 1000 * kUs);
    const int64_t first_end = clock.to_host_ns(100 * kUs);
    clock.bracket(100 * kUs, 200 * kUs, 10 * kUs, 250 * kUs);
    EXPECT_GE(clock.to_host_ns(100 * kUs), first_end);
    EXPECT_EQ(clock.to_host_ns(200 * kUs) - clock.to_host_ns(100 * kUs), 100 * kUs);
    // The second lay within [100 us, 250 us] on the host, and the uncertainty admits it.
    ASSERT_TRUE(clock.uncertainty_ns().has_value());
    EXPECT_LE(clock.to_host_ns(200 * kUs) - *clock.uncertainty_ns(), 250 * kUs);
}

TEST(LayerQueueClock, AnIdleMomentMakesUpForTheShift) {
    QueueClock clock = nanosecond_clock();
    clock.bracket(0, 100 * kUs, 0, 1000 * kUs);
    clock.bracket(100 * kUs, 200 * kUs, 10 * kUs, 250 * kUs);
    clock.bracket(5000 * kUs, 5100 * kUs, 5000 * kUs, 5130 * kUs);
    EXPECT_LE(clock.to_host_ns(5100 * kUs), 5130 * kUs);
    EXPECT_LE(*clock.uncertainty_ns(), 25 * kUs);
}

TEST(LayerQueueClock, AnchoredStampsAreNotShifted) {
    QueueClock clock = nanosecond_clock();
    clock.anchor({.device = Ticks{1000}, .host = HostNs{5000}, .uncertainty_ns = 20}, 5000);
    clock.bracket(2000, 3000, 5500, 9000);
    clock.bracket(3000, 4000, 5500, 9000);
    EXPECT_EQ(clock.to_host_ns(3000), 7000);
}

}    // namespace
}    // namespace lapwing::attach::vulkan_layer
