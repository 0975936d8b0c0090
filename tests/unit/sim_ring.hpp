// A DeviceRing on scripted time, as the ring's tests use it.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "lapwing/device_ring.hpp"
#include "lapwing/level.hpp"
#include "lapwing/sim_backend.hpp"

namespace lapwing::testing {

struct SimRing : ::testing::Test {
    void SetUp() override { set_level(Level::kKernel); }
    void TearDown() override {
        if (ring != nullptr) expect_all_accounted();
        set_level(Level::kOff);
    }

    void start(const SimOptions& sim_options = {}, DeviceRingOptions ring_options = {}, uint32_t queues = 1) {
        ring.reset();
        sim = std::make_unique<SimBackend>(sim_options);
        ring_options.now = SimBackend::host_clock;
        ring_options.now_context = sim.get();
        ring = std::make_unique<DeviceRing<SimBackend>>(*sim, ring_options);
        for (uint32_t i = 0; i < queues; ++i) {
            const Result<uint32_t> queue = ring->add_queue({i}, static_cast<TrackId>(i + 1));
            ASSERT_TRUE(queue.ok()) << queue.error().message;
        }
    }
    // A span of `ticks` device ticks, its second mark included.
    void span(SiteId site, uint64_t ticks = 1000, uint32_t queue = 0) {
        const DeviceToken token = ring->begin(queue, site);
        sim->advance(ticks - 100);
        ring->end(queue, token);
    }
    std::vector<SpanRecord> harvest(std::size_t room = 4096) {
        std::vector<SpanRecord> out(room);
        out.resize(ring->harvest(out));
        return out;
    }
    [[nodiscard]] uint64_t lost(LossReason reason) const { return ring->stats().lost[reason]; }
    void expect_all_accounted() {
        const DeviceRingStats stats = ring->stats();
        EXPECT_EQ(stats.begun, stats.recorded + stats.lost.total() + stats.in_flight);
        ring->abandon_all();
        EXPECT_EQ(ring->stats().in_flight, 0u);
        EXPECT_EQ(ring->stats().begun, ring->stats().recorded + ring->stats().lost.total());
    }

    std::unique_ptr<SimBackend> sim;
    std::unique_ptr<DeviceRing<SimBackend>> ring;
};

}    // namespace lapwing::testing
