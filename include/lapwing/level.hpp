// How much is recorded, process-wide. The hot path's one load reads `detail::g_level`.
#pragma once

#include <cstdint>
#include <string_view>

#include "lapwing/detail/atomic.hpp"
#include "lapwing/result.hpp"

namespace lapwing {

/// How much is recorded; each level includes the ones below it.
enum class Level : uint8_t {
    kOff = 0,       ///< nothing: a disabled span is one relaxed load and a branch
    kBasic = 1,     ///< host counters and steps, no device stamps
    kLane = 2,      ///< one device span per lane and step
    kKernel = 3,    ///< a device span per kernel on armed steps
};

/// Parses "off", "basic", "lane" or "kernel": strict lower case, nothing trimmed.
/// Errors:  kInvalidArgument with the offending text and the accepted names.
[[nodiscard]] Result<Level> parse_level(std::string_view text);

/// The name that `parse_level` takes.
[[nodiscard]] const char* to_text(Level level) noexcept;

/// Sets the process-wide level; spans that are open are finished or counted as lost, never leaked.
/// Threads: any.
void set_level(Level level) noexcept;

/// The process-wide level. Starts as `Level::kOff`.
[[nodiscard]] Level level() noexcept;

namespace detail {
extern Atomic<uint8_t> g_level;    // constant-initialised, so that reading it needs no guard
}    // namespace detail

}    // namespace lapwing
