// Why a trace could not be opened or read, and what to do.
#pragma once

#include <string>

#include "lapwing/result.hpp"

namespace lapwing::trace {

/// The error for errno `error` met while opening or reading `path`.
[[nodiscard]] Error open_error(const std::string& path, int error);

}    // namespace lapwing::trace
