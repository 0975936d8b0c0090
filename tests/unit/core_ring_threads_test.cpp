// Rings under several threads.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include "lapwing/cpu_backend.hpp"
#include "lapwing/device_ring.hpp"
#include "lapwing/level.hpp"

namespace lapwing {
namespace {

struct RingThreads : ::testing::Test {
    void SetUp() override { set_level(Level::kKernel); }
    void TearDown() override { set_level(Level::kOff); }
};

// Stamps a queue's own counter, so that results show which queue and which span they belong to.
class CountingBackend {
public:
    struct Queue {
        uint32_t index = 0;
    };
    [[nodiscard]] Caps caps(const Queue&) const { return {.ns_per_tick = 1, .valid_bits = 64, .resolution_ns = 1}; }
    [[nodiscard]] bool mark(const Queue& queue, uint32_t slot) noexcept {
        std::atomic<uint64_t>& clock = clocks_[queue.index].ticks;
        const uint64_t now = clock.load(std::memory_order_relaxed) + 1;
        clock.store(now, std::memory_order_relaxed);
        stamps_[slot].store(now, std::memory_order_release);
        return true;
    }
    void poll(std::span<const uint32_t> slots, std::span<Stamp> out) noexcept {
        for (std::size_t i = 0; i < slots.size(); ++i)
            out[i] = {{stamps_[slots[i]].load(std::memory_order_acquire)}, StampState::kReady};
    }
    [[nodiscard]] Result<ClockAnchor> calibrate(const Queue&) { return Error{Errc::kUnsupported, 0, "a counter"}; }
    [[nodiscard]] bool is_capturing(const Queue&) const noexcept { return false; }

private:
    struct alignas(64) Clock {
        std::atomic<uint64_t> ticks{1000};
    };
    std::array<Clock, 4> clocks_;
    std::vector<std::atomic<uint64_t>> stamps_ = std::vector<std::atomic<uint64_t>>(1u << 14);
};
static_assert(Backend<CountingBackend>);

// B22: iree#5287, tracy#542 and #768: 16 threads on 2 queues make 2 tracks, and full rings corrupt nothing.
TEST_F(RingThreads, SixteenThreadsOnTwoQueuesMakeTwoTracksAndLoseNothingInSilence) {
    constexpr int kThreads = 16;
    constexpr int kSpans = 3000;
    CountingBackend backend;
    DeviceRing<CountingBackend> ring(backend, {.initial_spans = 64, .max_spans = 256, .max_queues = 2});
    std::array<std::mutex, 2> queue_locks;    // a queue is externally synchronised, as its API demands
    ASSERT_TRUE(ring.add_queue({0}, 1).ok());
    ASSERT_TRUE(ring.add_queue({1}, 2).ok());

    std::atomic<int> running{kThreads};
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t)
        threads.emplace_back([&, t] {
            for (int i = 0; i < kSpans; ++i) {
                const auto queue = static_cast<uint32_t>((t + i) % 2);
                const std::lock_guard lock(queue_locks[queue]);
                const DeviceToken token = ring.begin(queue, 10 + queue);
                ring.end(queue, token);
                if (i % 64 == 0) ring.end(queue, token);    // and a misuse now and then
            }
            --running;
        });
    std::array<uint64_t, 3> seen{};
    std::vector<SpanRecord> out(500);
    while (running.load() > 0 || ring.stats().in_flight > 0) {
        const std::size_t count = ring.harvest(out);
        for (std::size_t i = 0; i < count; ++i) {
            const SpanRecord& span = out[i];
            ASSERT_TRUE(span.track == 1 || span.track == 2);
            ASSERT_EQ(span.site, 9u + span.track) << "a record of two queues' halves";
            ASSERT_EQ(span.duration_ns, 1) << "stamps of two spans";
            ++seen[span.track];
        }
        if (count == 0) std::this_thread::yield();
    }
    for (std::thread& thread : threads) thread.join();
    const DeviceRingStats stats = ring.stats();
    EXPECT_EQ(stats.begun, static_cast<uint64_t>(kThreads) * kSpans);
    EXPECT_EQ(stats.recorded, seen[1] + seen[2]);
    EXPECT_EQ(stats.begun, stats.recorded + stats.lost.total());
    EXPECT_EQ(stats.lost.total(), stats.lost[LossReason::kRingFull]) << "a full ring loses spans and nothing else";
    EXPECT_GT(seen[1], 0u);
    EXPECT_GT(seen[2], 0u);
}

TEST_F(RingThreads, SecondHarvesterReturnsAtOnceAndEachSpanLandsOnce) {
    CpuBackend backend;
    DeviceRing<CpuBackend> ring(backend, {.max_spans = 4096});
    ASSERT_TRUE(ring.add_queue({}, 1).ok());
    constexpr uint64_t kSpans = 50'000;
    std::atomic<bool> done{false};
    std::atomic<uint64_t> harvested{0};
    std::vector<std::thread> harvesters;
    for (int i = 0; i < 3; ++i)
        harvesters.emplace_back([&] {
            std::vector<SpanRecord> out(256);
            while (!done.load()) {
                const std::size_t count = ring.harvest(out);
                harvested += count;
                if (count == 0) std::this_thread::yield();
            }
        });
    for (uint64_t i = 0; i < kSpans; ++i) ring.end(0, ring.begin(0, 1));
    while (ring.stats().in_flight > 0) std::this_thread::yield();
    done = true;
    for (std::thread& thread : harvesters) thread.join();
    const DeviceRingStats stats = ring.stats();
    EXPECT_EQ(stats.begun, kSpans);
    EXPECT_EQ(harvested.load(), stats.recorded);
    EXPECT_EQ(stats.begun, stats.recorded + stats.lost.total());
}

TEST_F(RingThreads, LevelMayChangeWhileSpansAreBegun) {
    CpuBackend backend;
    DeviceRing<CpuBackend> ring(backend, {.max_spans = 1024});
    ASSERT_TRUE(ring.add_queue({}, 1).ok());
    std::atomic<bool> done{false};
    std::thread switcher([&] {
        while (!done.load()) {
            set_level(Level::kOff);
            set_level(Level::kKernel);
            std::this_thread::yield();
        }
    });
    std::vector<SpanRecord> out(1024);
    for (int i = 0; i < 20'000; ++i) {
        ring.end(0, ring.begin(0, 1));
        if (i % 100 == 0) static_cast<void>(ring.harvest(out));
    }
    done = true;
    switcher.join();
    static_cast<void>(ring.harvest(out));
    const DeviceRingStats stats = ring.stats();
    EXPECT_EQ(stats.begun, stats.recorded + stats.lost.total());
}

}    // namespace
}    // namespace lapwing
