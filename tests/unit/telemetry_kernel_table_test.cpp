// The kernel table: identities, handles, figures, bounds.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <thread>

#include "lapwing/kernel_table.hpp"

namespace lapwing {
namespace {

const KernelRow* row_of(const std::vector<KernelRow>& rows, const std::string& name) {
    for (const KernelRow& row : rows)
        if (row.name == name) return &row;
    return nullptr;
}

Site dispatch_of(const std::string& kernel) {
    Site site;
    site.kernel = kernel;
    return site;
}

TEST(KernelTable, SearchForAHandleStartsWhereThePublishedVectorsSay) {
    EXPECT_EQ(detail::handle_slot(0x1000, 9), 239u);
    EXPECT_EQ(detail::handle_slot(0x2000, 9), 478u);
    EXPECT_EQ(detail::handle_slot(0x40, 9), 283u);
    EXPECT_EQ(detail::handle_slot(0xabc0, 9), 367u);
}

TEST(KernelTable, AnEmptyTableHasNoRows) {
    EXPECT_TRUE(KernelTable().rows().empty());
}

TEST(KernelTable, SumsCountsAndExtremesOfAHandle) {
    KernelTable table;
    table.record_handle(0x1000, 10);
    table.record_handle(0x1000, 30);
    const std::vector<KernelRow> rows = table.rows();
    ASSERT_EQ(rows.size(), 1u);
    EXPECT_EQ(rows[0].name, "fn@1000");
    EXPECT_EQ(rows[0].samples, 2u);
    EXPECT_EQ(rows[0].total_ns, 40);
    EXPECT_EQ(rows[0].min_ns, 10);
    EXPECT_EQ(rows[0].max_ns, 30);
    EXPECT_EQ(rows[0].p50_ns, 10);
    EXPECT_EQ(rows[0].p99_ns, 30);
    EXPECT_FALSE(rows[0].launches.has_value()) << "nobody counts launches: not known, not 0";
    EXPECT_FALSE(rows[0].scaled.has_value());
}

TEST(KernelTable, HandleZeroIsCountedAndNotRecorded) {
    KernelTable table;
    table.record_handle(0, 10);
    EXPECT_TRUE(table.rows().empty());
    EXPECT_EQ(table.losses().handle_zero, 1u);
    EXPECT_EQ(table.losses().table_full, 0u);
}

TEST(KernelTable, DurationsThatAreNoneAreRefusedAndCounted) {
    KernelTable table;
    const KernelId kernel = table.kernel("", "gemm");
    table.record(kernel, -1);
    table.record(kernel, kLongestSampleNs + 1);
    table.record(kernel, INT64_MAX);
    EXPECT_TRUE(table.rows().empty());
    EXPECT_EQ(table.losses().refused, 3u);
    table.record(kernel, 0);
    table.record(kernel, kLongestSampleNs);
    EXPECT_EQ(table.rows().at(0).samples, 2u) << "0 is a duration";
    EXPECT_EQ(table.rows().at(0).min_ns, 0);
    EXPECT_EQ(table.rows().at(0).max_ns, kLongestSampleNs);
}

TEST(KernelTable, BeyondTheCapTimeGoesToOtherAndIsCounted) {
    KernelTable table({.max_kernels = 512});
    for (uint64_t handle = 1; handle <= 512 + 5; ++handle) table.record_handle(handle * 0x40, 7);
    EXPECT_EQ(table.losses().table_full, 5u);
    const std::vector<KernelRow> rows = table.rows();
    EXPECT_EQ(rows.size(), 513u);
    EXPECT_EQ(row_of(rows, "other")->total_ns, 35);
    EXPECT_EQ(rows.front().name, "other") << "by total time descending";
}

TEST(KernelTable, AMillionNamesKeepTheSeriesBoundedAndNoTimeIsLost) {
    KernelTable table({.max_kernels = 256});
    constexpr SiteId kNames = 1'000'000;
    int64_t total_ns = 0;
    for (SiteId id = 1; id <= kNames; ++id) {
        ASSERT_TRUE(table.site(id, dispatch_of(std::string("kernel_").append(std::to_string(id)))).ok());
        const SpanRecord span{.begin_ns = id, .duration_ns = id % 100, .site = id, .track = 1};
        ASSERT_TRUE(table.spans({&span, 1}).ok());
        total_ns += id % 100;
    }
    const std::vector<KernelRow> rows = table.rows();
    EXPECT_EQ(rows.size(), 257u);
    int64_t found_ns = 0;
    uint64_t samples = 0;
    for (const KernelRow& row : rows) {
        found_ns += row.total_ns;
        samples += row.samples;
    }
    EXPECT_EQ(found_ns, total_ns);
    EXPECT_EQ(samples, kNames);
    EXPECT_EQ(table.losses().table_full, kNames - 256u);
    EXPECT_EQ(table.losses().unknown_sites, 0u);
}

TEST(KernelTable, SameModuleAndNameIsOneKernelWhateverItsHandles) {
    KernelTable table;
    ASSERT_TRUE(table.name_handle(0x1000, "attention.ptx", "softmax").ok());
    ASSERT_TRUE(table.name_handle(0x2000, "attention.ptx", "softmax").ok());
    ASSERT_TRUE(table.name_handle(0x3000, "norm.ptx", "softmax").ok());
    table.record_handle(0x1000, 10);
    table.record_handle(0x2000, 20);
    table.record_handle(0x3000, 40);
    table.record(table.kernel("attention.ptx", "softmax"), 30);
    const std::vector<KernelRow> rows = table.rows();
    ASSERT_EQ(rows.size(), 2u);
    EXPECT_EQ(row_of(rows, "attention.ptx:softmax")->total_ns, 60);
    EXPECT_EQ(row_of(rows, "norm.ptx:softmax")->total_ns, 40);
}

TEST(KernelTable, ANameThatComesLateTakesWhatTheHandleHasAndAReusedHandleStartsAnew) {
    KernelTable table;
    table.record_handle(0x1000, 10);
    ASSERT_TRUE(table.name_handle(0x1000, "", "gemm").ok());
    table.record_handle(0x1000, 30);
    ASSERT_EQ(table.rows().size(), 1u);
    EXPECT_EQ(table.rows()[0].name, "gemm");
    EXPECT_EQ(table.rows()[0].total_ns, 40);
    EXPECT_EQ(table.rows()[0].min_ns, 10);
    // Its module is unloaded, and the next one gets the same number.
    ASSERT_TRUE(table.name_handle(0x1000, "", "rope").ok());
    table.record_handle(0x1000, 5);
    const std::vector<KernelRow> rows = table.rows();
    EXPECT_EQ(row_of(rows, "gemm")->total_ns, 40);
    EXPECT_EQ(row_of(rows, "rope")->total_ns, 5);
}

TEST(KernelTable, NamesForNothingAreErrorsThatSayWhatToDo) {
    KernelTable table({.max_kernels = 8, .max_handles = 2});
    EXPECT_EQ(table.name_handle(0, "m", "k").error().code, Errc::kInvalidArgument);
    EXPECT_EQ(table.name_handle(1, "m", "").error().code, Errc::kInvalidArgument);
    EXPECT_TRUE(table.name_handle(1, "m", "a").ok());
    EXPECT_TRUE(table.name_handle(2, "m", "b").ok());
    const Status full = table.name_handle(3, "m", "c");
    EXPECT_EQ(full.error().code, Errc::kExhausted);
    EXPECT_NE(full.error().message.find("max_handles"), std::string::npos);
    table.record_handle(3, 9);
    EXPECT_EQ(row_of(table.rows(), "fn@3")->total_ns, 9)
        << "no room for the handle, and its time has a row all the same";
}

TEST(KernelTable, HandlesAreFoundAfterTheTableGrew) {
    KernelTable table({.max_kernels = 3000});
    for (uint64_t handle = 1; handle <= 3000; ++handle) table.record_handle(handle << 6, 1);
    for (uint64_t handle = 1; handle <= 3000; ++handle) table.record_handle(handle << 6, 2);
    const std::vector<KernelRow> rows = table.rows();
    EXPECT_EQ(rows.size(), 3000u);
    for (const KernelRow& row : rows) EXPECT_EQ(row.total_ns, 3);
}

TEST(KernelTable, PercentilesAreWithinOnePartIn128OfTheSortedSamples) {
    std::mt19937_64 random(3);
    for (int round = 0; round < 10; ++round) {
        KernelTable table;
        const KernelId kernel = table.kernel("", "gemm");
        std::vector<int64_t> values(1 + random() % 2000);
        for (int64_t& value : values) {
            value = static_cast<int64_t>(random() % (uint64_t{1} << (1 + random() % 40)));
            table.record(kernel, value);
        }
        std::sort(values.begin(), values.end());
        const KernelRow row = table.rows().at(0);
        const auto near_rank = [&](double q, int64_t found) {
            const auto rank = static_cast<std::size_t>(std::ceil(q * static_cast<double>(values.size())));
            const int64_t exact = values[rank - 1];
            EXPECT_NEAR(static_cast<double>(found), static_cast<double>(exact), static_cast<double>(exact) / 128.0)
                << q;
        };
        near_rank(0.50, row.p50_ns);
        near_rank(0.90, row.p90_ns);
        near_rank(0.99, row.p99_ns);
        EXPECT_EQ(row.min_ns, values.front());
        EXPECT_EQ(row.max_ns, values.back());
    }
}

TEST(KernelTable, SampledKernelsAreScaledToTheirLaunchesAndTheIntervalHoldsTheTruth) {
    std::mt19937_64 random(11);
    int missed = 0;
    for (int round = 0; round < 200; ++round) {
        KernelTable table;
        const KernelId kernel = table.kernel("", "gemm");
        double truth_ns = 0;
        for (int launch = 0; launch < 2000; ++launch) {
            const auto ns = static_cast<int64_t>(10'000 + random() % 5'000);
            truth_ns += static_cast<double>(ns);
            table.launched(kernel);
            if (random() % 20 == 0) table.record(kernel, ns);
        }
        const KernelRow row = table.rows().at(0);
        EXPECT_EQ(row.launches, 2000u);
        ASSERT_TRUE(row.scaled && row.scaled->error_ns);
        EXPECT_NEAR(row.scaled->total_ns, truth_ns, truth_ns * 0.1);
        missed += std::abs(row.scaled->total_ns - truth_ns) > *row.scaled->error_ns;
    }
    EXPECT_LT(missed, 25) << "5 % of 200 are 10";
    EXPECT_GT(missed, 0) << "an interval that never misses is too wide";
}

TEST(KernelTable, TwoSamplesScaleWithoutAnError) {
    KernelTable table;
    const KernelId kernel = table.kernel("", "gemm");
    for (int i = 0; i < 10; ++i) table.launched(kernel);
    EXPECT_FALSE(table.rows().at(0).scaled.has_value()) << "launches alone estimate nothing";
    table.record(kernel, 10);
    table.record(kernel, 20);
    EXPECT_DOUBLE_EQ(table.rows().at(0).scaled->total_ns, 150.0);
    EXPECT_FALSE(table.rows().at(0).scaled->error_ns.has_value());
}

TEST(KernelTable, ResetForgetsFiguresAndLossesAndKeepsKernels) {
    KernelTable table({.max_kernels = 1});
    const KernelId kernel = table.kernel("", "gemm");
    table.record(kernel, 10);
    table.record(kernel, -1);
    table.record(table.kernel("", "too many"), 10);
    table.record_handle(0, 1);
    table.reset();
    EXPECT_TRUE(table.rows().empty());
    EXPECT_EQ(table.losses().table_full + table.losses().refused + table.losses().handle_zero, 0u);
    table.record(kernel, 70);
    const KernelRow row = table.rows().at(0);
    EXPECT_EQ(row.name, "gemm");
    EXPECT_EQ(row.samples, 1u);
    EXPECT_EQ(row.min_ns, 70);
    EXPECT_EQ(row.p50_ns, 70);
}

TEST(KernelTable, TakesTheDeviceSpansOfAStreamAndNoLanesAndNoHostSpans) {
    KernelTable table;
    Site host;
    host.kind = SpanKind::kHost;
    Site lane;
    lane.lane = "decode";
    lane.container = true;
    Site copy;
    copy.kind = SpanKind::kCopy;
    ASSERT_TRUE(table.process({}).ok());
    ASSERT_TRUE(table.site(1, dispatch_of("gemm")).ok());
    ASSERT_TRUE(table.site(2, host).ok());
    ASSERT_TRUE(table.site(3, lane).ok());
    ASSERT_TRUE(table.site(4, copy).ok());
    Site gemm_of_a_layer = dispatch_of("gemm");
    gemm_of_a_layer.layer = 3;
    ASSERT_TRUE(table.site(5, gemm_of_a_layer).ok());
    const std::vector<SpanRecord> spans{{0, 10, 1}, {0, 20, 2}, {0, 40, 3}, {0, 80, 4}, {0, 160, 5}, {0, 320, 99}};
    ASSERT_TRUE(table.spans(spans).ok());
    const std::vector<KernelRow> rows = table.rows();
    ASSERT_EQ(rows.size(), 2u);
    EXPECT_EQ(row_of(rows, "gemm")->total_ns, 170);
    EXPECT_EQ(row_of(rows, "copy")->total_ns, 80);
    EXPECT_EQ(table.losses().unknown_sites, 1u);
    // The next process numbers its sites anew.
    ASSERT_TRUE(table.process({}).ok());
    ASSERT_TRUE(table.spans({spans.data(), 1}).ok());
    EXPECT_EQ(table.losses().unknown_sites, 2u);
}

TEST(KernelTable, FourThreadsAndAReaderLoseNothing) {
    KernelTable table({.max_kernels = 64});
    std::atomic<bool> done{false};
    std::thread reader([&] {
        while (!done.load()) {
            for (const KernelRow& row : table.rows()) {
                EXPECT_LE(row.min_ns, row.p50_ns);
                EXPECT_LE(row.p99_ns, row.max_ns);
            }
        }
    });
    std::vector<std::thread> threads;
    for (uint64_t t = 0; t < 4; ++t) {
        threads.emplace_back([&table, t] {
            for (uint64_t i = 0; i < 5000; ++i) table.record_handle(0x40 * (1 + (i + t) % 100), 3);
        });
    }
    for (std::thread& thread : threads) thread.join();
    done = true;
    reader.join();
    uint64_t samples = 0;
    int64_t total_ns = 0;
    for (const KernelRow& row : table.rows()) {
        samples += row.samples;
        total_ns += row.total_ns;
    }
    EXPECT_EQ(samples, 20'000u);
    EXPECT_EQ(total_ns, 60'000);
    EXPECT_EQ(table.losses().table_full, row_of(table.rows(), "other")->samples);
}

}    // namespace
}    // namespace lapwing
