// Structured profile events as JSON lines: what a benchmark measured, with all that is needed to compare it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "lapwing/result.hpp"

namespace lapwing {

/// A value in `shape` and `stage_us`. Integers are exact; null is "unknown".
using ProfileValue = std::variant<std::nullptr_t, bool, int64_t, double, std::string>;
using ProfileFields = std::map<std::string, ProfileValue>;

/// What all events of one run have in common.
struct ProfileMetadata {
    std::optional<std::string> commit_sha;      ///< of the program; absent = null in the file
    std::string env_hash = "sha256:unknown";    ///< of the run-time environment; starts with "sha256:"
    std::string model = "unknown";
    uint32_t concurrency = 1;            ///< requests at a time; > 0
    std::string runtime_flags = "{}";    ///< JSON text of an object
};

/// One event, one line. Keys are written in this order.
struct ProfileEvent {
    std::string event;    ///< its group: "unified_prof", ...; not empty
    ProfileMetadata metadata;
    ProfileFields shape;           ///< batch, blocks, sequence lengths, ...
    ProfileFields stage_us;        ///< microseconds by stage
    bool graph_enabled = false;    ///< whether it ran as a replayed graph
    std::optional<std::string> source;
    std::optional<std::string> source_line;
};

/// The keys that every event has: event, commit_sha, env_hash, model, concurrency, shape, stage_us, graph_enabled,
/// runtime_flags. `source` and `source_line` may be missing.
[[nodiscard]] std::span<const std::string_view> required_profile_keys() noexcept;

/// Errors:  kInvalidArgument naming the field and what it must be.
[[nodiscard]] Status validate(const ProfileEvent& event);

/// The event as one line of JSON, without its end. Text that is no UTF-8 gets U+FFFD.
/// Errors:  those of validate(); kInvalidArgument also for a number that is not finite.
[[nodiscard]] Result<std::string> to_json(const ProfileEvent& event);

/// Reads events, one a line; blank lines are skipped.
/// Errors:  kBadFormat "line N: ..." naming the missing key or the field and what it must be; nothing is returned then.
[[nodiscard]] Result<std::vector<ProfileEvent>> parse_profile_events(std::string_view lines);

/// Reads a file of them.
/// Errors:  kNotFound, kUnreadable naming the path; kBadFormat naming path and line.
[[nodiscard]] Result<std::vector<ProfileEvent>> read_profile_events(const std::string& path);

/// Whether each of `groups` has an event.
/// Errors:  kNotFound naming all that have none.
[[nodiscard]] Status require_profile_groups(std::span<const ProfileEvent> events,
                                            std::span<const std::string_view> groups);

/// Where profile events go, and what they have in common.
struct ProfileConfig {
    std::string path;    ///< empty = nowhere: push() does nothing
    ProfileMetadata metadata;
};

/// A configuration from LAPWING_PROFILE_JSONL (path), LAPWING_PROFILE_COMMIT_SHA, _ENV_HASH, _MODEL, _CONCURRENCY and
/// _RUNTIME_FLAGS_JSON; what is unset or empty keeps its default. The library never reads the environment unless this
/// is called.
/// Errors:  kInvalidArgument naming the variable whose value cannot be.
[[nodiscard]] Result<ProfileConfig> profile_config_from_env();

/// Appends events to a file.
/// Shape:   parent folders are made; each event is written as one whole line before push() returns, so that several
///          processes may append to one file.
/// Cost:    cold: JSON and a write an event.
/// Threads: any.
class ProfileWriter {
public:
    /// Errors:  kInvalidArgument where the metadata cannot be; kUnwritable naming the path.
    [[nodiscard]] static Result<std::unique_ptr<ProfileWriter>> open(const ProfileConfig& config);
    ~ProfileWriter();
    ProfileWriter(const ProfileWriter&) = delete;
    ProfileWriter& operator=(const ProfileWriter&) = delete;

    /// Whether events go anywhere.
    [[nodiscard]] bool enabled() const noexcept;
    [[nodiscard]] const std::string& path() const noexcept;    ///< empty while disabled

    /// An event of the program's own, with the writer's metadata. `source` is "native".
    /// Errors:  kInvalidArgument; kUnwritable. Nothing was written then, or no whole line.
    Status push(std::string_view event, const ProfileFields& shape, const ProfileFields& stage_us, bool graph_enabled);

private:
    struct State;
    explicit ProfileWriter(std::unique_ptr<State> state) noexcept;
    std::unique_ptr<State> state_;
};

}    // namespace lapwing
