#include <fmt/format.h>

#include <cmath>

#include "export/figures.hpp"
#include "export/names.hpp"
#include "lapwing/tuner_report.hpp"

namespace lapwing {
namespace {

using detail::percent_text;

const char* words(Basis basis) {
    return basis == Basis::kMeasured ? "measured" : basis == Basis::kTrained ? "by the trained model" : "rule of thumb";
}

std::string confident(const std::optional<double>& confidence) {
    return confidence ? fmt::format(", confidence {:.2f}", *confidence) : "";
}

std::string config_line(const RunConfig& config) {
    return fmt::format("{}B parameters in {}, {} layers of {}, {} heads; batch {}, {} token{} a sequence{}{}; {}",
                       config.model_params_b, to_text(config.quant_type), config.num_layers, config.hidden_dim,
                       config.num_heads, config.batch_size, config.seq_len, config.seq_len == 1 ? "" : "s",
                       config.prefill ? ", prefill" : "", config.cuda_graphs ? ", graphs" : "",
                       to_text(config.kernel_type));
}

std::string device_line(const TunerDevice& device) {
    std::string out = device.name.empty() ? "not known" : detail::printable(device.name);
    if (device.bandwidth_gb_s) out += fmt::format(", {} GB/s", detail::significant_text(*device.bandwidth_gb_s));
    if (device.tflops) out += fmt::format(", {} TFLOP/s", detail::significant_text(*device.tflops));
    return out;
}

std::string throughput_line(const ThroughputPrediction& throughput) {
    std::string out = fmt::format("{} tok/s ({}{})", detail::significant_text(throughput.tokens_per_s),
                                  words(throughput.basis), confident(throughput.confidence));
    if (!throughput.roofline_cap) return out;
    const std::string cap = detail::significant_text(*throughput.roofline_cap);
    if (throughput.capped) return out + ": all that the memory allows";
    if (throughput.model_error)
        return out + fmt::format(
                         ": above the {} that the memory allows, so the bandwidth or the configuration is wrong", cap);
    return out + fmt::format(", {} of the {} that the memory allows",
                             percent_text(throughput.tokens_per_s / *throughput.roofline_cap), cap);
}

std::string kernel_line(const KernelPrediction& kernel) {
    std::string out =
        fmt::format("{} ({}, {:.2f})", to_text(kernel.best.kernel), words(kernel.basis), kernel.best.confidence);
    for (std::size_t i = 0; i < kernel.alternatives.size(); ++i)
        out += fmt::format("{}{} {:.2f}", i == 0 ? "; else " : ", ", to_text(kernel.alternatives[i].kernel),
                           kernel.alternatives[i].confidence);
    return out;
}

}    // namespace

std::string to_text(const TunerSubject& subject, const TunerRecommendation& recommendation) {
    std::string out;
    const auto line = [&out](const char* label, const std::string& text) {
        out += fmt::format("{:<11} {}\n", label, text);
    };
    if (!subject.file.empty()) line("recording", detail::printable(subject.file));
    line("run", config_line(subject.config));
    line("device", device_line(subject.device));
    line("throughput", throughput_line(recommendation.throughput));
    const BottleneckPrediction& bottleneck = recommendation.bottleneck;
    line("bottleneck", fmt::format("{} ({}{}): {}", to_text(bottleneck.bottleneck), words(bottleneck.basis),
                                   confident(bottleneck.confidence),
                                   bottleneck.evidence.empty() ? "no evidence" : bottleneck.evidence));
    line("", advice(bottleneck.bottleneck));
    line("kernel", kernel_line(recommendation.kernel));
    if (recommendation.experiments.empty()) line("try", "nothing: no rule applies");
    for (const Experiment& experiment : recommendation.experiments) {
        const std::string effect =
            experiment.predicted_tps
                ? fmt::format("{} tok/s by the trained model", detail::significant_text(*experiment.predicted_tps))
                : "rule of thumb";
        line("try", fmt::format("{} ({}): {}", experiment.change, effect, experiment.why));
    }
    line("model",
         recommendation.model_version == kTunerRules
             ? fmt::format("none: rules {}{}", kTunerRules, subject.compatible ? ", with their fixed confidences" : "")
             : recommendation.model_version);
    if (recommendation.confidence_overall)
        line("confidence", fmt::format("{:.4f}", *recommendation.confidence_overall));
    for (const std::string& assumption : recommendation.assumptions) line("assumed", assumption);
    return out;
}

std::string to_line(const TunerRecommendation& recommendation) {
    std::string out = fmt::format("{:.1f} tok/s ({}), {}, {}", recommendation.throughput.tokens_per_s,
                                  words(recommendation.throughput.basis), to_text(recommendation.kernel.best.kernel),
                                  to_text(recommendation.bottleneck.bottleneck));
    for (std::size_t i = 0; i < recommendation.experiments.size(); ++i)
        out += (i == 0 ? ", try " : "; ") + recommendation.experiments[i].change;
    return out;
}

Result<std::string> comparison_line(double predicted_tps, double actual_tps) {
    const Result<PredictionGrade> grade = grade_of(predicted_tps, actual_tps);
    if (!grade.ok()) return grade.error();
    return fmt::format("predicted {:.1f} tok/s, measured {:.1f}: off by {:.1f} %, {}", predicted_tps, actual_tps,
                       100 * std::fabs(predicted_tps / actual_tps - 1), to_text(*grade));
}

Status print_tuner_recommendations(const BrickSnapshot& bricks, const RunConfig& config, std::FILE* out,
                                   const TunerDevice& device, const TunerModel* model) {
    const auto recommendation = get_tuner_recommendations(bricks, config, device, model);
    if (!recommendation.ok()) return recommendation.error();
    if (!*recommendation) return {};
    TunerSubject subject;
    subject.config = config;
    subject.device = device;
    subject.profile = tuner_profile_of(bricks);
    const std::string text = to_text(subject, **recommendation);
    std::fwrite(text.data(), 1, text.size(), out);
    return {};
}

}    // namespace lapwing
