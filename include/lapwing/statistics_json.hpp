// Statistics of a sample as JSON.
#pragma once

#include <string>

#include "lapwing/statistics.hpp"

namespace lapwing {

/// `{"mean":42.0,"stddev":1.5,"ci95_hw":0.8}`, numbers as short as they read back exactly.
/// Shape:   what is not known is left out: the spread below 3 values, all of it for an empty sample. A spread that is
///          known to be zero is written as 0.0.
[[nodiscard]] std::string to_json(const SampleStatistics& statistics);

}    // namespace lapwing
