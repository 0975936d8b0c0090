#include "lapwing/run_config.hpp"

#include <array>
#include <cmath>
#include <span>
#include <string>

namespace lapwing {
namespace {

struct Quant {
    const char* name;
    double bytes;
};
// By QuantType.
constexpr std::array<Quant, kQuantTypeCount> kQuants{{{"q4_0", 0.5625},
                                                      {"q4_1", 0.5625},
                                                      {"q4_k", 0.5625},
                                                      {"q5_k", 0.6875},
                                                      {"q6_k", 0.8125},
                                                      {"q8_0", 1},
                                                      {"f16", 2},
                                                      {"f32", 4}}};
// By KernelChoice.
constexpr std::array<const char*, kKernelChoiceCount> kKernels{
    "VectorizedQ4K",      "CoalescedQ4K",   "BatchedQ4K",     "TiledQ4K",      "Dp4aQ4K", "VectorizedQ5K",
    "VectorizedQ6K",      "CoalescedQ6K",   "VectorizedQ8_0", "TensorCoreF16", "GemmF32", "IncrementalAttention",
    "MultiWarpAttention", "FlashAttention", "FusedBlock",     "Other"};

// Lower case without "_", so that Q4K, Q4_K and q4_k are one.
std::string bare(std::string_view text) {
    std::string out;
    for (const char c : text)
        if (c != '_') out += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return out;
}

Error unknown(std::string_view text, const char* what, std::span<const std::string> names) {
    std::string message = std::string("\"").append(text) + "\" is no " + what + ": use one of ";
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (i != 0) message += ", ";
        message += names[i];
    }
    return Error{Errc::kInvalidArgument, 0, message};
}

struct Field {
    const char* name;
    int64_t value;
    int64_t least;
    int64_t most;
};

}    // namespace

const char* to_text(QuantType quant) noexcept {
    return kQuants[static_cast<std::size_t>(quant)].name;
}
double bytes_per_param(QuantType quant) noexcept {
    return kQuants[static_cast<std::size_t>(quant)].bytes;
}
Result<QuantType> parse_quant_type(std::string_view text) {
    std::array<std::string, kQuantTypeCount> names;
    for (std::size_t i = 0; i < names.size(); ++i) {
        names[i] = kQuants[i].name;
        if (bare(text) == bare(names[i])) return static_cast<QuantType>(i);
    }
    return unknown(text, "quantisation", names);
}

const char* to_text(KernelChoice kernel) noexcept {
    return kKernels[static_cast<std::size_t>(kernel)];
}
Result<KernelChoice> parse_kernel_choice(std::string_view text) {
    std::array<std::string, kKernelChoiceCount> names;
    for (std::size_t i = 0; i < names.size(); ++i) {
        names[i] = kKernels[i];
        if (text == names[i]) return static_cast<KernelChoice>(i);
    }
    return unknown(text, "kernel", names);
}

Status validate(const RunConfig& config) {
    constexpr double kMostParams = 1e6;
    if (!(config.model_params_b > 0 && config.model_params_b <= kMostParams))    // NaN too
        return Error{Errc::kInvalidArgument, 0,
                     "model_params_b is " + std::to_string(config.model_params_b) +
                         ": it must be above 0 and at most 1e6 (thousand million parameters)"};
    const std::array<Field, 7> fields{{{"hidden_dim", config.hidden_dim, 1, int64_t{1} << 20},
                                       {"num_layers", config.num_layers, 1, int64_t{1} << 16},
                                       {"num_heads", config.num_heads, 1, config.hidden_dim},
                                       {"batch_size", config.batch_size, 1, int64_t{1} << 20},
                                       {"seq_len", config.seq_len, 1, int64_t{1} << 30},
                                       {"vocab_size", config.vocab_size, 0, int64_t{1} << 30},
                                       {"kv_caches", config.kv_caches, 1, int64_t{1} << 20}}};
    for (const Field& field : fields)
        if (field.value < field.least || field.value > field.most)
            return Error{Errc::kInvalidArgument, 0,
                         std::string(field.name) + " is " + std::to_string(field.value) + ": it must be from " +
                             std::to_string(field.least) + " to " + std::to_string(field.most)};
    return {};
}

double tokens_per_step(const RunConfig& config) noexcept {
    return static_cast<double>(config.batch_size) * (config.prefill ? static_cast<double>(config.seq_len) : 1.0);
}

}    // namespace lapwing
