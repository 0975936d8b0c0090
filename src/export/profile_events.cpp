#include "lapwing/profile_events.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

namespace lapwing {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::string_view, 9> kRequired{
    "event", "commit_sha", "env_hash", "model", "concurrency", "shape", "stage_us", "graph_enabled", "runtime_flags"};

bool blank(std::string_view text) {
    return text.find_first_not_of(" \t\r\n\v\f") == std::string_view::npos;
}

Json parsed(std::string_view text) {
    return Json::parse(text, nullptr, false);
}

Status must(std::string_view what, Errc code = Errc::kInvalidArgument) {
    return Error{code, 0, std::string(what)};
}

Status validate(const ProfileMetadata& metadata) {
    if (metadata.commit_sha && blank(*metadata.commit_sha))
        return must("commit_sha must be non-empty where it is known: leave it out otherwise");
    if (!metadata.env_hash.starts_with("sha256:")) return must("env_hash must start with sha256:");
    if (blank(metadata.model)) return must("model must be non-empty");
    if (metadata.concurrency == 0) return must("concurrency must be > 0");
    if (!parsed(metadata.runtime_flags).is_object()) return must("runtime_flags must be an object");
    return {};
}

Status finite(std::string_view name, const ProfileFields& fields) {
    for (const auto& [key, value] : fields)
        if (const double* number = std::get_if<double>(&value); number != nullptr && !std::isfinite(*number))
            return must(std::string(name) + "." + key + " must be a finite number: give null for what is unknown");
    return {};
}

Json to_object(const ProfileFields& fields) {
    Json out = Json::object();
    for (const auto& [key, value] : fields) std::visit([&](const auto& one) { out[key] = one; }, value);
    return out;
}

// False where a value is none of what a field may be.
bool from_object(const Json& object, ProfileFields& out) {
    for (const auto& [key, value] : object.items()) {
        if (value.is_null())
            out[key] = nullptr;
        else if (value.is_boolean())
            out[key] = value.get<bool>();
        else if (value.is_number_float() ||
                 (value.is_number_unsigned() && value.get<uint64_t>() > std::numeric_limits<int64_t>::max()))
            out[key] = value.get<double>();
        else if (value.is_number_integer())
            out[key] = value.get<int64_t>();
        else if (value.is_string())
            out[key] = value.get<std::string>();
        else
            return false;
    }
    return true;
}

// What is wrong with the types; empty when nothing is.
std::string wrong_type(const Json& event) {
    for (const char* const key : {"event", "env_hash", "model"})
        if (!event[key].is_string()) return std::string(key) + " must be a string";
    if (!event["commit_sha"].is_string() && !event["commit_sha"].is_null())
        return "commit_sha must be a string or null";
    if (!event["concurrency"].is_number_unsigned() ||
        event["concurrency"].get<uint64_t>() > std::numeric_limits<uint32_t>::max())
        return "concurrency must be a whole number > 0";
    for (const char* const key : {"shape", "stage_us", "runtime_flags"})
        if (!event[key].is_object()) return std::string(key) + " must be an object";
    if (!event["graph_enabled"].is_boolean()) return "graph_enabled must be true or false";
    for (const char* const key : {"source", "source_line"})
        if (event.contains(key) && !event[key].is_string() && !event[key].is_null())
            return std::string(key) + " must be a string";
    return {};
}

std::optional<std::string> text_of(const Json& event, const char* key) {
    if (!event.contains(key) || !event[key].is_string()) return std::nullopt;
    return event[key].get<std::string>();
}

Result<ProfileEvent> event_of(std::string_view line) {
    const auto bad = [](std::string text) { return Error{Errc::kBadFormat, 0, std::move(text)}; };
    const Json json = parsed(line);
    if (json.is_discarded()) return bad("it is not JSON");
    if (!json.is_object()) return bad("a profile event must be a JSON object");
    for (const std::string_view key : kRequired)
        if (!json.contains(key)) return bad("missing required field: " + std::string(key));
    if (std::string wrong = wrong_type(json); !wrong.empty()) return bad(std::move(wrong));
    ProfileEvent out;
    out.event = json["event"].get<std::string>();
    out.metadata.commit_sha = text_of(json, "commit_sha");
    out.metadata.env_hash = json["env_hash"].get<std::string>();
    out.metadata.model = json["model"].get<std::string>();
    out.metadata.concurrency = json["concurrency"].get<uint32_t>();
    out.metadata.runtime_flags = json["runtime_flags"].dump();
    for (const auto& [key, fields] : {std::pair{"shape", &out.shape}, std::pair{"stage_us", &out.stage_us}})
        if (!from_object(json[key], *fields))
            return bad(std::string(key) + " must hold numbers, texts, true, false or null");
    out.graph_enabled = json["graph_enabled"].get<bool>();
    out.source = text_of(json, "source");
    out.source_line = text_of(json, "source_line");
    if (const Status valid = validate(out); !valid.ok()) return bad(valid.error().message);
    return out;
}

}    // namespace

