#include <nlohmann/json.hpp>
#include <utility>

#include "lapwing/tuner_report.hpp"

namespace lapwing {
namespace {

using Json = nlohmann::ordered_json;

template <class T>
Json or_null(const std::optional<T>& value) {
    return value ? Json(*value) : Json(nullptr);
}
Json text_or_null(const std::string& text) {
    return text.empty() ? Json(nullptr) : Json(text);
}

Json config_json(const RunConfig& config) {
    Json out = Json::parse(to_json(config));
    out.erase("schema");
    return out;
}

Json profile_json(const std::optional<TunerProfile>& profile) {
    if (!profile) return nullptr;
    Json roofline = nullptr;
    if (profile->roofline)
        roofline = Json{{"share", or_null(profile->roofline->share)},
                        {"bound", to_text(profile->roofline->bound)},
                        {"model_error", profile->roofline->model_error}};
    return Json{{"steps", profile->steps},        {"measured_tps", or_null(profile->measured_tps)},
                {"total_ns", profile->total_ns},  {"attention_ns", profile->attention_ns},
                {"ffn_ns", profile->ffn_ns},      {"norm_ns", profile->norm_ns},
                {"by_label", profile->by_label},  {"gpu_share", or_null(profile->gpu_share)},
                {"roofline", std::move(roofline)}};
}

Json option_json(const KernelOption& option) {
    return Json{{"kernel", to_text(option.kernel)}, {"confidence", option.confidence}};
}

}    // namespace

std::string to_json(const TunerSubject& subject, const TunerRecommendation& recommendation) {
    const ThroughputPrediction& throughput = recommendation.throughput;
    const BottleneckPrediction& bottleneck = recommendation.bottleneck;
    Json out{{"schema", "lapwing.tuner/1"},
             {"rules", subject.compatible ? "compatible" : "evidence"},
             {"file", text_or_null(subject.file)},
             {"config", config_json(subject.config)},
             {"device", Json{{"name", text_or_null(subject.device.name)},
                             {"bandwidth_gb_s", or_null(subject.device.bandwidth_gb_s)},
                             {"tflops", or_null(subject.device.tflops)},
                             {"multiprocessors", or_null(subject.device.multiprocessors)},
                             {"l2_mb", or_null(subject.device.l2_mb)},
                             {"zero_copy", subject.device.zero_copy}}},
             {"profile", profile_json(subject.profile)},
             {"model_version", recommendation.model_version},
             {"confidence_overall", or_null(recommendation.confidence_overall)},
             {"throughput", Json{{"tokens_per_s", throughput.tokens_per_s},
                                 {"basis", to_text(throughput.basis)},
                                 {"confidence", or_null(throughput.confidence)},
                                 {"roofline_cap", or_null(throughput.roofline_cap)},
                                 {"capped", throughput.capped},
                                 {"model_error", throughput.model_error}}}};
    Json kernel = option_json(recommendation.kernel.best);
    kernel["basis"] = to_text(recommendation.kernel.basis);
    kernel["alternatives"] = Json::array();
    for (const KernelOption& option : recommendation.kernel.alternatives)
        kernel["alternatives"].push_back(option_json(option));
    out["kernel"] = std::move(kernel);
    out["bottleneck"] = Json{{"class", to_text(bottleneck.bottleneck)},
                             {"basis", to_text(bottleneck.basis)},
                             {"confidence", or_null(bottleneck.confidence)},
                             {"evidence", text_or_null(bottleneck.evidence)},
                             {"advice", advice(bottleneck.bottleneck)}};
    out["experiments"] = Json::array();
    for (const Experiment& experiment : recommendation.experiments)
        out["experiments"].push_back(
            Json{{"kind", to_text(experiment.kind)},
                 {"change", experiment.change},
                 {"why", experiment.why},
                 {"basis", to_text(experiment.predicted_tps ? Basis::kTrained : Basis::kRuleOfThumb)},
                 {"predicted_tps", or_null(experiment.predicted_tps)},
                 {"config", config_json(experiment.config)}});
    out["assumptions"] = recommendation.assumptions;
    return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}    // namespace lapwing
