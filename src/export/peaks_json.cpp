#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "export/write_whole.hpp"
#include "lapwing/peaks_file.hpp"

namespace lapwing {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kSchema = "lapwing.peaks/1";
constexpr std::size_t kMostBytes = std::size_t{1} << 20;

constexpr std::array<std::pair<const char*, std::optional<double> DevicePeaks::*>, 5> kPeaks{
    {{"f32_flops", &DevicePeaks::f32_flops},
     {"f16_flops", &DevicePeaks::f16_flops},
     {"int8_ops", &DevicePeaks::int8_ops},
     {"bytes_per_s", &DevicePeaks::bytes_per_s},
     {"launch_ns", &DevicePeaks::launch_ns}}};
constexpr std::array<std::pair<const char*, std::string DevicePeaks::*>, 4> kTexts{{{"device", &DevicePeaks::device},
                                                                                    {"api", &DevicePeaks::api},
                                                                                    {"driver", &DevicePeaks::driver},
                                                                                    {"origin", &DevicePeaks::origin}}};

Error bad(std::string message) {
    return Error{Errc::kBadFormat, 0, std::move(message)};
}

Result<DevicePeaks> device_of(const Json& json, std::size_t index) {
    const std::string where = std::string("devices[") + std::to_string(index) + "]";
    if (!json.is_object()) return bad(where + " must be an object");
    DevicePeaks out;
    for (const auto& [key, member] : kTexts) {
        if (!json.contains(key) || json[key].is_null()) continue;
        if (!json[key].is_string()) return bad(where + "." + key + " must be a string");
        out.*member = json[key].get<std::string>();
    }
    for (const auto& [key, member] : kPeaks) {
        if (!json.contains(key) || json[key].is_null()) continue;
        if (!json[key].is_number()) return bad(where + "." + key + " must be a number, or null where it is not known");
        out.*member = json[key].get<double>();
    }
    if (json.contains("notes") && json["notes"].is_array())
        for (const Json& note : json["notes"])
            if (note.is_string()) out.notes.push_back(note.get<std::string>());
    if (Status valid = validate(out); !valid.ok()) return bad(where + ": " + valid.error().message);
    return out;
}

}    // namespace

std::string to_json(const MachinePeaks& peaks) {
    Json devices = Json::array();
    for (const DevicePeaks& device : peaks.devices) {
        Json one = Json::object();
        for (const auto& [key, member] : kTexts)
            one[key] = (device.*member).empty() ? Json(nullptr) : Json(device.*member);
        for (const auto& [key, member] : kPeaks) one[key] = device.*member ? Json(*(device.*member)) : Json(nullptr);
        one["notes"] = device.notes;
        devices.push_back(std::move(one));
    }
    const Json out{{"schema", kSchema}, {"devices", std::move(devices)}};
    return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Status write_peaks(const MachinePeaks& peaks, const std::string& path) {
    return detail::write_whole(path, to_json(peaks));
}

Result<MachinePeaks> parse_peaks(std::string_view text) {
    const Json json = Json::parse(text, nullptr, false);
    if (json.is_discarded()) return bad("it is not JSON");
    if (!json.is_object() || !json.contains("schema") || json["schema"] != kSchema)
        return bad(std::string("its \"schema\" is not \"") + kSchema + "\"");
    if (!json.contains("devices") || !json["devices"].is_array()) return bad("it has no list \"devices\"");
    MachinePeaks out;
    for (const Json& device : json["devices"]) {
        Result<DevicePeaks> one = device_of(device, out.devices.size());
        if (!one.ok()) return one.error();
        out.devices.push_back(std::move(*one));
    }
    return out;
}

Result<MachinePeaks> read_peaks(const std::string& path) {
    constexpr const char* kRemedy = "; peaks are written by: lapwing bench --peaks --format json > peaks.json";
    const Result<std::string> text = detail::read_whole(path, kMostBytes);
    if (!text.ok()) return Error{text.error().code, text.error().driver_code, text.error().message + kRemedy};
    Result<MachinePeaks> out = parse_peaks(*text);
    if (!out.ok()) return Error{out.error().code, 0, path + " holds no peaks: " + out.error().message + kRemedy};
    return out;
}

}    // namespace lapwing
