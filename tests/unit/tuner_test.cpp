// The tuner's rules, features and answers: known numbers, evidence before rules, bad input by name.
#include "lapwing/tuner.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "lapwing/brick_profiler.hpp"
#include "lapwing/tuner_model.hpp"
#include "lapwing/tuner_report.hpp"

namespace lapwing {
namespace {

const double kNan = std::nan("");

TunerProfile profile_of_shares(uint64_t attention, uint64_t ffn, uint64_t norm, uint64_t total = 100) {
    TunerProfile out;
    out.total_ns = total;
    out.attention_ns = attention;
    out.ffn_ns = ffn;
    out.norm_ns = norm;
    return out;
}

TEST(TunerCompatible, DefaultRunWithAnEmptyEnabledProfileGivesTheKnownNumbers) {
    const TunerProfile empty = tuner_profile_of(BrickProfiler({.enabled = true}).snapshot());
    const TunerRecommendation answer = compatible_recommendation(RunConfig{}, &empty).value();
    EXPECT_NEAR(tuner_features(RunConfig{}).value().values[0], 0.39203, 5e-6);
    EXPECT_NEAR(answer.throughput.tokens_per_s, 459.88, 5e-3);
    EXPECT_NEAR(*answer.throughput.roofline_cap, 1185.19, 5e-3);
    EXPECT_FALSE(answer.throughput.capped);
    EXPECT_EQ(answer.kernel.best.kernel, KernelChoice::kCoalescedQ4K);
    EXPECT_DOUBLE_EQ(answer.kernel.best.confidence, 0.82);
    EXPECT_EQ(answer.bottleneck.bottleneck, BottleneckClass::kUnknown);
    EXPECT_DOUBLE_EQ(*answer.bottleneck.confidence, 0.95);
    EXPECT_NEAR(*answer.confidence_overall, 0.8733, 5e-5);
    EXPECT_EQ(answer.model_version, "1.0.0");
    ASSERT_EQ(answer.experiments.size(), 1u);
    EXPECT_EQ(answer.experiments[0].kind, ExperimentKind::kIncreaseBatchSize);
    EXPECT_EQ(answer.experiments[0].change, "batch_size 1 -> 4");
    EXPECT_EQ(answer.experiments[0].config.batch_size, 4);
}

TEST(TunerCompatible, KernelsFollowBatchAndGraphs) {
    const auto kernel = [](int64_t batch, bool graphs, int64_t seq = 1) {
        RunConfig config;
        config.batch_size = batch;
        config.cuda_graphs = graphs;
        config.seq_len = seq;
        return compatible_recommendation(config).value().kernel;
    };
    EXPECT_EQ(kernel(8, false).best.kernel, KernelChoice::kBatchedQ4K);
    EXPECT_DOUBLE_EQ(kernel(8, false).best.confidence, 0.90);
    EXPECT_EQ(kernel(3, false).best.kernel, KernelChoice::kVectorizedQ4K);
    EXPECT_DOUBLE_EQ(kernel(3, false).best.confidence, 0.85);
    EXPECT_EQ(kernel(1, true).best.kernel, KernelChoice::kVectorizedQ4K);
    EXPECT_DOUBLE_EQ(kernel(1, true).best.confidence, 0.88);
    ASSERT_EQ(kernel(1, false).alternatives.size(), 2u);
    EXPECT_EQ(kernel(1, false).alternatives[0].kernel, KernelChoice::kVectorizedQ4K);
    EXPECT_EQ(kernel(1, false).alternatives[1].kernel, KernelChoice::kIncrementalAttention);
    EXPECT_EQ(kernel(1, false, 129).alternatives[1].kernel, KernelChoice::kMultiWarpAttention);
    EXPECT_EQ(kernel(8, false).alternatives[1].kernel, KernelChoice::kCoalescedQ4K);
}

TEST(TunerCompatible, ThresholdsAreOfSharesAndExclusive) {
    const auto bottleneck = [](const TunerProfile& profile) {
        return compatible_recommendation(RunConfig{}, &profile).value().bottleneck.bottleneck;
    };
    EXPECT_EQ(bottleneck(profile_of_shares(36, 60, 25)), BottleneckClass::kAttentionBound);
    EXPECT_EQ(bottleneck(profile_of_shares(35, 51, 25)), BottleneckClass::kMemoryBound);
    EXPECT_EQ(bottleneck(profile_of_shares(35, 50, 21)), BottleneckClass::kLaunchBound);
    EXPECT_EQ(bottleneck(profile_of_shares(35, 50, 20)), BottleneckClass::kMemoryBound);
    EXPECT_EQ(bottleneck(profile_of_shares(0, 0, 0, 0)), BottleneckClass::kUnknown);
    RunConfig config;
    EXPECT_EQ(compatible_recommendation(config).value().bottleneck.bottleneck, BottleneckClass::kLaunchBound);
    EXPECT_DOUBLE_EQ(*compatible_recommendation(config).value().bottleneck.confidence, 0.75);
    config.batch_size = 2;
    EXPECT_DOUBLE_EQ(*compatible_recommendation(config).value().bottleneck.confidence, 0.85);
    config.seq_len = 513;
    EXPECT_EQ(compatible_recommendation(config).value().bottleneck.bottleneck, BottleneckClass::kAttentionBound);
}

TEST(TunerCompatible, TheCapLowersTheConfidence) {
    RunConfig config;
    config.model_params_b = 70;
    config.quant_type = QuantType::kF16;
    const TunerRecommendation answer = compatible_recommendation(config).value();
    EXPECT_TRUE(answer.throughput.capped);
    EXPECT_NEAR(answer.throughput.tokens_per_s, 1000.0 / 140, 1e-9);
    EXPECT_NEAR(*answer.throughput.confidence, 0.85 * 0.9, 1e-12);
}

TEST(TunerExperiments, EachRuleHasItsCase) {
    const auto kinds = [](RunConfig config, const TunerProfile& profile) {
        std::vector<ExperimentKind> out;
        const TunerRecommendation answer = compatible_recommendation(config, &profile).value();
        for (const Experiment& each : answer.experiments) out.push_back(each.kind);
        return out;
    };
    RunConfig config;
    using Kinds = std::vector<ExperimentKind>;
    EXPECT_EQ(kinds(config, profile_of_shares(0, 0, 30)),
              (Kinds{ExperimentKind::kIncreaseBatchSize, ExperimentKind::kEnableCudaGraphs}));
    EXPECT_EQ(kinds(config, profile_of_shares(0, 60, 0)),
              (Kinds{ExperimentKind::kIncreaseBatchSize, ExperimentKind::kTryKernel}));
    config.batch_size = 8;
    config.kv_caches = 8;
    config.seq_len = 2048;
    EXPECT_EQ(kinds(config, profile_of_shares(60, 0, 0)), (Kinds{ExperimentKind::kReduceSequenceLength}));
    config.kv_caches = 1;
    config.kernel_type = KernelChoice::kBatchedQ4K;
    EXPECT_EQ(kinds(config, profile_of_shares(0, 60, 0)), (Kinds{ExperimentKind::kEnableMultiKvCache}));
}

TEST(TunerFeatures, AreNumbersFromZeroToOneWithOneOfEachGroup) {
    RunConfig config;
    config.model_params_b = 671;    // beyond the scale
    config.hidden_dim = 16384;
    config.num_layers = 126;
    config.num_heads = 128;
    config.batch_size = 512;
    config.vocab_size = 128256;
    const TunerFeatures features =
        tuner_features(config, {.bandwidth_gb_s = 8000, .tflops = 1000, .multiprocessors = 132, .l2_mb = 50}).value();
    EXPECT_TRUE(validate(features).ok());
    EXPECT_EQ(features.values[0], 1);
    EXPECT_NEAR(features.values[5], std::log10(128256.0) / 6, 1e-12);
    EXPECT_EQ(features.values[6], 1);
    double sum = 0;
    for (std::size_t i = 11; i < 35; ++i) sum += features.values[i];
    EXPECT_EQ(sum, 2) << "one quantisation and one kernel";
    EXPECT_EQ(tuner_feature_name(13), "quant_q4_k");
    EXPECT_EQ(tuner_feature_name(19), "kernel_VectorizedQ4K");
    EXPECT_EQ(tuner_feature_name(37), "multiprocessors");
    EXPECT_EQ(tuner_feature_name(41), "of_roofline");
}

TEST(TunerFeatures, WhatCannotBeIsNamed) {
    const TunerFeatures good = tuner_features(RunConfig{}).value();
    for (const double wrong : {kNan, std::numeric_limits<double>::infinity(), -0.002, 1.002}) {
        TunerFeatures features = good;
        features.values[35] = wrong;
        const Status status = validate(features);
        ASSERT_FALSE(status.ok()) << wrong;
        EXPECT_NE(status.error().message.find("feature bandwidth is"), std::string::npos);
    }
    TunerFeatures two = good;
    two.values[11] = 1;    // q4_0 beside q4_k
    EXPECT_NE(validate(two).error().message.find("the quantisation features add up to 2"), std::string::npos);
    TunerFeatures none = good;
    none.values[13] = 0;
    EXPECT_TRUE(validate(none).ok()) << "none of a group is allowed";
}

TEST(TunerConfig, BadSizesAreNamed) {
    const auto message = [](auto&& change) {
        RunConfig config;
        change(config);
        const Status status = validate(config);
        return status.ok() ? std::string() : status.error().message;
    };
    EXPECT_NE(message([](RunConfig& c) { c.model_params_b = kNan; }).find("model_params_b is nan"), std::string::npos);
    EXPECT_NE(message([](RunConfig& c) { c.model_params_b = 0; }).find("model_params_b"), std::string::npos);
    EXPECT_NE(message([](RunConfig& c) { c.hidden_dim = -1; }).find("hidden_dim is -1: it must be from 1"),
              std::string::npos);
    EXPECT_NE(message([](RunConfig& c) { c.num_layers = INT64_MAX; }).find("num_layers is 9223372036854775807"),
              std::string::npos);
    EXPECT_NE(message([](RunConfig& c) { c.num_heads = 1537; }).find("num_heads is 1537: it must be from 1 to 1536"),
              std::string::npos);
    EXPECT_NE(message([](RunConfig& c) { c.batch_size = 0; }).find("batch_size is 0"), std::string::npos);
    EXPECT_NE(message([](RunConfig& c) { c.seq_len = INT64_MIN; }).find("seq_len"), std::string::npos);
    EXPECT_NE(message([](RunConfig& c) { c.kv_caches = 0; }).find("kv_caches"), std::string::npos);
    RunConfig config;
    config.batch_size = -4;
    EXPECT_FALSE(recommend(config).ok());
    EXPECT_FALSE(compatible_recommendation(config).ok());
    EXPECT_NE(recommend(RunConfig{}, {.bandwidth_gb_s = kNan}).error().message.find("bandwidth_gb_s is nan"),
              std::string::npos);
}

TEST(TunerConfig, JsonComesBackAndMistakesAreNamed) {
    RunConfig config;
    config.model_params_b = 0.015;
    config.batch_size = 7;
    config.quant_type = QuantType::kQ6K;
    config.kernel_type = KernelChoice::kFlashAttention;
    config.prefill = true;
    EXPECT_EQ(parse_run_config(to_json(config)).value(), config);
    const auto message = [](const char* rest) {
        const auto parsed = parse_run_config(std::string(R"({"schema":"lapwing.run_config/1",)") + rest + "}");
        return parsed.ok() ? std::string() : parsed.error().message;
    };
    EXPECT_NE(message(R"("batchsize":2)").find("\"batchsize\" is no key"), std::string::npos);
    EXPECT_NE(message(R"("batch_size":1.5)").find("batch_size must be a whole number"), std::string::npos);
    EXPECT_NE(message(R"("batch_size":18446744073709551615)").find("batch_size must be a whole number"),
              std::string::npos);
    EXPECT_NE(message(R"("batch_size":1e400)").find("JSON"), std::string::npos);
    EXPECT_NE(message(R"("batch_size":-3)").find("batch_size is -3"), std::string::npos);
    EXPECT_NE(message(R"("quant_type":"q9")").find("quant_type: \"q9\" is no quantisation"), std::string::npos);
    EXPECT_NE(message(R"("kernel_type":3)").find("kernel_type must be a string"), std::string::npos);
    EXPECT_FALSE(parse_run_config("[]").ok());
    EXPECT_FALSE(parse_run_config("{}").ok());
    EXPECT_FALSE(parse_run_config("{").ok());
}

TEST(Tuner, MeasuredComesBeforeRulesAndRulesClaimNoConfidence) {
    const TunerRecommendation ruled = recommend(RunConfig{}).value();
    EXPECT_EQ(ruled.throughput.basis, Basis::kRuleOfThumb);
    EXPECT_EQ(ruled.bottleneck.basis, Basis::kRuleOfThumb);
    EXPECT_FALSE(ruled.throughput.confidence || ruled.bottleneck.confidence || ruled.confidence_overall);
    EXPECT_FALSE(ruled.assumptions.empty());
    EXPECT_FALSE(ruled.throughput.roofline_cap) << "no bandwidth, no cap";

    TunerProfile profile = profile_of_shares(60, 0, 0);
    profile.measured_tps = 41.5;
    profile.gpu_share = 0.97;
    profile.roofline = roofline({1000, 1'000'000}, 2000, {.flops_per_s = 1e12, .bytes_per_s = 1e12, .launch_ns = {}});
    const TunerRecommendation measured = recommend(RunConfig{}, {.bandwidth_gb_s = 50}, &profile).value();
    EXPECT_EQ(measured.throughput.basis, Basis::kMeasured);
    EXPECT_DOUBLE_EQ(measured.throughput.tokens_per_s, 41.5);
    EXPECT_NEAR(*measured.throughput.roofline_cap, 50 / (1.5 * 0.5625), 1e-9);
    EXPECT_FALSE(measured.throughput.model_error);
    EXPECT_EQ(measured.bottleneck.bottleneck, BottleneckClass::kMemoryBound) << "the roofline, not the categories";
    EXPECT_EQ(measured.bottleneck.basis, Basis::kMeasured);
    profile.gpu_share = 0.3;
    EXPECT_EQ(recommend(RunConfig{}, {}, &profile).value().bottleneck.bottleneck, BottleneckClass::kLaunchBound);
    profile.gpu_share.reset();
    profile.roofline.reset();
    EXPECT_EQ(recommend(RunConfig{}, {}, &profile).value().bottleneck.bottleneck, BottleneckClass::kAttentionBound);
    EXPECT_TRUE(recommend(RunConfig{}, {.bandwidth_gb_s = 10}, &profile).value().throughput.model_error);
}

TEST(Tuner, BrickProfilersTunerIsOffWhereTheProfilerIs) {
    BrickProfiler profiler;
    EXPECT_FALSE(get_tuner_recommendations(profiler.snapshot(), RunConfig{}).value());
    profiler.enable();
    profiler.record_elapsed("AttentionScore", 4000, 10);
    profiler.record_elapsed("RmsNorm", 1000, 10);
    const auto answer = get_tuner_recommendations(profiler.snapshot(), RunConfig{}).value();
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->bottleneck.bottleneck, BottleneckClass::kAttentionBound);
    EXPECT_NE(answer->bottleneck.evidence.find("80.0 %"), std::string::npos);
}

TEST(Tuner, AnswersAreDeterministicAndSayWhatIsARuleOfThumb) {
    const TunerProfile profile = profile_of_shares(10, 60, 5);
    TunerSubject subject;
    subject.profile = profile;
    const TunerRecommendation first = recommend(RunConfig{}, {}, &profile).value();
    const TunerRecommendation second = recommend(RunConfig{}, {}, &profile).value();
    EXPECT_EQ(to_json(subject, first), to_json(subject, second));
    const std::string text = to_text(subject, first);
    EXPECT_NE(text.find("tok/s (rule of thumb)"), std::string::npos) << text;
    EXPECT_NE(text.find("try         batch_size 1 -> 4 (rule of thumb)"), std::string::npos) << text;
    EXPECT_EQ(
        to_line(first),
        "459.9 tok/s (rule of thumb), CoalescedQ4K, MemoryBound, try batch_size 1 -> 4; kernel_type VectorizedQ4K "
        "-> CoalescedQ4K");
}

TEST(Tuner, GradesAreByRelativeError) {
    EXPECT_EQ(grade_of(104, 100).value(), PredictionGrade::kExcellent);
    EXPECT_EQ(grade_of(94, 100).value(), PredictionGrade::kGood);
    EXPECT_EQ(grade_of(119, 100).value(), PredictionGrade::kFair);
    EXPECT_EQ(grade_of(121, 100).value(), PredictionGrade::kPoor);
    EXPECT_FALSE(grade_of(0, 100).ok());
    EXPECT_FALSE(grade_of(1, kNan).ok());
    EXPECT_EQ(comparison_line(450, 459.9).value(), "predicted 450.0 tok/s, measured 459.9: off by 2.2 %, excellent");
}

}    // namespace
}    // namespace lapwing
