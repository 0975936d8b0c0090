// Whole nanoseconds out of float milliseconds: rounding, origins, order.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <random>
#include <vector>

#include "unit/cuda_rig.hpp"

namespace lapwing::testing {
namespace {

constexpr uint64_t kUs = 1'000;
constexpr uint64_t kMs = 1'000'000;
constexpr uint64_t kSecond = 1'000'000'000;
constexpr uint64_t kHour = 3'600 * kSecond;

class CudaClock : public ::testing::Test {
protected:
    CudaClock() : stream(rig.fake.make_stream(rig.context)), queue(rig.queue_on(stream)) {
        EXPECT_TRUE(rig.backend->reserve(0, 4096));
    }
    void TearDown() override { rig.expect_clean_end(); }
    uint64_t mark_and_poll(uint32_t slot = 0) {
        EXPECT_TRUE(rig.backend->mark(queue, slot));
        rig.fake.advance(1);
        const Stamp stamp = rig.poll(slot);
        EXPECT_EQ(stamp.state, StampState::kReady);
        return stamp.ticks.value;
    }
    [[nodiscard]] std::vector<uint64_t> truth() const { return rig.fake.stamps_on(stream); }

    CudaRig rig;
    CUstream_st* stream;
    CudaBackend::Queue queue;
};

TEST_F(CudaClock, StampsLessThanFourMillisecondsApartAddUpToTheNanosecond) {
    std::vector<uint64_t> ticks;
    std::mt19937_64 random(1);
    for (int i = 0; i < 20'000; ++i) {
        ticks.push_back(mark_and_poll());
        rig.fake.advance(random() % (3'900 * kUs));
    }
    const std::vector<uint64_t> real = truth();
    ASSERT_EQ(real.size(), ticks.size());
    ASSERT_GT(real.back() - real.front(), 30 * kSecond);
    for (std::size_t i = 0; i < ticks.size(); ++i) ASSERT_EQ(ticks[i] - ticks[0], real[i] - real[0]) << i;
    EXPECT_EQ(rig.backend->stats().coarse_origins, 0u);
}

// seed-behaviour: 61 ns at a second, 1 us at ten, from one origin.
TEST_F(CudaClock, SpansAreWithinSixteenNanosecondsAtAnyUptime) {
    for (const uint64_t uptime : {kSecond, 10 * kSecond, kHour, 24 * kHour, 24 * 90 * kHour}) {
        rig.fake.advance(uptime);
        mark_and_poll();    // somebody is at work: the first link is as long as the pause was
        std::vector<uint64_t> ticks{mark_and_poll()};
        for (const uint64_t gap :
             {7 * kUs + 3, 333 * kUs + 1, 9 * kMs + 7, 33 * kMs + 123, 119 * kMs + 456, 127 * kMs}) {
            rig.fake.advance(gap);
            ticks.push_back(mark_and_poll());
        }
        const std::vector<uint64_t> real = truth();
        const std::size_t first = real.size() - ticks.size();
        for (std::size_t i = 1; i < ticks.size(); ++i) {
            const auto measured = static_cast<int64_t>(ticks[i] - ticks[i - 1]);
            const auto expected = static_cast<int64_t>(real[first + i] - real[first + i - 1]);
            EXPECT_LE(std::abs(measured - expected), 16) << "at " << uptime << " gap " << i;
        }
    }
    EXPECT_GT(rig.backend->stats().coarse_origins, 0u);
}

TEST_F(CudaClock, IdleTimeWithPollsNeedsNoStampsToStayExact) {
    const uint64_t first = mark_and_poll();
    uint32_t none = 1;
    Stamp out;
    for (int i = 0; i < 12'000; ++i) {    // ten minutes
        rig.fake.advance(50 * kMs);
        rig.backend->poll({&none, 0}, {&out, 0});
    }
    const uint64_t last = mark_and_poll();
    const std::vector<uint64_t> real = truth();
    EXPECT_EQ(rig.backend->stats().coarse_origins, 0u);
    EXPECT_GT(rig.backend->stats().heartbeats, 1'000u);
    // 6000 links, each rounded by 4 ns at most, half of them either way.
    EXPECT_LE(std::abs(static_cast<int64_t>((last - first) - (real[1] - real[0]))), 6'000 * 4);
}

TEST_F(CudaClock, StampsPolledLongAfterwardsAreMeasuredFromTheirOwnTime) {
    CUstream_st* const other = rig.fake.make_stream(rig.context);
    CudaBackend::Queue late = rig.queue_on(other);
    for (uint32_t slot = 1000; slot < 1100; ++slot) {
        ASSERT_TRUE(rig.backend->mark(late, slot));
        rig.fake.advance(kMs);
        mark_and_poll();
        rig.fake.advance(kMs);
    }
    for (int i = 0; i < 500; ++i) {
        rig.fake.advance(3 * kMs);
        mark_and_poll();
    }
    std::vector<uint64_t> ticks;
    for (uint32_t slot = 1000; slot < 1100; ++slot) ticks.push_back(rig.poll(slot).ticks.value);
    const std::vector<uint64_t> real = rig.fake.stamps_on(other);
    for (std::size_t i = 1; i < ticks.size(); ++i) EXPECT_EQ(ticks[i] - ticks[0], real[i] - real[0]) << i;
}

TEST_F(CudaClock, StampsOlderThanTheWholeChainAreStillPlaced) {
    ASSERT_TRUE(rig.backend->mark(queue, 1));
    ASSERT_TRUE(rig.backend->mark(queue, 2));
    CUstream_st* const other = rig.fake.make_stream(rig.context);
    CudaBackend::Queue busy = rig.queue_on(other);
    for (int i = 0; i < 3'000; ++i) {
        rig.fake.advance(5 * kMs);
        ASSERT_TRUE(rig.backend->mark(busy, 3));
        rig.fake.advance(1);
        ASSERT_EQ(rig.poll(3).state, StampState::kReady);
    }
    EXPECT_GT(rig.backend->stats().origins, 2'000u);
    EXPECT_LT(rig.backend->stats().events_held, 4096u + 1100u) << "the chain grows without end";
    const Stamp first = rig.poll(1);
    const Stamp second = rig.poll(2);
    ASSERT_EQ(first.state, StampState::kReady);
    ASSERT_EQ(second.state, StampState::kReady);
    EXPECT_LE(first.ticks.value, second.ticks.value);
    EXPECT_LE(second.ticks.value - first.ticks.value, 2 * kUs);
}

// Stamps of several streams, polled in any order, after pauses of any length.
TEST_F(CudaClock, TicksNeverRunBackwardsByRounding) {
    for (uint64_t seed = 0; seed < 40; ++seed) {
        std::mt19937_64 random(seed);
        CUstream_st* streams[3] = {rig.fake.make_stream(rig.context), rig.fake.make_stream(rig.context),
                                   rig.fake.make_stream(rig.context)};
        CudaBackend::Queue queues[3] = {rig.queue_on(streams[0]), rig.queue_on(streams[1]), rig.queue_on(streams[2])};
        std::vector<uint32_t> slots;
        std::vector<uint32_t> of_stream[3];
        for (uint32_t slot = 0; slot < 200; ++slot) {
            const std::size_t which = random() % 3;
            ASSERT_TRUE(rig.backend->mark(queues[which], slot));
            of_stream[which].push_back(slot);
            slots.push_back(slot);
            const uint64_t gaps[] = {0, 3, 40, 700 * kUs, 30 * kMs, 2 * kSecond, 5 * kHour};
            rig.fake.advance(random() % (gaps[random() % 7] + 1));
        }
        rig.fake.advance(kUs);
        std::shuffle(slots.begin(), slots.end(), random);
        std::vector<std::pair<uint64_t, uint64_t>> seen;    // true time, ticks
        std::vector<uint64_t> ticks(200);
        for (const uint32_t slot : slots) ticks[slot] = rig.poll(slot).ticks.value;
        for (std::size_t which = 0; which < 3; ++which) {
            const std::vector<uint64_t> real = rig.fake.stamps_on(streams[which]);
            for (std::size_t i = 0; i < real.size(); ++i) seen.emplace_back(real[i], ticks[of_stream[which][i]]);
        }
        std::sort(seen.begin(), seen.end());
        for (std::size_t i = 1; i < seen.size(); ++i)
            ASSERT_LE(seen[i - 1].second, seen[i].second) << "seed " << seed << " stamp " << i;
    }
}

TEST_F(CudaClock, CalibrationBracketsTheTruth) {
    rig.fake.advance(kHour);
    const uint64_t before = rig.fake.clock_ns();
    const Result<ClockAnchor> anchor = rig.backend->calibrate(queue);
    ASSERT_TRUE(anchor.ok()) << anchor.error().message;
    const uint64_t ticks = mark_and_poll();
    const auto device_apart = static_cast<int64_t>(ticks - anchor->device.value);
    const int64_t host_then =
        anchor->host.value - (rig.fake.host_now().value - static_cast<int64_t>(rig.fake.clock_ns()));
    const auto real_then = static_cast<int64_t>(truth().back() - 777) - device_apart;
    EXPECT_LE(std::abs(real_then - host_then), anchor->uncertainty_ns);
    EXPECT_LT(anchor->uncertainty_ns, 1'000);
    EXPECT_GE(real_then, static_cast<int64_t>(before));
}

}    // namespace
}    // namespace lapwing::testing