std::span<const std::string_view> required_profile_keys() noexcept {
    return kRequired;
}

Status validate(const ProfileEvent& event) {
    if (blank(event.event)) return must("event must be non-empty");
    if (Status metadata = validate(event.metadata); !metadata.ok()) return metadata;
    if (Status shape = finite("shape", event.shape); !shape.ok()) return shape;
    return finite("stage_us", event.stage_us);
}

Result<std::string> to_json(const ProfileEvent& event) {
    if (const Status valid = validate(event); !valid.ok()) return valid.error();
    Json out;
    out["event"] = event.event;
    out["commit_sha"] = event.metadata.commit_sha ? Json(*event.metadata.commit_sha) : Json(nullptr);
    out["env_hash"] = event.metadata.env_hash;
    out["model"] = event.metadata.model;
    out["concurrency"] = event.metadata.concurrency;
    out["shape"] = to_object(event.shape);
    out["stage_us"] = to_object(event.stage_us);
    out["graph_enabled"] = event.graph_enabled;
    out["runtime_flags"] = parsed(event.metadata.runtime_flags);
    if (event.source) out["source"] = *event.source;
    if (event.source_line) out["source_line"] = *event.source_line;
    return out.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<std::vector<ProfileEvent>> parse_profile_events(std::string_view lines) {
    std::vector<ProfileEvent> out;
    for (std::size_t number = 1; !lines.empty(); ++number) {
        const std::size_t end = std::min(lines.find('\n'), lines.size());
        const std::string_view line = lines.substr(0, end);
        lines.remove_prefix(std::min(end + 1, lines.size()));
        if (blank(line)) continue;
        Result<ProfileEvent> event = event_of(line);
        if (!event.ok())
            return Error{Errc::kBadFormat, 0, "line " + std::to_string(number) + ": " + event.error().message};
        out.push_back(std::move(event).value());
    }
    return out;
}

Result<std::vector<ProfileEvent>> read_profile_events(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) return Error{Errc::kNotFound, 0, "cannot read '" + path + "': give a file of profile events"};
    std::ostringstream text;
    text << file.rdbuf();
    if (file.bad()) return Error{Errc::kUnreadable, 0, "cannot read '" + path + "'"};
    Result<std::vector<ProfileEvent>> events = parse_profile_events(text.str());
    if (!events.ok()) return Error{events.error().code, 0, path + ": " + events.error().message};
    return events;
}

Status require_profile_groups(std::span<const ProfileEvent> events, std::span<const std::string_view> groups) {
    std::string missing;
    for (const std::string_view group : groups) {
        const bool there =
            std::any_of(events.begin(), events.end(), [&](const ProfileEvent& event) { return event.event == group; });
        if (!there) (missing += missing.empty() ? "" : ", ") += group;
    }
    if (missing.empty()) return {};
    return Error{Errc::kNotFound, 0, "missing profile event groups: " + missing};
}

}    // namespace lapwing
