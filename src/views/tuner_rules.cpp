#include "views/tuner_rules.hpp"

#include <algorithm>
#include <cstdio>
#include <string>

namespace lapwing::detail {
namespace {

// Places of the features that the linear rule weighs.
constexpr std::size_t kParams = 0, kBatch = 6, kSeq = 7, kGraphs = 8, kBandwidth = 35, kMultiprocessors = 37;

std::string takes(const char* what, uint64_t part, uint64_t whole) {
    char text[96];
    std::snprintf(text, sizeof text, "%s takes %.1f %% of the time", what,
                  100 * static_cast<double>(part) / static_cast<double>(whole));
    return text;
}

Experiment changed(ExperimentKind kind, RunConfig config, std::string change, std::string why) {
    Experiment out;
    out.kind = kind;
    out.config = config;
    out.change = std::move(change);
    out.why = std::move(why);
    return out;
}

std::string from_to(const char* what, int64_t from, int64_t to) {
    return std::string(what) + " " + std::to_string(from) + " -> " + std::to_string(to);
}

}    // namespace

double weight_roofline(const RunConfig& config, double bandwidth_gb_s) noexcept {
    return bandwidth_gb_s * tokens_per_step(config) / (config.model_params_b * bytes_per_param(config.quant_type));
}

double linear_rule(const TunerFeatures& features) noexcept {
    const auto& f = features.values;
    const double score = 0.4 - 0.15 * f[kParams] + 0.3 * f[kBatch] - 0.05 * f[kSeq] + 0.1 * f[kGraphs] +
                         0.15 * f[kBandwidth] + 0.1 * f[kMultiprocessors];
    return std::max(1.0, score * 1000);
}

KernelPrediction kernel_rule(const RunConfig& config) {
    KernelPrediction out;
    if (config.batch_size >= 4)
        out.best = {KernelChoice::kBatchedQ4K, 0.90};
    else if (config.batch_size >= 2)
        out.best = {KernelChoice::kVectorizedQ4K, 0.85};
    else if (config.cuda_graphs)
        out.best = {KernelChoice::kVectorizedQ4K, 0.88};
    else
        out.best = {KernelChoice::kCoalescedQ4K, 0.82};
    const KernelChoice attention =
        config.seq_len > 128 ? KernelChoice::kMultiWarpAttention : KernelChoice::kIncrementalAttention;
    for (const KernelOption& option : {KernelOption{KernelChoice::kVectorizedQ4K, 0.85},
                                       KernelOption{KernelChoice::kCoalescedQ4K, 0.75}, KernelOption{attention, 0.70}})
        if (option.kernel != out.best.kernel && out.alternatives.size() < 2) out.alternatives.push_back(option);
    return out;
}

BottleneckPrediction category_rule(const TunerProfile& profile) {
    BottleneckPrediction out;
    out.confidence = 0.95;
    if (profile.total_ns == 0) {
        out.evidence = "the profile has no time";
        return out;
    }
    const auto above = [&](uint64_t part, double share) {
        return static_cast<double>(part) > share * static_cast<double>(profile.total_ns);
    };
    out.bottleneck = BottleneckClass::kMemoryBound;
    if (above(profile.attention_ns, kAttentionShare)) {
        out.bottleneck = BottleneckClass::kAttentionBound;
        out.evidence = takes("attention", profile.attention_ns, profile.total_ns);
    } else if (above(profile.ffn_ns, kFfnShare)) {
        out.evidence = takes("the feed-forward network", profile.ffn_ns, profile.total_ns);
    } else if (above(profile.norm_ns, kNormShare)) {
        out.bottleneck = BottleneckClass::kLaunchBound;
        out.evidence = takes("normalisation", profile.norm_ns, profile.total_ns);
    } else {
        out.evidence = "no category stands out";
    }
    return out;
}

BottleneckPrediction config_rule(const RunConfig& config) {
    BottleneckPrediction out;
    if (config.batch_size == 1 && !config.cuda_graphs) {
        out.bottleneck = BottleneckClass::kLaunchBound;
        out.confidence = 0.75;
        out.evidence = "one sequence without graphs";
    } else if (config.seq_len > kLongSequence) {
        out.bottleneck = BottleneckClass::kAttentionBound;
        out.confidence = 0.80;
        out.evidence = "a sequence of more than 512";
    } else {
        out.bottleneck = BottleneckClass::kMemoryBound;
        out.confidence = 0.85;
        out.evidence = "several sequences, or graphs";
    }
    return out;
}

std::vector<Experiment> experiment_rules(const RunConfig& config, BottleneckClass bottleneck,
                                         const KernelPrediction& kernel) {
    std::vector<Experiment> out;
    RunConfig next = config;
    if (config.batch_size < 4) {
        next.batch_size = 4;
        out.push_back(changed(ExperimentKind::kIncreaseBatchSize, next,
                              from_to("batch_size", config.batch_size, next.batch_size),
                              "weights that are read once serve more sequences"));
    }
    next = config;
    next.cuda_graphs = true;
    if (bottleneck == BottleneckClass::kLaunchBound && !config.cuda_graphs)
        out.push_back(changed(ExperimentKind::kEnableCudaGraphs, next, "cuda_graphs false -> true",
                              "a replayed graph launches all kernels of a step at once"));
    next = config;
    next.kernel_type = kernel.best.kernel;
    if (bottleneck == BottleneckClass::kMemoryBound && kernel.best.kernel != config.kernel_type)
        out.push_back(
            changed(ExperimentKind::kTryKernel, next,
                    std::string("kernel_type ") + to_text(config.kernel_type) + " -> " + to_text(kernel.best.kernel),
                    "another order of reading the weights"));
    next = config;
    next.seq_len = std::max<int64_t>(1, config.seq_len / 2);
    if (bottleneck == BottleneckClass::kAttentionBound && config.seq_len > kLongSequence)
        out.push_back(changed(ExperimentKind::kReduceSequenceLength, next,
                              from_to("seq_len", config.seq_len, next.seq_len), "attention grows with the context"));
    next = config;
    next.kv_caches = config.batch_size;
    if (config.batch_size >= 4 && config.kv_caches < config.batch_size)
        out.push_back(changed(ExperimentKind::kEnableMultiKvCache, next,
                              from_to("kv_caches", config.kv_caches, next.kv_caches),
                              "sequences of a batch do not wait for one cache"));
    return out;
}

}    // namespace lapwing::detail
