// How rooflines read in reports.
#pragma once

#include <string>
#include <vector>

#include "lapwing/report.hpp"

namespace lapwing::detail {

/// Whether any row has work whose FLOPs or bytes are known.
[[nodiscard]] bool has_work(const Report& report);

/// A share of a roof, or a lower bound of it (">= 12.3 %") where only one of its two sides is known; "-" where neither.
[[nodiscard]] std::string roof_cell(const RooflineFigures& figures);

/// What is wrong with the model, and which peaks are missing.
[[nodiscard]] std::vector<ReportNote> roofline_notes(const Report& report);

}    // namespace lapwing::detail
