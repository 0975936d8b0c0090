// What a recording says of the process that makes it.
#pragma once

#include "lapwing/sink.hpp"

namespace lapwing {

/// Process id, program name (no arguments), version and the level as it is now; the rest as ProcessInfo has it.
/// Cost:    cold: allocates.
/// Threads: any.
[[nodiscard]] ProcessInfo this_process();

}    // namespace lapwing
