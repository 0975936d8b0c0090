#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "export/write_whole.hpp"
#include "lapwing/tuner_report.hpp"

namespace lapwing {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kMagic = "LWT1";
constexpr const char* kSchema = "lapwing.tuner_model/1";
constexpr std::size_t kHeader = 8;
constexpr std::size_t kMostBytes = std::size_t{1} << 20;

// IEEE 802.3: polynomial 0x04c11db7, reflected.
uint32_t crc32(std::string_view bytes) {
    static constexpr std::array<uint32_t, 256> kTable = [] {
        std::array<uint32_t, 256> table{};
        for (uint32_t i = 0; i < 256; ++i) {
            uint32_t value = i;
            for (int bit = 0; bit < 8; ++bit) value = (value & 1) != 0 ? 0xedb88320u ^ value >> 1 : value >> 1;
            table[i] = value;
        }
        return table;
    }();
    uint32_t crc = ~0u;
    for (const char c : bytes) crc = kTable[(crc ^ static_cast<uint8_t>(c)) & 0xff] ^ crc >> 8;
    return ~crc;
}

void append_u32(std::string& out, uint32_t value) {
    for (int shift = 0; shift < 32; shift += 8) out += static_cast<char>(value >> shift & 0xff);
}
uint32_t u32_at(std::string_view bytes, std::size_t at) {
    uint32_t out = 0;
    for (std::size_t i = 0; i < 4; ++i) out |= static_cast<uint32_t>(static_cast<uint8_t>(bytes[at + i])) << (8 * i);
    return out;
}

Error bad(std::string message) {
    return Error{Errc::kBadFormat, 0, std::move(message)};
}

bool take(const Json& json, const char* key, double& out) {
    if (!json.contains(key) || !json[key].is_number()) return false;
    out = json[key].get<double>();
    return true;
}
bool take(const Json& json, const char* key, uint64_t& out) {
    if (!json.contains(key) || !json[key].is_number_unsigned()) return false;
    out = json[key].get<uint64_t>();
    return true;
}

Result<TunerModel> model_of(const Json& json) {
    if (!json.is_object() || !json.contains("schema")) return bad("its JSON is no model");
    if (json["schema"] != kSchema)
        return bad("it is of another version: its schema is " + json["schema"].dump() + ", and " + kSchema +
                   " is what this Lapwing reads");
    TunerModelData data;
    if (!take(json, "intercept", data.intercept) || !take(json, "validation_error", data.validation_error) ||
        !take(json, "worst_error", data.worst_error) || !take(json, "runs", data.runs) ||
        !take(json, "configurations", data.configurations))
        return bad("its intercept, runs, configurations or errors are missing");
    if (!json.contains("by_configuration") || !json["by_configuration"].is_boolean())
        return bad("it does not say what was held out (by_configuration)");
    data.by_configuration = json["by_configuration"].get<bool>();
    if (!json.contains("terms") || !json["terms"].is_array() || json["terms"].size() != kTunerTerms)
        return bad("it has not the " + std::to_string(kTunerTerms) + " terms of this version");
    for (std::size_t t = 0; t < kTunerTerms; ++t) {
        const Json& term = json["terms"][t];
        if (!term.is_object() || !term.contains("name") || term["name"] != tuner_term_name(t) ||
            !take(term, "weight", data.weights[t]) || !take(term, "least", data.least[t]) ||
            !take(term, "most", data.most[t]))
            return bad(std::string("its term ") + std::to_string(t) + " is not \"" + tuner_term_name(t) +
                       "\" with weight, least and most");
    }
    return TunerModel::from(data);
}

}    // namespace

std::string encode_model(const TunerModel& model) {
    const TunerModelData& data = model.data();
    Json terms = Json::array();
    for (std::size_t t = 0; t < kTunerTerms; ++t)
        terms.push_back(Json{{"name", tuner_term_name(t)},
                             {"weight", data.weights[t]},
                             {"least", data.least[t]},
                             {"most", data.most[t]}});
    const Json json{{"schema", kSchema},
                    {"runs", data.runs},
                    {"configurations", data.configurations},
                    {"validation_error", data.validation_error},
                    {"worst_error", data.worst_error},
                    {"by_configuration", data.by_configuration},
                    {"intercept", data.intercept},
                    {"terms", std::move(terms)}};
    const std::string body = json.dump(2) + "\n";
    std::string out(kMagic);
    append_u32(out, static_cast<uint32_t>(body.size()));
    out += body;
    append_u32(out, crc32(out));
    return out;
}

Result<TunerModel> decode_model(std::string_view bytes) {
    if (bytes.substr(0, kMagic.size()) != kMagic.substr(0, bytes.size()) || bytes.empty())
        return bad("it is no tuner model: it does not begin with \"LWT1\"");
    if (bytes.size() < kHeader) return bad("it is torn: it ends inside its header");
    const std::size_t length = u32_at(bytes, kMagic.size());
    if (bytes.size() < kHeader + length + 4)
        return bad("it is torn: " + std::to_string(bytes.size()) + " of its " + std::to_string(kHeader + length + 4) +
                   " bytes are there");
    if (bytes.size() > kHeader + length + 4)
        return bad(std::to_string(bytes.size() - kHeader - length - 4) + " bytes follow its end: it is corrupted");
    if (crc32(bytes.substr(0, kHeader + length)) != u32_at(bytes, kHeader + length))
        return bad("its checksum is wrong: it is corrupted");
    const Json json = Json::parse(bytes.substr(kHeader, length), nullptr, false);
    if (json.is_discarded()) return bad("its checksum is right, but it holds no JSON");
    return model_of(json);
}

Status write_model(const TunerModel& model, const std::string& path) {
    return detail::write_whole(path, encode_model(model));
}

Result<TunerModel> read_model(const std::string& path) {
    constexpr const char* kRemedy = "; a model is written by: lapwing tune --train MODEL RECORDING...";
    const Result<std::string> bytes = detail::read_whole(path, kMostBytes);
    if (!bytes.ok()) return Error{bytes.error().code, bytes.error().driver_code, bytes.error().message + kRemedy};
    Result<TunerModel> out = decode_model(*bytes);
    if (!out.ok()) return bad(path + ": " + out.error().message + kRemedy);
    return out;
}

}    // namespace lapwing
