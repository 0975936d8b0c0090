// What the environment asks of a layer. Read once a process; `lapwing run` sets it.
#pragma once

#include <string>

#include "lapwing/arming.hpp"
#include "lapwing/level.hpp"
#include "lapwing/perfetto.hpp"
#include "lapwing/step_rule.hpp"

namespace lapwing::attach {

/// LAPWING_OUT       the recording's file; absent or empty = the layer stays out of the way altogether
/// `disable` (LAPWING_VULKAN_LAYER_DISABLE, ...)
///                   not empty: as if LAPWING_OUT were
/// LAPWING_LEVEL     off, basic, lane or kernel (default kernel)
/// LAPWING_STEP      what makes a step: parse_step_rule() (default sync)
/// LAPWING_EVERY, LAPWING_SKIP, LAPWING_DURATION, LAPWING_BUDGET
///                   which steps are timed: ArmingOptions and its parsers
/// and those of read_file_options(). An empty variable is as good as none.
struct LayerConfig {
    std::string out;                 ///< empty = not active
    Level level = Level::kKernel;    ///< not kOff where active
    StepRule step;
    std::string step_text = "sync";    ///< `step` as it was given
    ArmingOptions arming;
    PerfettoWriterOptions file;    ///< how the recording is written
    std::string problem;           ///< one line for the user where a value was refused; the layer is then not active

    [[nodiscard]] bool active() const noexcept { return !out.empty() && problem.empty() && level != Level::kOff; }
};

/// Shape:   `get` answers like std::getenv; `disable` names the variable that turns this layer off.
/// Errors:  none returned: a bad value is described in `problem`.
[[nodiscard]] LayerConfig read_config(const char* (*get)(const char* name), const char* disable);

}    // namespace lapwing::attach
