// The rows of a report as a table of text.
#pragma once

#include "export/known.hpp"
#include "export/text_table.hpp"
#include "lapwing/report.hpp"

namespace lapwing::detail {

/// Rows, the sum of those left out, and the sum of all.
[[nodiscard]] TextTable report_table(const Report& report, const RowSelection& selection);

}    // namespace lapwing::detail
