#include "export/untimed.hpp"

#include <fmt/format.h>

#include <string_view>

#include "export/figures.hpp"

namespace lapwing::detail {

std::optional<std::string> why_no_step_was_timed(const ProcessInfo& process, const RecordingStats& stats,
                                                 uint64_t steps) {
    constexpr std::string_view kLabel = "label:";
    if (stats.executed_dispatches == 0) return std::nullopt;
    if (steps == 0 && process.step.starts_with(kLabel))
        return fmt::format(
            "no step: no debug label matched '{}'; give --step another expression, or leave it out. In llama.cpp "
            "labels need GGML_VK_DEBUG_MARKERS=1, which lapwing run sets",
            process.step.substr(kLabel.size()));
    const bool times_steps = process.level != "off" && process.level != "basic";
    if (times_steps && stats.begun == 0 && process.skip != 0 && steps <= process.skip)
        return fmt::format("no step was timed: --skip {} leaves the first {} out, and there {} only {}; skip fewer",
                           process.skip, process.skip, steps == 1 ? "was" : "were", counted(steps, "step", "steps"));
    return std::nullopt;
}

}    // namespace lapwing::detail
