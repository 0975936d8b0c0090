#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <system_error>
#include <utility>

#include "lapwing/profile_events.hpp"

namespace lapwing {

namespace {

const char* variable(const char* name) {
    const char* const value = std::getenv(name);
    return value != nullptr && *value != '\0' ? value : nullptr;
}

Error unwritable(const std::string& path, int error) {
    return {Errc::kUnwritable, error,
            "cannot write '" + path + "': " + std::generic_category().message(error) + "; give another path"};
}

// An event that could be: what is wrong with the metadata is found before the first real one.
Status check(const ProfileMetadata& metadata) {
    ProfileEvent event;
    event.event = "check";
    event.metadata = metadata;
    return validate(event);
}

}    // namespace

Result<ProfileConfig> profile_config_from_env() {
    ProfileConfig out;
    if (const char* path = variable("LAPWING_PROFILE_JSONL")) out.path = path;
    if (const char* commit = variable("LAPWING_PROFILE_COMMIT_SHA")) out.metadata.commit_sha = commit;
    if (const char* hash = variable("LAPWING_PROFILE_ENV_HASH")) out.metadata.env_hash = hash;
    if (const char* model = variable("LAPWING_PROFILE_MODEL")) out.metadata.model = model;
    if (const char* flags = variable("LAPWING_PROFILE_RUNTIME_FLAGS_JSON")) out.metadata.runtime_flags = flags;
    if (const char* text = variable("LAPWING_PROFILE_CONCURRENCY")) {
        const char* const end = text + std::strlen(text);
        const auto [stop, error] = std::from_chars(text, end, out.metadata.concurrency);
        if (error != std::errc() || stop != end)
            return Error{Errc::kInvalidArgument, 0,
                         std::string("LAPWING_PROFILE_CONCURRENCY is '") + text + "': give a whole number > 0"};
    }
    if (const Status valid = check(out.metadata); !valid.ok())
        return Error{Errc::kInvalidArgument, 0, "LAPWING_PROFILE_...: " + valid.error().message};
    return out;
}

struct ProfileWriter::State {
    ProfileConfig config;
    int file = -1;
    std::mutex mutex;
};

ProfileWriter::ProfileWriter(std::unique_ptr<State> state) noexcept : state_(std::move(state)) {}

ProfileWriter::~ProfileWriter() {
    if (state_->file >= 0) ::close(state_->file);
}

Result<std::unique_ptr<ProfileWriter>> ProfileWriter::open(const ProfileConfig& config) {
    if (const Status valid = check(config.metadata); !valid.ok()) return valid.error();
    auto state = std::make_unique<State>();
    state->config = config;
    if (!config.path.empty()) {
        const std::filesystem::path parent = std::filesystem::path(config.path).parent_path();
        std::error_code error;
        if (!parent.empty()) std::filesystem::create_directories(parent, error);
        if (error) return unwritable(config.path, error.value());
        state->file = ::open(config.path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
        if (state->file < 0) return unwritable(config.path, errno);
    }
    return std::unique_ptr<ProfileWriter>(new ProfileWriter(std::move(state)));
}

bool ProfileWriter::enabled() const noexcept {
    return state_->file >= 0;
}

const std::string& ProfileWriter::path() const noexcept {
    return state_->config.path;
}

Status ProfileWriter::push(std::string_view event, const ProfileFields& shape, const ProfileFields& stage_us,
                           bool graph_enabled) {
    if (!enabled()) return {};
    ProfileEvent out;
    out.event = event;
    out.metadata = state_->config.metadata;
    out.shape = shape;
    out.stage_us = stage_us;
    out.graph_enabled = graph_enabled;
    out.source = "native";
    Result<std::string> line = to_json(out);
    if (!line.ok()) return line.error();
    *line += '\n';
    const std::lock_guard lock(state_->mutex);
    // One write a line, which the system appends as a whole.
    std::string_view rest = *line;
    while (!rest.empty()) {
        const ssize_t written = ::write(state_->file, rest.data(), rest.size());
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return unwritable(path(), written < 0 ? errno : ENOSPC);
        rest.remove_prefix(static_cast<std::size_t>(written));
    }
    return {};
}

}    // namespace lapwing
