// A throughput model made of recorded runs, which knows how wrong it is.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lapwing/result.hpp"
#include "lapwing/run_config.hpp"
#include "lapwing/tuner.hpp"

namespace lapwing {

/// One recorded run.
struct TrainingRun {
    RunConfig config{};
    TunerDevice device{};
    double measured_tps = 0;    ///< tokens a second
    std::string source{};       ///< the recording, for errors
};

inline constexpr std::size_t kTunerTerms = 12;
/// "ln params", "ln batch", ... Static string. Shape: index < kTunerTerms.
[[nodiscard]] const char* tuner_term_name(std::size_t index) noexcept;

/// A model as plain data: what its file holds.
struct TunerModelData {
    double intercept = 0;
    std::array<double, kTunerTerms> weights{};    ///< of each term, for ln(tokens a second)
    std::array<double, kTunerTerms> least{};      ///< range of each term in training: outside it extrapolates
    std::array<double, kTunerTerms> most{};
    uint64_t runs = 0;
    uint64_t configurations = 0;    ///< distinct ones among the runs
    double validation_error = 0;    ///< mean |predicted / measured - 1| of held-out runs
    double worst_error = 0;         ///< the largest of these
    /// A configuration's runs were held out together; else, with fewer than three configurations, each run alone.
    bool by_configuration = false;
};

/// ln(tokens a second) as a ridge regression over logarithms of sizes and two switches.
///
/// Its error is measured, not assumed: each configuration in turn is left out, the rest is trained on, and the left out
/// runs are predicted. Terms that do not vary among the runs have no weight, so that a model of one device says nothing
/// of others than that it extrapolates.
/// Source:  Hoerl and Kennard, Ridge Regression, 1970; leave-one-group-out cross-validation.
class TunerModel {
public:
    /// Shape:   deterministic: the order of the runs changes nothing but the last digits.
    /// Errors:  kInvalidArgument below 10 runs, or naming the run and its field that cannot be.
    /// Cost:    cold: runs x configurations x some thousand operations.
    [[nodiscard]] static Result<TunerModel> train(std::span<const TrainingRun> runs);

    /// Errors:  kBadFormat naming the figure that cannot be in a model.
    [[nodiscard]] static Result<TunerModel> from(const TunerModelData& data);
    [[nodiscard]] const TunerModelData& data() const noexcept { return data_; }

    struct Prediction {
        double tokens_per_s = 0;
        double confidence = 0;               ///< max(0, 1 - validation_error)
        std::vector<std::string> outside;    ///< terms beyond what was trained on: the confidence does not hold then
    };
    /// Errors:  those of the validations; kInvalidArgument where the extrapolation overflows.
    [[nodiscard]] Result<Prediction> predict(const RunConfig& config, const TunerDevice& device) const;

    /// "trained on 24 runs of 8 configurations; off by 6.2 % on average on held-out ones".
    [[nodiscard]] std::string describe() const;

    static constexpr uint64_t kLeastRuns = 10;

private:
    explicit TunerModel(const TunerModelData& data) noexcept : data_(data) {}
    TunerModelData data_;
};

}    // namespace lapwing
