// Exact distributions of integer nanoseconds.
#pragma once

#include <cstdint>
#include <vector>

#include "lapwing/report.hpp"

namespace lapwing::detail {

/// The distribution of `values`, which are reordered.
/// Cost:    linear: selects the three ranks, never sorts.
[[nodiscard]] Distribution summarise(std::vector<int64_t>& values);

}    // namespace lapwing::detail
