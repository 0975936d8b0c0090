// What a span costs that cannot be seen in its record: clock reads and allocations, counted.
#include <gtest/gtest.h>

#include <cstdint>

#include "lapwing/host_spans.hpp"
#include "lapwing/span.hpp"
#include "unit/allocation_counter.hpp"
#include "unit/host_span_sink.hpp"

namespace lapwing {
namespace {

struct CountingTick {
    static inline uint64_t reads = 0;
    static uint64_t now() noexcept { return ++reads + 1'000'000; }
};

class HostSpanCost : public testing::Test {
protected:
    void TearDown() override { set_level(Level::kOff); }

    const SiteId site_ = host_site("counted");
    HostSite lazy_{"lazy"};

    // 10 000 spans and 10 000 laps, by number and by lazy name.
    void run() {
        BasicLap<CountingTick> lap;
        for (int i = 0; i < 5'000; ++i) {
            { const BasicSpan<CountingTick> span(site_); }
            { const BasicSpan<CountingTick> span(lazy_); }
            lap.lap(site_);
            lap.lap(lazy_);
        }
    }
};

TEST_F(HostSpanCost, OffReadsNoClockAndAllocatesNothing) {
    set_level(Level::kOff);
    const uint64_t allocations = test::allocations();
    const uint64_t reads = CountingTick::reads;
    run();
    EXPECT_EQ(CountingTick::reads - reads, 0u);
    EXPECT_EQ(test::allocations() - allocations, 0u);
}

TEST_F(HostSpanCost, OnReadsTheClockTwiceASpanAndOnceALapAndAllocatesNothingOnceStarted) {
    set_level(Level::kBasic);
    {
        const BasicSpan<CountingTick> first(site_);
        const BasicSpan<CountingTick> named(lazy_);
    }
    const uint64_t allocations = test::allocations();
    const uint64_t reads = CountingTick::reads;
    run();
    EXPECT_EQ(CountingTick::reads - reads, 2 * 10'000u + 10'000u + 1u);
    EXPECT_EQ(test::allocations() - allocations, 0u);
}

TEST_F(HostSpanCost, FullRingIsDroppedIntoWithoutAllocating) {
    set_level(Level::kBasic);
    { const BasicSpan<CountingTick> first(site_); }
    { const BasicSpan<CountingTick> named(lazy_); }
    const uint64_t allocations = test::allocations();
    for (int i = 0; i < 20; ++i) run();    // 400 000 spans; a ring holds 253 890
    EXPECT_EQ(test::allocations() - allocations, 0u);
    test::KeepingSink sink;
    HostSpanCollector collector(sink);
    ASSERT_TRUE(collector.drain().ok());
    EXPECT_GT(collector.lost()[LossReason::kRingFull], 100'000u);
}

}    // namespace
}    // namespace lapwing
