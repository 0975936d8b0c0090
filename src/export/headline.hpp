// The sentences above and below the table, for every format that has sentences.
#pragma once

#include <string>
#include <vector>

#include "lapwing/report.hpp"

namespace lapwing::detail {

/// A line with a label before it; the label may be empty.
struct LabelledLine {
    std::string label;
    std::string text;
};

/// GPU time per step, wall per step, busy and idle with their formula, top rows.
[[nodiscard]] std::vector<LabelledLine> headline(const Report& report);

/// Device, driver, clock; begun = measured + estimated + lost; warm-up; own cost.
[[nodiscard]] std::vector<LabelledLine> particulars(const Report& report);

/// "begun 1155 = measured 1122 + estimated 0 + lost 33 (abandoned 33)".
[[nodiscard]] std::string accounting(const Report& report);

}    // namespace lapwing::detail
