#include <nlohmann/json.hpp>
#include <utility>

#include "export/write_whole.hpp"
#include "lapwing/tuner_report.hpp"

namespace lapwing {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kSchema = "lapwing.run_config/1";
constexpr std::size_t kMostBytes = 65536;

Error bad(std::string message, Errc code = Errc::kBadFormat) {
    return Error{code, 0, std::move(message)};
}

struct Size {
    const char* key;
    int64_t RunConfig::*member;
};
constexpr Size kSizes[] = {{"hidden_dim", &RunConfig::hidden_dim}, {"num_layers", &RunConfig::num_layers},
                           {"num_heads", &RunConfig::num_heads},   {"batch_size", &RunConfig::batch_size},
                           {"seq_len", &RunConfig::seq_len},       {"vocab_size", &RunConfig::vocab_size},
                           {"kv_caches", &RunConfig::kv_caches}};
struct Switch {
    const char* key;
    bool RunConfig::*member;
};
constexpr Switch kSwitches[] = {{"cuda_graphs", &RunConfig::cuda_graphs}, {"prefill", &RunConfig::prefill}};

// Takes one key. Errors name it.
Status take(const std::string& key, const Json& value, RunConfig& out) {
    if (key == "schema")
        return value == kSchema ? Status{} : bad(std::string("\"schema\" must be \"") + kSchema + "\"");
    if (key == "model_params_b") {
        if (!value.is_number()) return bad("model_params_b must be a number");
        out.model_params_b = value.get<double>();
        return {};
    }
    for (const Size& size : kSizes) {
        if (key != size.key) continue;
        // Beyond 63 bits the library reads an unsigned number or a float.
        if (!value.is_number_integer() ||
            (value.is_number_unsigned() && value.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX)))
            return bad(key + " must be a whole number of at most 63 bits, and is " + value.dump());
        out.*size.member = value.get<int64_t>();
        return {};
    }
    for (const Switch& each : kSwitches) {
        if (key != each.key) continue;
        if (!value.is_boolean()) return bad(key + " must be true or false");
        out.*each.member = value.get<bool>();
        return {};
    }
    if (key != "quant_type" && key != "kernel_type") return bad("\"" + key + "\" is no key of a run configuration");
    if (!value.is_string()) return bad(key + " must be a string");
    const auto text = value.get<std::string>();
    if (key == "quant_type") {
        const Result<QuantType> quant = parse_quant_type(text);
        if (!quant.ok()) return bad(key + ": " + quant.error().message);
        out.quant_type = *quant;
        return {};
    }
    const Result<KernelChoice> kernel = parse_kernel_choice(text);
    if (!kernel.ok()) return bad(key + ": " + kernel.error().message);
    out.kernel_type = *kernel;
    return {};
}

}    // namespace

std::string to_json(const RunConfig& config) {
    Json out{{"schema", kSchema}, {"model_params_b", config.model_params_b}};
    for (const Size& size : kSizes) out[size.key] = config.*size.member;
    for (const Switch& each : kSwitches) out[each.key] = config.*each.member;
    out["quant_type"] = to_text(config.quant_type);
    out["kernel_type"] = to_text(config.kernel_type);
    return out.dump(2) + "\n";
}

Result<RunConfig> parse_run_config(std::string_view text) {
    const Json json = Json::parse(text, nullptr, false);
    if (json.is_discarded()) return bad("it is not JSON");
    if (!json.is_object()) return bad("it must be an object");
    if (!json.contains("schema")) return bad(std::string("it has no \"schema\": \"") + kSchema + "\"");
    RunConfig out;
    for (const auto& [key, value] : json.items())
        if (Status taken = take(key, value, out); !taken.ok()) return taken.error();
    if (Status valid = validate(out); !valid.ok()) return valid.error();
    return out;
}

Result<RunConfig> read_run_config(const std::string& path) {
    const Result<std::string> text = detail::read_whole(path, kMostBytes);
    if (!text.ok()) return text.error();
    Result<RunConfig> out = parse_run_config(*text);
    if (!out.ok()) return bad(path + ": " + out.error().message, out.error().code);
    return out;
}

}    // namespace lapwing
