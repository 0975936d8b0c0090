// Counters, gauges, histograms with power-of-two buckets, and samples of several words.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <random>
#include <thread>
#include <vector>

#include "lapwing/metrics.hpp"
#include "lapwing/seq_cell.hpp"

namespace lapwing {
namespace {

// They live in static storage and may be used before any constructor ran.
constinit Counter g_counter;
constinit Gauge g_gauge;
constinit FloatGauge g_float_gauge;
constinit NsHistogram g_histogram;
constinit SeqCell<std::array<uint64_t, 4>> g_cell;

TEST(Metrics, AreConstantInitialised) {
    EXPECT_EQ(g_counter.get(), 0u);
    EXPECT_EQ(g_gauge.get(), std::nullopt);
    EXPECT_EQ(g_float_gauge.get(), std::nullopt);
    EXPECT_EQ(g_histogram.snapshot().count(), 0u);
    EXPECT_EQ(g_cell.load().stores, 0u);
}

TEST(Metrics, AGaugeIsUnsetUntilItIsSetAndZeroIsAValue) {
    Gauge whole;
    whole.set(0);
    EXPECT_EQ(whole.get(), 0);
    whole.set(-3);
    EXPECT_EQ(whole.get(), -3);
    whole.unset();
    EXPECT_EQ(whole.get(), std::nullopt);

    FloatGauge part;
    part.set(0.0);
    EXPECT_EQ(part.get(), 0.0);
    for (const double bad : {std::nan(""), std::numeric_limits<double>::infinity()}) {
        part.set(0.5);
        part.set(bad);
        EXPECT_EQ(part.get(), std::nullopt);
    }
}

TEST(Metrics, ANanosecondBelongsToTheFirstBoundThatCoversIt) {
    EXPECT_EQ(NsHistogram::bucket_of(0), 0u);
    EXPECT_EQ(NsHistogram::bucket_of(1024), 0u);
    EXPECT_EQ(NsHistogram::bucket_of(1025), 1u);
    EXPECT_EQ(NsHistogram::bucket_of(2048), 1u);
    EXPECT_EQ(NsHistogram::bucket_of(2049), 2u);
    EXPECT_EQ(NsHistogram::bucket_of(2'000'000), 11u);
    EXPECT_EQ(NsHistogram::bucket_of(uint64_t{1} << 36), 26u);
    EXPECT_EQ(NsHistogram::bucket_of((uint64_t{1} << 36) + 1), 27u);
    EXPECT_EQ(NsHistogram::bucket_of(UINT64_MAX), 27u);
}

TEST(Metrics, SmallHistogramCountsAsItsBoundsSay) {
    using Small = Log2Histogram<4, 2>;    // bounds 4, 8, 16, 32
    for (const auto& [value, bucket] :
         std::vector<std::pair<uint64_t, uint32_t>>{{0, 0}, {4, 0}, {5, 1}, {8, 1}, {9, 2}, {32, 3}, {33, 4}})
        EXPECT_EQ(Small::bucket_of(value), bucket) << value;
    EXPECT_EQ(CountHistogram::bucket_of(1024), 10u);
    EXPECT_EQ(CountHistogram::bucket_of(1025), 11u);
    EXPECT_EQ(MillijouleHistogram::bucket_of(uint64_t{1} << 24), 24u);
    EXPECT_EQ(MillijouleHistogram::bucket_of((uint64_t{1} << 24) + 1), 25u);
}

TEST(Metrics, SnapshotIsCumulativeAndEqualsABruteForceCount) {
    std::mt19937_64 random(7);
    for (int round = 0; round < 20; ++round) {
        NsHistogram histogram;
        std::vector<uint64_t> values(random() % 500);
        uint64_t sum = 0;
        for (uint64_t& value : values) {
            value = (random() >> (random() % 40)) >> 20;
            if (random() % 4 == 0) value = (uint64_t{1} << (random() % 38)) + random() % 3 - 1;
            histogram.record(value);
            sum += value;
        }
        const Log2Snapshot snapshot = histogram.snapshot();
        ASSERT_EQ(snapshot.buckets, 27u);
        for (uint32_t i = 0; i < snapshot.buckets; ++i) {
            const auto covered =
                std::count_if(values.begin(), values.end(), [&](uint64_t v) { return v <= snapshot.bound(i); });
            EXPECT_EQ(snapshot.cumulative[i], static_cast<uint64_t>(covered)) << snapshot.bound(i);
        }
        EXPECT_EQ(snapshot.count(), values.size());
        EXPECT_EQ(snapshot.sum, sum);
    }
}

TEST(Metrics, MergedSnapshotsAreThoseOfAllValues) {
    NsHistogram first;
    NsHistogram second;
    NsHistogram both;
    for (uint64_t i = 0; i < 1000; ++i) {
        (i % 3 == 0 ? first : second).record(i * i * i);
        both.record(i * i * i);
    }
    Log2Snapshot merged;
    EXPECT_TRUE(merged.merge(first.snapshot()));
    EXPECT_TRUE(merged.merge(second.snapshot()));
    EXPECT_TRUE(merged.merge(Log2Snapshot{}));
    EXPECT_EQ(merged, both.snapshot());
    const Log2Snapshot before = merged;
    EXPECT_FALSE(merged.merge(CountHistogram().snapshot())) << "other buckets";
    EXPECT_EQ(merged, before);
}

TEST(Metrics, FourThreadsLoseNothing) {
    Counter counter;
    NsHistogram histogram;
    std::vector<std::thread> threads;
    for (uint64_t t = 0; t < 4; ++t) {
        threads.emplace_back([&, t] {
            for (uint64_t i = 0; i < 20'000; ++i) {
                counter.add();
                histogram.record(t * 1'000'000);
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(counter.get(), 80'000u);
    EXPECT_EQ(histogram.snapshot().count(), 80'000u);
    EXPECT_EQ(histogram.snapshot().sum, uint64_t{20'000} * 6'000'000);
}

TEST(SeqCell, HoldsTheLatestSampleAndTheNumberOfStores) {
    struct Odd {
        uint64_t a = 5;
        uint32_t b = 6;
        uint8_t c = 7;
    };
    SeqCell<Odd> cell;
    EXPECT_EQ(cell.load().stores, 0u);
    EXPECT_EQ(cell.load().value.b, 6u) << "nothing was stored: the default";
    cell.store({1, 2, 3});
    cell.store({10, 20, 30});
    EXPECT_EQ(cell.load().stores, 2u);
    EXPECT_EQ(cell.load().value.a, 10u);
    EXPECT_EQ(cell.load().value.b, 20u);
    EXPECT_EQ(cell.load().value.c, 30u);
}

TEST(SeqCell, NoReaderOfFourSeesATornValueOfTwoWriters) {
    constexpr uint64_t kStores = 100'000;    // a writer
    using Sample = std::array<uint64_t, 32>;
    SeqCell<Sample> cell;
    std::atomic<uint32_t> reading{0};
    std::atomic<bool> done{false};
    std::atomic<uint64_t> torn{0};
    std::atomic<uint64_t> backwards{0};
    std::vector<std::thread> readers;
    for (int r = 0; r < 4; ++r) {
        readers.emplace_back([&] {
            ++reading;
            uint64_t last = 0;
            while (!done.load()) {
                const auto read = cell.load();
                for (uint64_t i = 0; i < read.value.size(); ++i) torn += read.value[i] != read.value[0] * (i + 1);
                backwards += read.stores < last;
                last = read.stores;
            }
        });
    }
    while (reading.load() < 4) std::this_thread::yield();
    std::vector<std::thread> writers;
    for (uint64_t w = 0; w < 2; ++w) {
        writers.emplace_back([&, w] {
            for (uint64_t n = 1; n <= kStores; ++n) {
                Sample sample;
                for (uint64_t i = 0; i < sample.size(); ++i) sample[i] = (n * 2 + w) * (i + 1);
                cell.store(sample);
                if (n % 1024 == 0) std::this_thread::yield();    // on few cores, let the readers meet many stores
            }
        });
    }
    for (std::thread& writer : writers) writer.join();
    done = true;
    for (std::thread& reader : readers) reader.join();
    EXPECT_EQ(torn.load(), 0u);
    EXPECT_EQ(backwards.load(), 0u);
    EXPECT_EQ(cell.load().stores, 2 * kStores);
}

}    // namespace
}    // namespace lapwing
