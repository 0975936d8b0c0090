#include "lapwing/tuner_model.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

#include "views/tuner_rules.hpp"

namespace lapwing {
namespace {

constexpr std::array<const char*, kTunerTerms> kTerms{
    "ln params",  "ln bytes_per_param", "ln hidden_dim", "ln num_layers", "ln num_heads", "ln batch_size",
    "ln seq_len", "cuda_graphs",        "prefill",       "ln kv_caches",  "ln bandwidth", "ln tflops"};
// Of each run, on standardised terms: keeps weights finite where terms say the same.
constexpr double kRidge = 1e-4;

using Terms = std::array<double, kTunerTerms>;

Terms terms_of(const RunConfig& config, const TunerDevice& device) {
    const auto ln = [](int64_t value) { return std::log(static_cast<double>(value)); };
    return {std::log(config.model_params_b),
            std::log(bytes_per_param(config.quant_type)),
            ln(config.hidden_dim),
            ln(config.num_layers),
            ln(config.num_heads),
            ln(config.batch_size),
            ln(config.seq_len),
            config.cuda_graphs ? 1.0 : 0.0,
            config.prefill ? 1.0 : 0.0,
            ln(config.kv_caches),
            std::log(device.bandwidth_gb_s.value_or(detail::kDefaultBandwidth)),
            std::log(device.tflops.value_or(detail::kDefaultTflops))};
}

struct Sample {
    Terms terms{};
    double target = 0;    // ln(tokens a second)
    std::size_t group = 0;
};

// Solves a x = b for a symmetric positive definite matrix, by Cholesky. `a` and `b` are used up.
void solve(std::array<Terms, kTunerTerms>& a, Terms& b) {
    for (std::size_t i = 0; i < kTunerTerms; ++i) {
        for (std::size_t j = 0; j <= i; ++j) {
            double sum = a[i][j];
            for (std::size_t k = 0; k < j; ++k) sum -= a[i][k] * a[j][k];
            a[i][j] = i == j ? std::sqrt(sum) : sum / a[j][j];
        }
    }
    for (std::size_t i = 0; i < kTunerTerms; ++i) {
        for (std::size_t k = 0; k < i; ++k) b[i] -= a[i][k] * b[k];
        b[i] /= a[i][i];
    }
    for (std::size_t i = kTunerTerms; i-- > 0;) {
        for (std::size_t k = i + 1; k < kTunerTerms; ++k) b[i] -= a[k][i] * b[k];
        b[i] /= a[i][i];
    }
}

// The weights of all samples but those of one group. `without` beyond the groups takes all.
TunerModelData fit(std::span<const Sample> samples, std::size_t without) {
    double n = 0;
    Terms mean{};
    double target_mean = 0;
    for (const Sample& sample : samples) {
        if (sample.group == without) continue;
        ++n;
        target_mean += sample.target;
        for (std::size_t t = 0; t < kTunerTerms; ++t) mean[t] += sample.terms[t];
    }
    target_mean /= n;
    for (double& each : mean) each /= n;
    Terms scale{};
    for (const Sample& sample : samples) {
        if (sample.group == without) continue;
        for (std::size_t t = 0; t < kTunerTerms; ++t)
            scale[t] += (sample.terms[t] - mean[t]) * (sample.terms[t] - mean[t]);
    }
    // What does not vary but for rounding has no weight.
    constexpr double kConstant = 1e-9;
    for (double& each : scale) each = std::sqrt(each / n) > kConstant ? std::sqrt(each / n) : 0;

    std::array<Terms, kTunerTerms> matrix{};
    Terms right{};
    for (const Sample& sample : samples) {
        if (sample.group == without) continue;
        Terms z{};
        for (std::size_t t = 0; t < kTunerTerms; ++t) z[t] = scale[t] > 0 ? (sample.terms[t] - mean[t]) / scale[t] : 0;
        for (std::size_t i = 0; i < kTunerTerms; ++i) {
            right[i] += z[i] * (sample.target - target_mean);
            for (std::size_t j = 0; j <= i; ++j) matrix[i][j] += z[i] * z[j];
        }
    }
    for (std::size_t t = 0; t < kTunerTerms; ++t) matrix[t][t] += kRidge * n;
    solve(matrix, right);

    TunerModelData out;
    out.intercept = target_mean;
    for (std::size_t t = 0; t < kTunerTerms; ++t) {
        out.weights[t] = scale[t] > 0 ? right[t] / scale[t] : 0;
        out.intercept -= out.weights[t] * mean[t];
    }
    return out;
}

double ln_tps(const TunerModelData& model, const Terms& terms) {
    return std::inner_product(terms.begin(), terms.end(), model.weights.begin(), model.intercept);
}

// Numbers distinct configurations on distinct devices.
std::size_t group_samples(std::vector<Sample>& samples) {
    std::vector<Terms> known;
    for (Sample& sample : samples) {
        const auto found = std::find(known.begin(), known.end(), sample.terms);
        sample.group = static_cast<std::size_t>(found - known.begin());
        if (found == known.end()) known.push_back(sample.terms);
    }
    return known.size();
}

Error bad(Errc code, std::string message) {
    return Error{code, 0, std::move(message)};
}

Result<std::vector<Sample>> samples_of(std::span<const TrainingRun> runs) {
    std::vector<Sample> out;
    for (const TrainingRun& run : runs) {
        std::string where = run.source.empty() ? "run " + std::to_string(out.size()) : run.source;
        where += ": ";
        Status valid = validate(run.config);
        if (valid.ok()) valid = validate(run.device);
        if (!valid.ok()) return bad(valid.error().code, where + valid.error().message);
        if (!(std::isfinite(run.measured_tps) && run.measured_tps > 0))
            return bad(Errc::kInvalidArgument, where + "measured_tps is " + std::to_string(run.measured_tps) +
                                                   ": it must be a positive number");
        out.push_back({terms_of(run.config, run.device), std::log(run.measured_tps), 0});
    }
    return out;
}

}    // namespace

const char* tuner_term_name(std::size_t index) noexcept {
    return kTerms[index];
}

Result<TunerModel> TunerModel::train(std::span<const TrainingRun> runs) {
    if (runs.size() < kLeastRuns)
        return bad(Errc::kInvalidArgument, "a model takes at least " + std::to_string(kLeastRuns) +
                                               " runs, and these are " + std::to_string(runs.size()) +
                                               ": record more, with other configurations");
    Result<std::vector<Sample>> samples = samples_of(runs);
    if (!samples.ok()) return samples.error();
    const std::size_t configurations = group_samples(*samples);
    constexpr std::size_t kLeastGroups = 3;    // two held out in turn leave one to learn from
    const bool by_configuration = configurations >= kLeastGroups;
    if (!by_configuration)
        for (std::size_t i = 0; i < samples->size(); ++i) (*samples)[i].group = i;
    const std::size_t groups = by_configuration ? configurations : samples->size();

    double error = 0;
    double worst = 0;
    for (std::size_t group = 0; group < groups; ++group) {
        const TunerModelData without = fit(*samples, group);
        for (const Sample& sample : *samples) {
            if (sample.group != group) continue;
            const double off = std::fabs(std::expm1(ln_tps(without, sample.terms) - sample.target));
            error += off;
            worst = std::max(worst, off);
        }
    }
    TunerModelData out = fit(*samples, groups);
    out.runs = runs.size();
    out.configurations = configurations;
    out.validation_error = error / static_cast<double>(runs.size());
    out.worst_error = worst;
    out.by_configuration = by_configuration;
    out.least = out.most = samples->front().terms;
    for (const Sample& sample : *samples) {
        for (std::size_t t = 0; t < kTunerTerms; ++t) {
            out.least[t] = std::min(out.least[t], sample.terms[t]);
            out.most[t] = std::max(out.most[t], sample.terms[t]);
        }
    }
    return from(out);
}

Result<TunerModel> TunerModel::from(const TunerModelData& data) {
    bool finite = std::isfinite(data.intercept) && std::isfinite(data.validation_error) &&
                  std::isfinite(data.worst_error) && data.validation_error >= 0;
    for (std::size_t t = 0; t < kTunerTerms; ++t)
        finite = finite && std::isfinite(data.weights[t]) && std::isfinite(data.least[t]) &&
                 std::isfinite(data.most[t]) && data.least[t] <= data.most[t];
    if (!finite) return bad(Errc::kBadFormat, "a weight, a range or an error of the model is not a finite number");
    if (data.runs < kLeastRuns || data.configurations == 0 || data.configurations > data.runs)
        return bad(Errc::kBadFormat, "a model of " + std::to_string(data.runs) + " runs of " +
                                         std::to_string(data.configurations) + " configurations cannot be");
    return TunerModel(data);
}

Result<TunerModel::Prediction> TunerModel::predict(const RunConfig& config, const TunerDevice& device) const {
    if (Status valid = validate(config); !valid.ok()) return valid.error();
    if (Status valid = validate(device); !valid.ok()) return valid.error();
    const Terms terms = terms_of(config, device);
    Prediction out;
    out.tokens_per_s = std::exp(ln_tps(data_, terms));
    out.confidence = std::max(0.0, 1 - data_.validation_error);
    constexpr double kRounding = 1e-9;
    for (std::size_t t = 0; t < kTunerTerms; ++t)
        if (terms[t] < data_.least[t] - kRounding || terms[t] > data_.most[t] + kRounding)
            out.outside.emplace_back(kTerms[t]);
    if (!(std::isfinite(out.tokens_per_s) && out.tokens_per_s > 0))
        return bad(Errc::kInvalidArgument, "this configuration is too far from what the model was trained on");
    return out;
}

std::string TunerModel::describe() const {
    char text[256];
    std::snprintf(
        text, sizeof text,
        "trained on %llu runs of %llu configuration%s; off by %.1f %% on average on held-out %s, %.1f %% at "
        "worst",
        static_cast<unsigned long long>(data_.runs), static_cast<unsigned long long>(data_.configurations),
        data_.configurations == 1 ? "" : "s", 100 * data_.validation_error,
        data_.by_configuration ? "configurations" : "runs of the same configurations, which says nothing of others",
        100 * data_.worst_error);
    return text;
}

}    // namespace lapwing
