// What to try next, from how a model is run, what its device can do and where its time goes.
//
// Two ways to a recommendation. `recommend()` goes by evidence: measured figures first, then a model that was trained
// on recordings, then rules of thumb, and each part of the answer says which of these it is.
// `compatible_recommendation()` answers as BrickProfiler's tuner always did, with its fixed numbers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lapwing/brick_snapshot.hpp"
#include "lapwing/result.hpp"
#include "lapwing/roofline.hpp"
#include "lapwing/run_config.hpp"

namespace lapwing {

/// What a tuner knows of a device. Absent = not known; rules of thumb then take the default and say so.
struct TunerDevice {
    std::string name{};
    std::optional<double> bandwidth_gb_s{};     ///< default 1000
    std::optional<double> tflops{};             ///< default 100
    std::optional<double> multiprocessors{};    ///< default 128
    std::optional<double> l2_mb{};              ///< default 48
    bool zero_copy = false;                     ///< host and device share their memory
};
/// Errors:  kInvalidArgument naming the property that is not finite and positive.
[[nodiscard]] Status validate(const TunerDevice& device);
/// What measured or given peaks say of it.
[[nodiscard]] TunerDevice tuner_device_of(const DevicePeaks& peaks);

/// Where the time of a run went.
struct TunerProfile {
    bool enabled = true;          ///< false: there is nothing to go by, and no recommendation
    uint64_t total_ns = 0;        ///< of bricks, or of device work
    uint64_t attention_ns = 0;    ///< by category
    uint64_t ffn_ns = 0;
    uint64_t norm_ns = 0;
    bool by_label = false;                        ///< categories were guessed from labels ("ffn_up-0"), not stated
    uint64_t steps = 0;                           ///< that measured_tps is of
    std::optional<double> measured_tps{};         ///< tokens a second
    std::optional<double> gpu_share{};            ///< of a step's wall time in which the device worked
    std::optional<RooflineFigures> roofline{};    ///< where most of the time has known work and peaks
    bool zero_copy = false;
};
[[nodiscard]] TunerProfile tuner_profile_of(const BrickSnapshot& bricks);

class ReportBuilder;
/// The profile of a recording that a report builder was fed.
/// Shape:   steps that were cut off or contain first uses are left out; `peaks` may be null.
/// Errors:  kNotFound where it has no finished step or no device time, saying how to record them.
[[nodiscard]] Result<TunerProfile> tuner_profile_of(const ReportBuilder& recording, const RunConfig& config,
                                                    const MachinePeaks* peaks = nullptr);
/// The device that did most of the work, by the recording and the peaks.
[[nodiscard]] TunerDevice tuner_device_of(const ReportBuilder& recording, const MachinePeaks* peaks = nullptr);

// --- Features -------------------------------------------------------------------------------------------------------

inline constexpr std::size_t kTunerFeatureCount = 42;
/// A run as 42 numbers from 0 to 1: 11 of the configuration, 8 of its quantisation and 16 of its kernel (one is 1), 5
/// of the device, 2 derived. What lies beyond its scale is 1.
struct TunerFeatures {
    std::array<double, kTunerFeatureCount> values{};
    // Labels, where they are known.
    std::optional<double> measured_tps{};
    std::optional<KernelChoice> best_kernel{};
};
/// "params", "quant_q4_k", ... Static string. Shape: index < kTunerFeatureCount.
[[nodiscard]] std::string tuner_feature_name(std::size_t index);

/// Errors:  those of the validations of its parts.
[[nodiscard]] Result<TunerFeatures> tuner_features(const RunConfig& config, const TunerDevice& device = {},
                                                   const TunerProfile* profile = nullptr);
/// Errors:  kInvalidArgument naming the feature that is NaN, infinite or beyond -0.001 .. 1.001, or the group whose sum
///          is neither 0 nor 1.
[[nodiscard]] Status validate(const TunerFeatures& features);

// --- Recommendations ------------------------------------------------------------------------------------------------

/// What part of an answer rests on.
enum class Basis : uint8_t {
    kRuleOfThumb = 0,    ///< a fixed rule or number: worth an experiment, not a promise
    kTrained,            ///< a model of recorded runs, with its error on runs that it had not seen
    kMeasured,           ///< this run's own figures
};
/// "rule_of_thumb", "trained", "measured". Static string.
[[nodiscard]] const char* to_text(Basis basis) noexcept;

enum class BottleneckClass : uint8_t { kUnknown = 0, kMemoryBound, kComputeBound, kAttentionBound, kLaunchBound };
/// "Unknown", "MemoryBound", ... Static string.
[[nodiscard]] const char* to_text(BottleneckClass bottleneck) noexcept;
/// What to do about it, one sentence. Static string.
[[nodiscard]] const char* advice(BottleneckClass bottleneck) noexcept;

struct ThroughputPrediction {
    double tokens_per_s = 0;
    /// What the weights' traffic allows: bandwidth x batch / bytes of the weights. Absent where it is not known.
    std::optional<double> roofline_cap{};
    bool capped = false;                   ///< tokens_per_s is that cap
    bool model_error = false;              ///< measured above the cap: the bandwidth or the configuration is wrong
    std::optional<double> confidence{};    ///< 1 - relative error; absent where nobody knows it
    Basis basis = Basis::kRuleOfThumb;
};

struct KernelOption {
    KernelChoice kernel = KernelChoice::kOther;
    double confidence = 0;    ///< a fixed number of the rule
};
struct KernelPrediction {
    KernelOption best;
    std::vector<KernelOption> alternatives;    ///< two
    Basis basis = Basis::kRuleOfThumb;
};

struct BottleneckPrediction {
    BottleneckClass bottleneck = BottleneckClass::kUnknown;
    std::optional<double> confidence{};
    Basis basis = Basis::kRuleOfThumb;
    std::string evidence{};    ///< "attention takes 41 % of the time"
};

enum class ExperimentKind : uint8_t {
    kIncreaseBatchSize = 0,
    kEnableCudaGraphs,
    kTryKernel,
    kReduceSequenceLength,
    kEnableMultiKvCache,
};
/// "IncreaseBatchSize", ... Static string.
[[nodiscard]] const char* to_text(ExperimentKind kind) noexcept;

struct Experiment {
    ExperimentKind kind = ExperimentKind::kIncreaseBatchSize;
    RunConfig config{};      ///< the run to try
    std::string change{};    ///< "batch_size 1 -> 4"
    std::string why{};
    std::optional<double> predicted_tps{};    ///< by a trained model
};

/// The version of the rules and of their numbers.
inline constexpr const char* kTunerRules = "1.0.0";

struct TunerRecommendation {
    ThroughputPrediction throughput;
    KernelPrediction kernel;
    BottleneckPrediction bottleneck;
    std::string model_version = kTunerRules;    ///< of the rules, or the trained model's
    std::optional<double> confidence_overall{};
    std::vector<Experiment> experiments;
    std::vector<std::string> assumptions;    ///< defaults that stood in for what was not known
};

class TunerModel;
/// By evidence: measured figures, else `model`, else rules of thumb.
/// Shape:   deterministic. `model` may be null. A profile that is not enabled counts as none.
/// Errors:  those of the validations.
[[nodiscard]] Result<TunerRecommendation> recommend(const RunConfig& config, const TunerDevice& device = {},
                                                    const TunerProfile* profile = nullptr,
                                                    const TunerModel* model = nullptr);

/// As BrickProfiler's tuner answers: its weights, thresholds and fixed confidences, the default hardware, categories
/// alone. For comparison with it; recommend() knows more and claims less.
/// Errors:  those of validate(config).
[[nodiscard]] Result<TunerRecommendation> compatible_recommendation(const RunConfig& config,
                                                                    const TunerProfile* profile = nullptr);

/// The tuner of a brick profiler: `get_tuner_recommendations(profiler.snapshot(), config)`.
/// Returns: nothing where the profiler is off.
[[nodiscard]] Result<std::optional<TunerRecommendation>> get_tuner_recommendations(const BrickSnapshot& bricks,
                                                                                   const RunConfig& config,
                                                                                   const TunerDevice& device = {},
                                                                                   const TunerModel* model = nullptr);

/// How near a prediction came: |predicted / actual - 1| below 5, 10, 20 % or above.
enum class PredictionGrade : uint8_t { kExcellent = 0, kGood, kFair, kPoor };
/// "excellent", "good", "fair", "poor". Static string.
[[nodiscard]] const char* to_text(PredictionGrade grade) noexcept;
/// Errors:  kInvalidArgument where a figure is not finite and positive.
[[nodiscard]] Result<PredictionGrade> grade_of(double predicted_tps, double actual_tps);

}    // namespace lapwing
