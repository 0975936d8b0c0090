#include "lapwing/tuner.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "lapwing/tuner_model.hpp"
#include "views/tuner_rules.hpp"

namespace lapwing {
namespace {

constexpr std::array<const char*, 3> kBases{"rule_of_thumb", "trained", "measured"};
constexpr std::array<const char*, 5> kBottlenecks{"Unknown", "MemoryBound", "ComputeBound", "AttentionBound",
                                                  "LaunchBound"};
constexpr std::array<const char*, 5> kAdvice{
    "Record a run with its categories, or state FLOPs and bytes, to find out.",
    "Read fewer bytes: a smaller quantisation, a larger batch, a kernel with wider loads.",
    "Compute less or faster: tensor cores or dot products of small integers, fused operations.",
    "Shorten what attention reads: flash attention, a shorter context, fewer key and value heads.",
    "Launch less: replay a graph, fuse small kernels, work on more sequences a step."};
constexpr std::array<const char*, 5> kExperiments{"IncreaseBatchSize", "EnableCudaGraphs", "TryKernel",
                                                  "ReduceSequenceLength", "EnableMultiKvCache"};
constexpr std::array<const char*, 4> kGrades{"excellent", "good", "fair", "poor"};

// Below this share of a step's wall time with the device at work, launches and waits are the bottleneck.
constexpr double kBusyShare = 0.5;

std::string percent(const char* text, double share) {
    char out[128];
    std::snprintf(out, sizeof out, text, 100 * share);
    return out;
}

// Measured before stated, stated before guessed.
BottleneckPrediction bottleneck_of_run(const RunConfig& config, const TunerProfile* profile) {
    BottleneckPrediction out;
    if (profile != nullptr && profile->gpu_share && *profile->gpu_share < kBusyShare) {
        out.bottleneck = BottleneckClass::kLaunchBound;
        out.basis = Basis::kMeasured;
        out.evidence = percent("the device works %.1f %% of a step's wall time", *profile->gpu_share);
        return out;
    }
    if (profile != nullptr && profile->roofline && profile->roofline->bound != Bound::kUnknown &&
        !profile->roofline->model_error) {
        const Bound bound = profile->roofline->bound;
        out.bottleneck = bound == Bound::kMemory    ? BottleneckClass::kMemoryBound
                         : bound == Bound::kCompute ? BottleneckClass::kComputeBound
                                                    : BottleneckClass::kLaunchBound;
        out.basis = Basis::kMeasured;
        out.evidence = std::string(to_text(bound)) +
                       percent(" is the roof, and %.1f %% of it is reached", *profile->roofline->share);
        return out;
    }
    const bool categories =
        profile != nullptr && profile->attention_ns + profile->ffn_ns + profile->norm_ns > 0 && profile->total_ns > 0;
    out = categories ? detail::category_rule(*profile) : detail::config_rule(config);
    if (categories && profile->by_label) out.evidence += ", by the labels of its operations";
    if (out.bottleneck == BottleneckClass::kLaunchBound && profile != nullptr && profile->gpu_share) {
        // Measured before guessed: what the device waits for are not launches.
        out.bottleneck = BottleneckClass::kUnknown;
        out.evidence +=
            percent("; but the device works %.1f %% of a step's wall time, so it is not launches", *profile->gpu_share);
    }
    out.confidence.reset();    // the rule's number was never measured
    return out;
}

ThroughputPrediction throughput_of_run(const RunConfig& config, const TunerDevice& device, const TunerProfile* profile,
                                       const TunerModel* model, const TunerFeatures& features,
                                       TunerRecommendation& recommendation, Status& status) {
    ThroughputPrediction out;
    if (device.bandwidth_gb_s) out.roofline_cap = detail::weight_roofline(config, *device.bandwidth_gb_s);
    if (profile != nullptr && profile->measured_tps) {
        out.tokens_per_s = *profile->measured_tps;
        out.basis = Basis::kMeasured;
        out.model_error = out.roofline_cap && out.tokens_per_s > *out.roofline_cap;
        return out;
    }
    if (model != nullptr) {
        const Result<TunerModel::Prediction> predicted = model->predict(config, device);
        if (!predicted.ok()) {
            status = predicted.error();
            return out;
        }
        out.tokens_per_s = predicted->tokens_per_s;
        out.basis = Basis::kTrained;
        if (predicted->outside.empty()) out.confidence = predicted->confidence;
        for (const std::string& term : predicted->outside)
            recommendation.assumptions.push_back(term + " is beyond the runs that the model was trained on");
    } else {
        out.tokens_per_s = detail::linear_rule(features);
    }
    if (out.roofline_cap && out.tokens_per_s > *out.roofline_cap) {
        out.tokens_per_s = *out.roofline_cap;
        out.capped = true;
    }
    return out;
}

void assume(const TunerDevice& device, std::vector<std::string>& out) {
    if (!device.bandwidth_gb_s) out.emplace_back("the device's memory bandwidth is not known: 1000 GB/s stands in");
    if (!device.multiprocessors) out.emplace_back("its number of multiprocessors is not known: 128 stand in");
}

}    // namespace

const char* to_text(Basis basis) noexcept {
    return kBases[static_cast<std::size_t>(basis)];
}
const char* to_text(BottleneckClass bottleneck) noexcept {
    return kBottlenecks[static_cast<std::size_t>(bottleneck)];
}
const char* advice(BottleneckClass bottleneck) noexcept {
    return kAdvice[static_cast<std::size_t>(bottleneck)];
}
const char* to_text(ExperimentKind kind) noexcept {
    return kExperiments[static_cast<std::size_t>(kind)];
}
const char* to_text(PredictionGrade grade) noexcept {
    return kGrades[static_cast<std::size_t>(grade)];
}

Result<PredictionGrade> grade_of(double predicted_tps, double actual_tps) {
    for (const auto& [name, value] : {std::pair{"predicted_tps", predicted_tps}, std::pair{"actual_tps", actual_tps}})
        if (!(std::isfinite(value) && value > 0))
            return Error{Errc::kInvalidArgument, 0,
                         std::string(name) + " is " + std::to_string(value) + ": it must be a positive number"};
    const double off = std::fabs(predicted_tps / actual_tps - 1);
    return off < 0.05   ? PredictionGrade::kExcellent
           : off < 0.10 ? PredictionGrade::kGood
           : off < 0.20 ? PredictionGrade::kFair
                        : PredictionGrade::kPoor;
}

Result<TunerRecommendation> recommend(const RunConfig& config, const TunerDevice& device, const TunerProfile* profile,
                                      const TunerModel* model) {
    if (profile != nullptr && !profile->enabled) profile = nullptr;
    const Result<TunerFeatures> features = tuner_features(config, device, profile);
    if (!features.ok()) return features.error();
    TunerRecommendation out;
    Status status;
    out.throughput = throughput_of_run(config, device, profile, model, *features, out, status);
    if (!status.ok()) return status.error();
    out.kernel = detail::kernel_rule(config);
    out.bottleneck = bottleneck_of_run(config, profile);
    out.experiments = detail::experiment_rules(config, out.bottleneck.bottleneck, out.kernel);
    out.confidence_overall = out.throughput.confidence;
    if (out.throughput.basis == Basis::kRuleOfThumb) assume(device, out.assumptions);
    if (model == nullptr) return out;
    out.model_version = model->describe();
    const auto now = model->predict(config, device);
    for (Experiment& experiment : out.experiments) {
        const auto predicted = model->predict(experiment.config, device);
        // Where the change is of something that is no term of the model, or never varied in training, it knows nothing.
        if (predicted.ok() && predicted->outside.empty() && now.ok() && predicted->tokens_per_s != now->tokens_per_s)
            experiment.predicted_tps = predicted->tokens_per_s;
    }
    return out;
}

Result<TunerRecommendation> compatible_recommendation(const RunConfig& config, const TunerProfile* profile) {
    const Result<TunerFeatures> features = tuner_features(config);
    if (!features.ok()) return features.error();
    TunerRecommendation out;
    ThroughputPrediction& throughput = out.throughput;
    const double cap = std::clamp(detail::weight_roofline(config, detail::kDefaultBandwidth), 1.0, 10000.0);
    const double rule = detail::linear_rule(*features);
    constexpr double kInitialError = 0.15;
    throughput.roofline_cap = cap;
    throughput.capped = rule > cap;
    throughput.tokens_per_s = std::min(rule, cap);
    throughput.confidence = std::max(0.5, 1 - kInitialError) * (throughput.capped ? 0.9 : 1.0);
    out.kernel = detail::kernel_rule(config);
    out.bottleneck = profile != nullptr ? detail::category_rule(*profile) : detail::config_rule(config);
    out.experiments = detail::experiment_rules(config, out.bottleneck.bottleneck, out.kernel);
    out.confidence_overall = (*throughput.confidence + out.kernel.best.confidence + *out.bottleneck.confidence) / 3;
    return out;
}

Result<std::optional<TunerRecommendation>> get_tuner_recommendations(const BrickSnapshot& bricks,
                                                                     const RunConfig& config, const TunerDevice& device,
                                                                     const TunerModel* model) {
    if (!bricks.enabled) return std::optional<TunerRecommendation>();
    const TunerProfile profile = tuner_profile_of(bricks);
    Result<TunerRecommendation> out = recommend(config, device, &profile, model);
    if (!out.ok()) return out.error();
    return std::optional<TunerRecommendation>(std::move(*out));
}

}    // namespace lapwing
