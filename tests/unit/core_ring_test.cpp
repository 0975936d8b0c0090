// The device ring: slots, tokens, order, laps, levels.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "unit/sim_ring.hpp"

namespace lapwing::testing {
namespace {

struct Ring : SimRing {};

TEST_F(Ring, SpanHasItsTimeSiteStepAndTrack) {
    start({.ns_per_tick = 2});
    ring->set_step(41);
    span(7, 1000);
    ring->set_step(kNoStep);
    span(8, 500);
    const std::vector<SpanRecord> spans = harvest();
    ASSERT_EQ(spans.size(), 2u);
    EXPECT_EQ(spans[0].duration_ns, 2000);
    EXPECT_EQ(spans[0].site, 7u);
    EXPECT_EQ(spans[0].step, 41u);
    EXPECT_EQ(spans[0].track, 1u);
    EXPECT_EQ(spans[1].duration_ns, 1000);
    EXPECT_EQ(spans[1].step, kNoStep);
    EXPECT_EQ(spans[1].begin_ns - spans[0].begin_ns, 2200) << "one more mark between them";
    EXPECT_EQ(ring->stats().stamps, 4u);
}

// B1: tracy#620, #619. B16: tenstorrent/tracy#40.
TEST_F(Ring, FullRingDropsTheNewestAndCountsIt) {
    start({}, {.initial_spans = 8, .max_spans = 8});
    for (SiteId site = 0; site < 20; ++site) span(site);
    EXPECT_EQ(lost(LossReason::kRingFull), 12u);
    EXPECT_EQ(sim->marks(), 16u) << "a dropped span costs the device nothing";
    const std::vector<SpanRecord> spans = harvest();
    ASSERT_EQ(spans.size(), 8u);
    for (SiteId i = 0; i < 8; ++i) EXPECT_EQ(spans[i].site, i);
}

// B12: wgpu-profiler#19, #20 crashed on reading a dropped frame.
TEST_F(Ring, DroppedSpansLeaveAGapAndTheRingGoesOn) {
    start({}, {.initial_spans = 8, .max_spans = 8});
    for (SiteId site = 0; site < 10; ++site) span(site);
    EXPECT_EQ(harvest().size(), 8u);
    for (SiteId site = 10; site < 14; ++site) span(site);
    const std::vector<SpanRecord> spans = harvest();
    ASSERT_EQ(spans.size(), 4u);
    EXPECT_EQ(spans[0].site, 10u);
    EXPECT_EQ(lost(LossReason::kRingFull), 2u);
}

TEST_F(Ring, GrowsInHarvestUpToItsCap) {
    start({}, {.initial_spans = 8, .max_spans = 32});
    EXPECT_EQ(ring->stats().capacity, 8u);
    for (const uint32_t grown : {16u, 32u, 32u}) {
        const uint32_t fits = ring->stats().capacity;
        for (SiteId site = 0; site < fits; ++site) span(site);
        EXPECT_EQ(harvest().size(), fits);
        EXPECT_EQ(ring->stats().capacity, grown);
    }
    EXPECT_EQ(ring->stats().lost.total(), 0u);
}

TEST_F(Ring, DoesNotGrowWhereTheBackendHasNoRoom) {
    start({.max_stamps = 16}, {.initial_spans = 8, .max_spans = 32});
    for (SiteId site = 0; site < 8; ++site) span(site);
    EXPECT_EQ(harvest().size(), 8u);
    EXPECT_EQ(ring->stats().capacity, 8u);
}

TEST_F(Ring, LongOpenSpanDoesNotBlockTheOthers) {
    start({}, {.initial_spans = 8, .max_spans = 8});
    const DeviceToken outer = ring->begin(0, 99);
    for (SiteId site = 0; site < 100; ++site) {
        span(site);
        ASSERT_EQ(harvest().size(), 1u) << site;
    }
    ring->end(0, outer);
    const std::vector<SpanRecord> spans = harvest();
    ASSERT_EQ(spans.size(), 1u);
    EXPECT_EQ(spans[0].site, 99u);
    EXPECT_EQ(ring->stats().lost.total(), 0u);
}

TEST_F(Ring, ManyLongOpenSpansInARowDoNotStickTheRing) {
    start({}, {.initial_spans = 64, .max_spans = 64});
    for (SiteId site = 0; site < 8; ++site) static_cast<void>(ring->begin(0, site));
    for (SiteId site = 100; site < 400; ++site) {
        span(site);
        static_cast<void>(harvest());
    }
    // One is dropped each time the cursor comes round to the eight: it moves on by one and finds the next free slot.
    EXPECT_LE(lost(LossReason::kRingFull), 6u);
    EXPECT_GE(ring->stats().recorded, 294u);
}

TEST_F(Ring, StaleDoubleAndForeignTokensAreRefusedAndCounted) {
    start({}, {}, 2);
    const DeviceToken token = ring->begin(0, 1);
    ring->end(0, token);
    ring->end(0, token);
    EXPECT_EQ(ring->stats().refused_tokens, 1u) << "double";
    EXPECT_EQ(harvest().size(), 1u);
    ring->end(0, token);
    EXPECT_EQ(ring->stats().refused_tokens, 2u) << "stale";
    ring->end(0, DeviceToken{123'456'789, 1});
    EXPECT_EQ(ring->stats().refused_tokens, 3u) << "foreign";
    DeviceRing<SimBackend> other(*sim, {.first_stamp = 1u << 18});
    ASSERT_TRUE(other.add_queue({5}, 9).ok());
    const DeviceToken mine = ring->begin(0, 2);
    const DeviceToken theirs = other.begin(0, 2);
    other.end(0, mine);
    EXPECT_EQ(other.stats().refused_tokens, 1u) << "another ring's";
    other.end(0, theirs);
    ring->end(0, mine);
    EXPECT_EQ(harvest().size(), 1u);
    EXPECT_EQ(ring->stats().lost.total(), 0u) << "refused tokens lose no span";
}

// B3: tracy#1027: a zone that begins in one command buffer may end in another of its queue, and in no other queue.
TEST_F(Ring, SpanEndsOnItsOwnQueueOnly) {
    start({}, {}, 2);
    const DeviceToken token = ring->begin(0, 1);
    ring->end(1, token);
    EXPECT_EQ(ring->stats().refused_tokens, 1u);
    EXPECT_TRUE(harvest().empty());
    ring->end(0, token);
    EXPECT_EQ(harvest().size(), 1u);
}

// B20: TornadoVM#1024, hip-ep#273.
TEST_F(Ring, HarvestAsksOnceWhereNothingIsReadyAndStopsThere) {
    start({.ready_after_polls = 1'000'000});
    for (SiteId site = 0; site < 100; ++site) span(site);
    for (int i = 0; i < 10; ++i) EXPECT_TRUE(harvest().empty());
    EXPECT_EQ(sim->polls(), 10u);
    EXPECT_EQ(sim->slots_polled(), 10u) << "one slot a call: the end stamp of the oldest span";
    EXPECT_EQ(ring->stats().in_flight, 100u);
}

TEST_F(Ring, HarvestStopsAtTheFirstPendingSpan) {
    start();
    sim->script(SimFault::kDelayed, 1, 5, 3);    // the end of the third span
    for (SiteId site = 1; site <= 4; ++site) span(site);
    EXPECT_EQ(harvest().size(), 2u);
    std::vector<SpanRecord> rest;
    for (int i = 0; i < 5 && rest.empty(); ++i) rest = harvest();
    ASSERT_EQ(rest.size(), 2u);
    EXPECT_EQ(rest[0].site, 3u);
    EXPECT_EQ(rest[1].site, 4u);
}

TEST_F(Ring, SpanWhoseBeginIsStillPendingWaitsToo) {
    start();
    sim->script(SimFault::kDelayed, 1, 0, 6);
    span(1);
    EXPECT_TRUE(harvest().empty());
    std::vector<SpanRecord> spans;
    for (int i = 0; i < 6 && spans.empty(); ++i) spans = harvest();
    EXPECT_EQ(spans.size(), 1u);
}

TEST_F(Ring, HarvestFillsWhatItIsGivenAndGoesOnLater) {
    start();
    for (SiteId site = 0; site < 200; ++site) span(site);
    EXPECT_EQ(harvest(0).size(), 0u);
    SiteId next = 0;
    for (const std::size_t room : {1u, 63u, 64u, 65u, 7u}) {
        const std::vector<SpanRecord> spans = harvest(room);
        ASSERT_EQ(spans.size(), room);
        for (const SpanRecord& record : spans) EXPECT_EQ(record.site, next++);
    }
    EXPECT_EQ(harvest().size(), 0u);
}

TEST_F(Ring, LapsAddUpToTheTimeBetweenTheirEnds) {
    start({.ns_per_tick = 52.08});
    const LapChain chain = ring->lap_begin(0);
    std::mt19937 random{3};
    uint64_t total_ticks = 0;
    for (SiteId site = 1; site <= 100; ++site) {
        const uint64_t ticks = random() % 5000;
        sim->advance(ticks);
        total_ticks += ticks + 100;
        ring->lap(0, chain, site);
    }
    EXPECT_EQ(ring->stats().stamps, 101u);
    const std::vector<SpanRecord> spans = harvest();
    ASSERT_EQ(spans.size(), 100u);
    int64_t sum = 0;
    for (std::size_t i = 0; i < spans.size(); ++i) {
        sum += spans[i].duration_ns;
        if (i > 0) {
            EXPECT_EQ(spans[i].begin_ns, spans[i - 1].begin_ns + spans[i - 1].duration_ns);
        }
    }
    EXPECT_NEAR(static_cast<double>(sum), static_cast<double>(total_ticks) * 52.08, 1.0);
    EXPECT_EQ(ring->stats().begun, 100u);
}

TEST_F(Ring, LapsAndSpansShareAQueue) {
    start();
    const LapChain chain = ring->lap_begin(0);
    span(10, 300);
    sim->advance(50);
    ring->lap(0, chain, 1);
    const DeviceToken token = ring->begin(0, 11);
    ring->lap(0, chain, 2);
    ring->end(0, token);
    const std::vector<SpanRecord> spans = harvest();
    ASSERT_EQ(spans.size(), 4u);
    EXPECT_EQ(spans[0].duration_ns, 300);
    EXPECT_EQ(spans[1].duration_ns, 100 + 300 + 50 + 100);
    EXPECT_EQ(spans[2].duration_ns, 200);
    EXPECT_EQ(spans[3].site, 11u);
}

TEST_F(Ring, ChainThatIsOverLosesItsLapsAsStale) {
    start();
    const LapChain first = ring->lap_begin(0);
    const LapChain second = ring->lap_begin(0);
    ring->lap(0, first, 1);
    ring->lap(0, second, 2);
    ring->lap(0, LapChain{}, 3);
    const std::vector<SpanRecord> spans = harvest();
    ASSERT_EQ(spans.size(), 1u);
    EXPECT_EQ(spans[0].site, 2u);
    EXPECT_EQ(lost(LossReason::kStale), 1u);
}

TEST_F(Ring, LapAfterADroppedOneIsLostTooAndTheChainGoesOn) {
    start({}, {.initial_spans = 8, .max_spans = 8});
    const LapChain chain = ring->lap_begin(0);
    for (SiteId site = 1; site <= 8; ++site) ring->lap(0, chain, site);    // the eighth finds the ring full
    EXPECT_EQ(lost(LossReason::kRingFull), 1u);
    EXPECT_EQ(harvest().size(), 7u);
    ring->lap(0, chain, 9);    // it began at the stamp that was never taken
    EXPECT_EQ(lost(LossReason::kRingFull), 2u);
    sim->advance(400);
    ring->lap(0, chain, 10);
    const std::vector<SpanRecord> spans = harvest();
    ASSERT_EQ(spans.size(), 1u);
    EXPECT_EQ(spans[0].site, 10u);
    EXPECT_EQ(spans[0].duration_ns, 500);
}

TEST_F(Ring, OffBeginsNothingAndReadsNoClock) {
    start();
    set_level(Level::kOff);
    span(1);
    const LapChain chain = ring->lap_begin(0, Level::kLane);
    ring->lap(0, chain, 2, Level::kLane);
    EXPECT_EQ(sim->marks(), 0u);
    EXPECT_EQ(ring->stats().begun, 0u);
}

TEST_F(Ring, LevelLoweredWhileSpansAreOpenLosesNothingInSilence) {
    start();
    const DeviceToken closed_late = ring->begin(0, 1);
    static_cast<void>(ring->begin(0, 2));    // its end never comes
    const LapChain chain = ring->lap_begin(0);
    set_level(Level::kBasic);
    ring->end(0, closed_late);
    ring->lap(0, chain, 3);
    EXPECT_EQ(harvest().size(), 1u);
    set_level(Level::kKernel);
    ring->lap(0, chain, 4);    // would contain what ran while the level was low
    EXPECT_EQ(lost(LossReason::kAbandoned), 1u);
    sim->advance(100);
    ring->lap(0, chain, 5);
    const std::vector<SpanRecord> spans = harvest();
    ASSERT_EQ(spans.size(), 1u);
    EXPECT_EQ(spans[0].site, 5u);
    EXPECT_EQ(spans[0].duration_ns, 200);
    ring->reclaim(0);
    EXPECT_EQ(lost(LossReason::kAbandoned), 2u);
}

TEST_F(Ring, SpansThatNeverEndAreReclaimedByAge) {
    start({}, {.initial_spans = 8, .max_spans = 8, .abandon_after_s = 10});
    for (SiteId site = 0; site < 8; ++site) static_cast<void>(ring->begin(0, site));
    span(100);
    EXPECT_EQ(lost(LossReason::kRingFull), 1u);
    // Harvests find nothing, time passes.
    for (int i = 0; i < 600; ++i) {
        sim->advance(100'000'000);
        EXPECT_TRUE(harvest().empty());
    }
    span(101);
    EXPECT_EQ(lost(LossReason::kAbandoned), 8u);
    const std::vector<SpanRecord> spans = harvest();
    ASSERT_EQ(spans.size(), 1u);
    EXPECT_EQ(spans[0].site, 101u);
}

TEST_F(Ring, QueuesBeyondTheLimitAreRefusedWithTheRemedy) {
    start({}, {.max_queues = 1});
    const Result<uint32_t> second = ring->add_queue({1}, 2);
    ASSERT_FALSE(second.ok());
    EXPECT_EQ(second.error().code, Errc::kExhausted);
    EXPECT_NE(second.error().message.find("max_queues"), std::string::npos);
}

TEST_F(Ring, BracketsAlignTheDeviceWithoutItsHelp) {
    start({.start_ticks = 77'000'000'000, .calibrated = false, .host_start_ns = 3'000'000'000});
    // host = device ticks - 74 000 000 000
    for (int i = 0; i < 5; ++i) {
        span(1, 1000);
        const std::vector<SpanRecord> spans = harvest();
        ASSERT_EQ(spans.size(), 1u);
        const int64_t truth = static_cast<int64_t>(sim->device_ticks()) - 1000 - 74'000'000'000;
        const int64_t uncertainty = ring->info(0).clock.uncertainty_ns.value();
        EXPECT_LE(std::abs(spans[0].begin_ns - truth), uncertainty);
        EXPECT_LE(uncertainty, 200);
    }
    EXPECT_EQ(ring->calibrate().error().code, Errc::kUnsupported);
}

TEST_F(Ring, LapsAlignTheDeviceToo) {
    start({.start_ticks = 77'000'000'000, .calibrated = false, .host_start_ns = 3'000'000'000});
    sim->advance(1'000'000'000);    // so that the ring's own lifetime is no narrow bracket
    const LapChain chain = ring->lap_begin(0);
    for (SiteId site = 0; site < 10; ++site) {
        sim->advance(50'000);
        ring->lap(0, chain, site);
        const std::vector<SpanRecord> spans = harvest();
        ASSERT_EQ(spans.size(), 1u);
        const int64_t truth = static_cast<int64_t>(sim->device_ticks()) - 74'000'000'000;
        const int64_t end = spans[0].begin_ns + spans[0].duration_ns;
        EXPECT_LE(std::abs(end - truth), ring->info(0).clock.uncertainty_ns.value());
    }
    EXPECT_LE(ring->info(0).clock.uncertainty_ns.value(), 200);
}

// Promise 3: constant memory, and flat cost; here that a ring goes round many times without losing count.
TEST_F(Ring, RandomUseKeepsEveryCount) {
    std::mt19937 random{11};
    start({}, {.initial_spans = 8, .max_spans = 64, .zeros_to_degrade = 0}, 3);
    std::vector<std::vector<DeviceToken>> open(3);
    std::vector<LapChain> chains(3);
    uint64_t harvested = 0;
    for (int i = 0; i < 100'000; ++i) {
        const auto queue = static_cast<uint32_t>(random() % 3);
        switch (random() % 12) {
            case 0:
            case 1:
            case 2:
                open[queue].push_back(ring->begin(queue, 1));
                break;
            case 3:
            case 4:
            case 5:
                if (open[queue].empty()) break;
                std::swap(open[queue][random() % open[queue].size()], open[queue].back());
                ring->end(queue, open[queue].back());
                if (random() % 8 != 0) open[queue].pop_back();    // else: used again
                break;
            case 6:
                harvested += harvest(random() % 100).size();
                break;
            case 7:
                chains[queue] = ring->lap_begin(queue);
                break;
            case 8:
            case 9:
                ring->lap(queue, chains[queue], 2);
                break;
            case 10:
                // What never completes holds up its queue until all is abandoned: rare.
                if (const auto fault = static_cast<SimFault>(random() % 8);
                    fault != SimFault::kNeverCompletes || random() % 50 == 0)
                    sim->script(fault, 1, random() % 10, 1 + random() % 300);
                break;
            default:
                sim->set_capturing({queue}, random() % 4 == 0);
                if (random() % 50 == 0) ring->reclaim(queue);
        }
        if (i % 1000 == 0) {
            const DeviceRingStats stats = ring->stats();
            ASSERT_EQ(stats.begun, stats.recorded + stats.lost.total() + stats.in_flight) << i;
            ASSERT_EQ(stats.recorded, harvested);
            if (i % 2000 == 0) ring->abandon_all();
        }
    }
    EXPECT_GT(harvested, 1000u);
}

}    // namespace
}    // namespace lapwing::testing
