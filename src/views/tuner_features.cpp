#include <algorithm>
#include <cmath>

#include "lapwing/tuner.hpp"
#include "views/tuner_rules.hpp"

namespace lapwing {
namespace {

constexpr std::array<const char*, 11> kStatic{"params", "hidden_dim", "num_layers",  "num_heads", "head_dim", "vocab",
                                              "batch",  "seq_len",    "cuda_graphs", "kv_caches", "prefill"};
constexpr std::size_t kQuantAt = kStatic.size();
constexpr std::size_t kKernelAt = kQuantAt + kQuantTypeCount;
constexpr std::array<const char*, 5> kHardware{"bandwidth", "tflops", "multiprocessors", "l2", "zero_copy"};
constexpr std::size_t kHardwareAt = kKernelAt + kKernelChoiceCount;
constexpr std::array<const char*, 2> kDerived{"weight_density", "of_roofline"};
constexpr std::size_t kDerivedAt = kHardwareAt + kHardware.size();
static_assert(kDerivedAt + kDerived.size() == kTunerFeatureCount);

Error bad(std::string message) {
    return Error{Errc::kInvalidArgument, 0, std::move(message)};
}

double scaled(double value) {
    return std::clamp(value, 0.0, 1.0);
}

}    // namespace

std::string tuner_feature_name(std::size_t index) {
    if (index < kQuantAt) return kStatic[index];
    if (index < kKernelAt) return std::string("quant_") + to_text(static_cast<QuantType>(index - kQuantAt));
    if (index < kHardwareAt) return std::string("kernel_") + to_text(static_cast<KernelChoice>(index - kKernelAt));
    return index < kDerivedAt ? kHardware[index - kHardwareAt] : kDerived[index - kDerivedAt];
}

Status validate(const TunerDevice& device) {
    const std::array<std::pair<const char*, std::optional<double>>, 4> all{{{"bandwidth_gb_s", device.bandwidth_gb_s},
                                                                            {"tflops", device.tflops},
                                                                            {"multiprocessors", device.multiprocessors},
                                                                            {"l2_mb", device.l2_mb}}};
    for (const auto& [name, value] : all)
        if (value && !(std::isfinite(*value) && *value > 0))
            return bad(std::string("the device's ") + name + " is " + std::to_string(*value) +
                       ": it must be a positive number, or left out where it is not known");
    return {};
}

Result<TunerFeatures> tuner_features(const RunConfig& config, const TunerDevice& device, const TunerProfile* profile) {
    if (Status valid = validate(config); !valid.ok()) return valid.error();
    if (Status valid = validate(device); !valid.ok()) return valid.error();
    TunerFeatures out;
    const auto number = [](int64_t value) { return static_cast<double>(value); };
    const double heads = number(config.num_heads);
    const std::array<double, kQuantAt> fixed{(std::log10(config.model_params_b) + 1) / 3,
                                             number(config.hidden_dim) / 16384,
                                             number(config.num_layers) / 128,
                                             heads / 128,
                                             number(config.hidden_dim) / heads / 256,
                                             config.vocab_size == 0 ? 0 : std::log10(number(config.vocab_size)) / 6,
                                             number(config.batch_size) / 64,
                                             std::log2(number(config.seq_len)) / 15,
                                             config.cuda_graphs ? 1.0 : 0.0,
                                             number(config.kv_caches) / number(config.batch_size),
                                             config.prefill ? 1.0 : 0.0};
    std::transform(fixed.begin(), fixed.end(), out.values.begin(), scaled);
    out.values[kQuantAt + static_cast<std::size_t>(config.quant_type)] = 1;
    out.values[kKernelAt + static_cast<std::size_t>(config.kernel_type)] = 1;
    double* const hardware = &out.values[kHardwareAt];
    hardware[0] = scaled(device.bandwidth_gb_s.value_or(detail::kDefaultBandwidth) / 3000);
    hardware[1] = scaled(device.tflops.value_or(detail::kDefaultTflops) / 500);
    hardware[2] = scaled(device.multiprocessors.value_or(detail::kDefaultMultiprocessors) / 200);
    hardware[3] = scaled(device.l2_mb.value_or(detail::kDefaultL2Mb) / 128);
    hardware[4] = device.zero_copy || (profile != nullptr && profile->zero_copy) ? 1 : 0;
    out.values[kDerivedAt] = scaled(std::min(2 / bytes_per_param(config.quant_type), 10.0) / 10);
    if (profile != nullptr && profile->measured_tps) {
        out.measured_tps = profile->measured_tps;
        const double cap = detail::weight_roofline(config, device.bandwidth_gb_s.value_or(detail::kDefaultBandwidth));
        out.values[kDerivedAt + 1] = scaled(*profile->measured_tps / cap);
    }
    if (Status valid = validate(out); !valid.ok()) return valid.error();
    return out;
}

Status validate(const TunerFeatures& features) {
    constexpr double kSlack = 0.001;
    for (std::size_t i = 0; i < features.values.size(); ++i) {
        const double value = features.values[i];
        if (!(value >= -kSlack && value <= 1 + kSlack))    // NaN and infinities too
            return bad("feature " + tuner_feature_name(i) + " is " + std::to_string(value) +
                       ": features are finite numbers from 0 to 1");
    }
    const auto sum = [&](std::size_t first, std::size_t count) {
        double out = 0;
        for (std::size_t i = 0; i < count; ++i) out += features.values[first + i];
        return out;
    };
    for (const auto& [what, total] : {std::pair{"quantisation", sum(kQuantAt, kQuantTypeCount)},
                                      std::pair{"kernel", sum(kKernelAt, kKernelChoiceCount)}})
        if (std::fabs(total) > kSlack && std::fabs(total - 1) > kSlack)
            return bad(std::string("the ") + what + " features add up to " + std::to_string(total) +
                       ": one of them is 1, or all are 0");
    if (features.measured_tps && !(std::isfinite(*features.measured_tps) && *features.measured_tps > 0))
        return bad("measured_tps is " + std::to_string(*features.measured_tps) + ": it must be a positive number");
    return {};
}

}    // namespace lapwing
