// The tuner's fixed numbers and rules, which both ways to a recommendation share.
#pragma once

#include <optional>
#include <vector>

#include "lapwing/tuner.hpp"

namespace lapwing::detail {

inline constexpr double kDefaultBandwidth = 1000;    // GB/s
inline constexpr double kDefaultTflops = 100;
inline constexpr double kDefaultMultiprocessors = 128;
inline constexpr double kDefaultL2Mb = 48;

// Shares of a profile's time beyond which a category is the bottleneck, in this order.
inline constexpr double kAttentionShare = 0.35;
inline constexpr double kFfnShare = 0.50;
inline constexpr double kNormShare = 0.20;
inline constexpr int64_t kLongSequence = 512;

/// Tokens a second at which the weights alone take all of the bandwidth, without a clamp.
[[nodiscard]] double weight_roofline(const RunConfig& config, double bandwidth_gb_s) noexcept;

/// The linear rule: tokens a second, at least 1, before any cap. Shape: valid features.
[[nodiscard]] double linear_rule(const TunerFeatures& features) noexcept;

[[nodiscard]] KernelPrediction kernel_rule(const RunConfig& config);

/// By the categories of a profile; kUnknown where it has no time.
[[nodiscard]] BottleneckPrediction category_rule(const TunerProfile& profile);
/// By the configuration alone.
[[nodiscard]] BottleneckPrediction config_rule(const RunConfig& config);

/// What to try, by the bottleneck.
[[nodiscard]] std::vector<Experiment> experiment_rules(const RunConfig& config, BottleneckClass bottleneck,
                                                       const KernelPrediction& kernel);

}    // namespace lapwing::detail
