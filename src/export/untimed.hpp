// Why nothing was timed, where it is how the steps were chosen.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "lapwing/sink.hpp"

namespace lapwing::detail {

/// A sentence that says so and what to do; nothing where the program did nothing, or the choice is not the reason.
/// Shape:   `steps` = finished steps of the recording.
[[nodiscard]] std::optional<std::string> why_no_step_was_timed(const ProcessInfo& process, const RecordingStats& stats,
                                                               uint64_t steps);

}    // namespace lapwing::detail
