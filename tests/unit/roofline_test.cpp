// Work of op shapes, and where it stands under a roof: known answers, odd input, brute force.
#include "lapwing/roofline.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "lapwing/brick_profiler.hpp"
#include "lapwing/op_work.hpp"
#include "lapwing/report.hpp"

namespace lapwing {
namespace {

constexpr Roof kRoof{.flops_per_s = 1e13, .bytes_per_s = 1e12, .launch_ns = {}};    // 10 TFLOP/s, 1000 GB/s

TEST(OpWork, BlockFormatsTakeWholeBlocksOfEachRow) {
    EXPECT_EQ(bytes_of(TensorType::kQ8_0, 1, 32).value(), 34u);
    EXPECT_EQ(bytes_of(TensorType::kQ8_0, 1, 33).value(), 68u);
    EXPECT_EQ(bytes_of(TensorType::kQ4K, 1536, 1536).value(), 1536u * 6 * 144);
    EXPECT_EQ(bytes_of(TensorType::kQ6K, 2, 256).value(), 420u);
    EXPECT_EQ(bytes_of(TensorType::kF16, 3, 5).value(), 30u);
    EXPECT_EQ(bytes_of(TensorType::kF32, 0, 5).value(), 0u);
    EXPECT_FALSE(bytes_of(TensorType::kF32, ~uint64_t{0}, 2).ok());
}

TEST(OpWork, EveryTypeIsFoundByItsNameInEitherCase) {
    for (std::size_t i = 0; i < kTensorTypeCount; ++i) {
        const auto type = static_cast<TensorType>(i);
        std::string upper = to_text(type);
        for (char& c : upper) c = static_cast<char>(std::toupper(c));
        EXPECT_EQ(parse_tensor_type(to_text(type)).value(), type);
        EXPECT_EQ(parse_tensor_type(upper).value(), type);
    }
    const auto unknown = parse_tensor_type("q9");
    ASSERT_FALSE(unknown.ok());
    EXPECT_NE(unknown.error().message.find("\"q9\" is no element type: use one of f32, f16"), std::string::npos);
}

TEST(OpWork, MatmulReadsBothAndWritesOnce) {
    const OpWork gemv =
        matmul_work(
            {.m = 4096, .n = 1, .k = 4096, .a = TensorType::kQ4K, .b = TensorType::kF32, .out = TensorType::kF32})
            .value();
    EXPECT_EQ(gemv.flops, 2u * 4096 * 4096);
    EXPECT_EQ(gemv.bytes, 4096u * 16 * 144 + 4096 * 4 + 4096 * 4);
    const OpWork batched = matmul_work({.m = 8, .n = 4, .k = 16, .batch = 3, .a = TensorType::kF16}).value();
    EXPECT_EQ(batched.flops, 3u * 2 * 8 * 4 * 16);
    EXPECT_EQ(batched.bytes, 3u * (8 * 16 * 2 + 4 * 16 * 4 + 8 * 4 * 4));
}

TEST(OpWork, ExpertsCountAsBytesOnlyWhereTheyAreUsed) {
    ExpertMatmulShape moe{.tokens = 1,
                          .experts = 128,
                          .experts_per_token = 8,
                          .columns_in = 2048,
                          .columns_out = 768,
                          .experts_used = {},
                          .weights = TensorType::kF16};
    const OpWork one = expert_matmul_work(moe).value();
    EXPECT_EQ(one.flops, 2u * 8 * 2048 * 768);
    EXPECT_EQ(one.bytes, 8u * 2048 * 768 * 2 + 2048 * 4 + 8 * 768 * 4);
    moe.tokens = 16;    // 8 to 128 experts: nobody knows
    EXPECT_FALSE(expert_matmul_work(moe).value().bytes);
    EXPECT_EQ(expert_matmul_work(moe).value().flops, 16u * 2 * 8 * 2048 * 768);
    moe.experts_used = 83;
    EXPECT_EQ(expert_matmul_work(moe).value().bytes, 83u * 2048 * 768 * 2 + 16 * 2048 * 4 + 16 * 8 * 768 * 4);
    moe.experts_used = 129;
    EXPECT_NE(expert_matmul_work(moe).error().message.find("experts_used is 129: 16 tokens use from 8 to 128"),
              std::string::npos);
    moe.experts_used = 7;
    EXPECT_FALSE(expert_matmul_work(moe).ok());
    moe.experts_per_token = 200;
    EXPECT_NE(expert_matmul_work(moe).error().message.find("experts_per_token is 200"), std::string::npos);
}

// The figures say more than the device can do where all experts are counted, and not where the used ones are.
TEST(Roofline, CountingAllExpertsIsAModelErrorAndNotClamped) {
    const Roof roof{.flops_per_s = 1e13, .bytes_per_s = 3e11, .launch_ns = {}};
    ExpertMatmulShape moe{.tokens = 1, .experts = 128, .experts_per_token = 8, .columns_in = 2048, .columns_out = 768};
    const OpWork used = expert_matmul_work(moe).value();
    const auto ns = static_cast<int64_t>(static_cast<double>(*used.bytes) / 3e11 * 1e9 / 0.8);    // 80 % of the roof
    const RooflineFigures right = roofline(used, ns, roof);
    EXPECT_NEAR(*right.share, 0.8, 1e-3);
    EXPECT_FALSE(right.model_error);
    EXPECT_EQ(right.bound, Bound::kMemory);
    moe.tokens = 16;
    moe.experts_used = 128;
    OpWork all = expert_matmul_work(moe).value();
    all.flops = used.flops;
    const RooflineFigures wrong = roofline(all, ns, roof);
    EXPECT_GT(*wrong.share, 12.0);
    EXPECT_TRUE(wrong.model_error);
}

TEST(OpWork, AttentionCountsThePositionsThatAQuerySees) {
    AttentionShape shape{.heads = 12, .kv_heads = 2, .head_dim = 128, .queries = 1, .context = 100};
    EXPECT_EQ(attention_work(shape).value().flops, 4u * 12 * 128 * 100);
    EXPECT_EQ(attention_work(shape).value().bytes, 2u * 12 * 128 * 4 + 2 * 2 * 100 * 128 * 2);
    shape.context = 99;
    EXPECT_FALSE(attention_work({.heads = 12, .kv_heads = 5, .head_dim = 1, .queries = 1, .context = 1}).ok());
    EXPECT_FALSE(attention_work({.heads = 1, .kv_heads = 1, .head_dim = 1, .queries = 5, .context = 4}).ok());
    for (int64_t queries = 1; queries < 40; ++queries) {
        for (int64_t context = queries; context < 60; context += 7) {
            uint64_t pairs = 0;
            for (int64_t q = 0; q < queries; ++q)
                for (int64_t k = 0; k < context; ++k) pairs += k <= context - queries + q ? 1 : 0;
            const OpWork work =
                attention_work({.heads = 1, .kv_heads = 1, .head_dim = 1, .queries = queries, .context = context})
                    .value();
            ASSERT_EQ(work.flops, 4 * pairs) << queries << " of " << context;
        }
    }
}

TEST(OpWork, NormsAndElementwiseOpsCountEachTensorOnce) {
    EXPECT_EQ(norm_work({.rows = 2, .columns = 1536}).value().bytes, (2u + 2 + 1) * 1536 * 4);
    EXPECT_EQ(norm_work({.rows = 2, .columns = 1536}).value().flops, 4u * 2 * 1536);
    EXPECT_EQ(norm_work({.rows = 1, .columns = 8, .layer_norm = true}).value().bytes, (1u + 1 + 2) * 8 * 4);
    EXPECT_EQ(elementwise_work({.elements = 100, .inputs = 2}).value().bytes, 1200u);
    const OpWork fill = elementwise_work({.elements = 100, .inputs = 0, .flops_per_element = 0}).value();
    EXPECT_EQ(fill.flops, 0u);
    EXPECT_EQ(fill.bytes, 400u);
}

TEST(OpWork, BadSizesAreNamed) {
    EXPECT_NE(matmul_work({.m = 4, .n = -1, .k = 4}).error().message.find("n is -1"), std::string::npos);
    EXPECT_NE(matmul_work({.m = 4, .n = 1}).error().message.find("k is 0: it must be at least 1"), std::string::npos);
    const int64_t large = std::numeric_limits<int64_t>::max();
    EXPECT_NE(matmul_work({.m = large, .n = large, .k = 1}).error().message.find("do not fit 64 bits"),
              std::string::npos);
    EXPECT_FALSE(elementwise_work({.elements = 10, .inputs = -1}).ok());
    EXPECT_FALSE(norm_work({.rows = large, .columns = large}).ok());
    EXPECT_FALSE(attention_work({.heads = large, .kv_heads = 1, .head_dim = 9, .queries = 1, .context = 1}).ok());
}

// The pinned distances: AI 100 at 10 TFLOP/s 0, at 1 TFLOP/s 0.9; AI 4 at 2 TFLOP/s 0.5.
TEST(Roofline, KnownAnswers) {
    const auto at = [](uint64_t intensity, double tflops) {
        const uint64_t bytes = 1'000'000'000;
        const auto ns = static_cast<int64_t>(static_cast<double>(intensity * bytes) / tflops / 1e3);
        return roofline({intensity * bytes, bytes}, ns, kRoof);
    };
    EXPECT_NEAR(*at(100, 10).share, 1.0, 1e-9);
    EXPECT_EQ(at(100, 10).bound, Bound::kCompute);
    EXPECT_NEAR(*at(100, 1).share, 0.1, 1e-9);
    EXPECT_NEAR(*at(4, 2).share, 0.5, 1e-9);
    EXPECT_EQ(at(4, 2).bound, Bound::kMemory);
    EXPECT_NEAR(*at(4, 2).gflops, 2000, 1e-6);
    EXPECT_NEAR(*at(4, 2).gb_s, 500, 1e-6);
    EXPECT_DOUBLE_EQ(*at(4, 2).intensity, 4);
    EXPECT_FALSE(at(100, 10).model_error);
    EXPECT_TRUE(at(100, 10.5).model_error);
    EXPECT_NEAR(*at(100, 20).share, 2.0, 1e-9);
}

TEST(Roofline, UnknownStaysUnknown) {
    const RooflineFigures nothing = roofline(OpWork{}, 100, kRoof);
    EXPECT_EQ(nothing.executions, 0u);
    EXPECT_FALSE(nothing.gflops || nothing.gb_s || nothing.share || nothing.intensity);
    EXPECT_EQ(nothing.bound, Bound::kUnknown);
    const RooflineFigures bytes_only = roofline({{}, 100'000}, 1000, kRoof);
    EXPECT_NEAR(*bytes_only.memory_share, 0.1, 1e-12);
    EXPECT_FALSE(bytes_only.share || bytes_only.gflops || bytes_only.compute_share);
    EXPECT_EQ(bytes_only.bound, Bound::kUnknown);
    const RooflineFigures no_roof = roofline({1000, 1000}, 1000, Roof{});
    EXPECT_DOUBLE_EQ(*no_roof.gflops, 1);
    EXPECT_FALSE(no_roof.share || no_roof.model_error);
    EXPECT_FALSE(roofline({1000, 1000}, 0, kRoof).gflops) << "no time: no rate";
    const RooflineFigures copy = roofline({0, 100'000}, 1000, kRoof);
    EXPECT_EQ(copy.gflops, 0.0) << "zero FLOPs are known";
    EXPECT_EQ(copy.bound, Bound::kMemory);
    EXPECT_TRUE(roofline({{}, 100'000'000}, 1000, kRoof).model_error) << "one roof is enough to be above";
}

TEST(Roofline, WorkBelowALaunchIsBoundByIt) {
    Roof roof = kRoof;
    roof.launch_ns = 5000;
    EXPECT_EQ(roofline({1000, 1000}, 6000, roof).bound, Bound::kLaunch);
    EXPECT_EQ(roofline({1000, 100'000'000}, 200'000, roof).bound, Bound::kMemory);
    EXPECT_EQ(bottleneck_of(roofline({1000, 100'000'000}, 200'000, roof)), BrickBottleneck::kMemory);
    EXPECT_EQ(bottleneck_of(roofline({1'000'000'000, 1000}, 200'000, roof)), BrickBottleneck::kCompute);
    EXPECT_EQ(bottleneck_of(roofline({1000, 1000}, 6000, roof)), BrickBottleneck::kUnknown);
}

// Against sums made one execution at a time.
TEST(Roofline, EntriesAddUpAsTheirExecutionsDo) {
    std::mt19937_64 random(7);
    const auto below = [&](uint64_t n) { return random() % n; };
    for (int trial = 0; trial < 300; ++trial) {
        std::vector<Roof> roofs;
        for (int i = 0; i < 3; ++i) {
            Roof& roof = roofs.emplace_back();
            if (below(4) != 0) roof.flops_per_s = 1e9 * static_cast<double>(1 + below(50));
            if (below(4) != 0) roof.bytes_per_s = 1e9 * static_cast<double>(1 + below(50));
            if (below(2) != 0) roof.launch_ns = static_cast<double>(below(5000));
        }
        std::vector<WorkEntry> entries;
        double roof_ns = 0, time_ns = 0, flops = 0, flops_ns = 0;
        bool error = false;
        for (uint64_t i = 0; i < 1 + below(6); ++i) {
            WorkEntry entry{
                {}, static_cast<uint32_t>(below(4)), 1 + below(9), static_cast<int64_t>(1 + below(200'000))};
            if (below(5)) entry.work.flops = below(1'000'000);
            if (below(5)) entry.work.bytes = below(1'000'000);
            entries.push_back(entry);
            static const Roof kNone;
            const Roof& roof = entry.device < 3 ? roofs[entry.device] : kNone;
            const auto ns = static_cast<double>(entry.total_ns);
            double least = 0;
            for (uint64_t n = 0; n < entry.executions; ++n) {
                double one = 0;
                if (entry.work.flops && roof.flops_per_s)
                    one = std::max(one, static_cast<double>(*entry.work.flops) / *roof.flops_per_s * 1e9);
                if (entry.work.bytes && roof.bytes_per_s)
                    one = std::max(one, static_cast<double>(*entry.work.bytes) / *roof.bytes_per_s * 1e9);
                least += one;
                if (entry.work.flops) flops += static_cast<double>(*entry.work.flops);
            }
            if (entry.work.flops) flops_ns += ns;
            error = error || least > ns * (1 + 1e-12);
            if (!entry.work.flops || !entry.work.bytes || !roof.flops_per_s || !roof.bytes_per_s) continue;
            roof_ns += least;
            time_ns += ns;
        }
        const RooflineFigures figures = roofline(entries, roofs);
        ASSERT_EQ(figures.share.has_value(), time_ns > 0);
        if (time_ns > 0) {
            ASSERT_NEAR(*figures.share, roof_ns / time_ns, 1e-9 * (1 + roof_ns / time_ns));
        }
        ASSERT_EQ(figures.gflops.has_value(), flops_ns > 0);
        if (flops_ns > 0) {
            ASSERT_NEAR(*figures.gflops, flops / flops_ns, 1e-9 * (1 + flops / flops_ns));
        }
        ASSERT_EQ(figures.model_error, error);
    }
}

// From the call of an engine to the row of a report: work goes by the sites of a brick's spans.
TEST(Roofline, WorkOfABrickIsInTheReportOfItsSpans) {
    const std::unique_ptr<ReportBuilder> report = make_report_builder();
    BrickProfiler profiler({.enabled = true});
    ASSERT_TRUE(profiler.set_brick_work("LmHead", {2'000'000, 1'000'000}).ok());
    ASSERT_TRUE(profiler.set_brick_work("my own", {{}, 500}).ok());
    EXPECT_FALSE(profiler.set_brick_work("", {}).ok());
    ASSERT_TRUE(profiler.attach(*report).ok());
    for (int i = 0; i < 4; ++i) profiler.record_elapsed("LmHead", 1000, 1);
    profiler.record_elapsed("my own", 100, 1);
    profiler.record_elapsed("Sampling", 100, 1);
    ASSERT_TRUE(profiler.detach().ok());
    Report rows = report->build(GroupBy::kBrick);
    apply_peaks(rows, {{{.device = "cpu", .api = "host", .f32_flops = 4e12, .bytes_per_s = 4e12}}});
    ASSERT_EQ(rows.rows.size(), 3u);
    const RooflineFigures& head = *rows.rows[0].roofline;
    EXPECT_EQ(rows.rows[0].name, "LmHead");
    EXPECT_EQ(head.executions, 4u);
    EXPECT_DOUBLE_EQ(*head.gflops, 2000);
    EXPECT_DOUBLE_EQ(*head.gb_s, 1000);
    EXPECT_DOUBLE_EQ(*head.share, 0.5);
    EXPECT_EQ(head.bound, Bound::kCompute);
    for (const ReportRow& row : rows.rows) {
        if (row.name == "my own") {
            EXPECT_FALSE(row.roofline->gflops);
            EXPECT_DOUBLE_EQ(*row.roofline->gb_s, 5);
        }
        if (row.name == "Sampling") {
            EXPECT_FALSE(row.roofline);
        }
    }
}

TEST(Peaks, MustBePositiveNumbers) {
    EXPECT_TRUE(validate({.device = "gpu", .f32_flops = 1e12}).ok());
    EXPECT_FALSE(validate(DevicePeaks{}).ok());
    for (const double wrong : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
        const Status status = validate({.device = "gpu", .bytes_per_s = wrong});
        ASSERT_FALSE(status.ok());
        EXPECT_NE(status.error().message.find("bytes_per_s"), std::string::npos);
    }
}

TEST(Peaks, AreFoundByNameAndByApiWhereBothSayOne) {
    const MachinePeaks peaks{{{.device = "a", .api = "vulkan"}, {.device = "a", .api = "cuda"}, {.device = "b"}}};
    EXPECT_EQ(peaks.find("a", "cuda"), &peaks.devices[1]);
    EXPECT_EQ(peaks.find("a"), &peaks.devices[0]);
    EXPECT_EQ(peaks.find("b", "vulkan"), &peaks.devices[2]);
    EXPECT_EQ(peaks.find("c"), nullptr);
}

}    // namespace
}    // namespace lapwing
