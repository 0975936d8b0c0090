// What the environment asks of the layer. Read once a process; `lapwing run` sets it.
#pragma once

#include <cstdint>
#include <string>

#include "lapwing/level.hpp"
#include "lapwing/perfetto.hpp"

namespace lapwing::vulkan_layer {

/// LAPWING_OUT    the recording's file; absent or empty = the layer stays out of the way altogether
/// LAPWING_LEVEL  off, basic or kernel (default kernel)
/// LAPWING_EVERY  kernel spans in one step of this many, the first included; 1..1000000 (default 1)
/// and those of read_file_options().
struct LayerConfig {
    std::string out;                 ///< empty = not active
    Level level = Level::kKernel;    ///< kBasic or kKernel where active
    uint32_t every = 1;              ///< >= 1
    PerfettoWriterOptions file;      ///< how the recording is written
    std::string problem;             ///< one line for the user where a value was refused; the layer is then not active

    [[nodiscard]] bool active() const noexcept { return !out.empty() && problem.empty() && level != Level::kOff; }
};

/// Shape:   `get` answers like std::getenv.
/// Errors:  none returned: a bad value is described in `problem`.
[[nodiscard]] LayerConfig read_config(const char* (*get)(const char* name));

}    // namespace lapwing::vulkan_layer
