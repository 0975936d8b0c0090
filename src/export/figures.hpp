// Numbers as people read them: three significant digits and a unit.
#pragma once

#include <cstdint>
#include <string>

namespace lapwing::detail {

/// "0 ns", "999 ns", "1.23 us", "12.3 ms", "123 s", "12345 s": three digits, rounded half up in integers, so that a
/// figure never depends on floating point.
[[nodiscard]] std::string duration_text(int64_t ns);

/// As above for means and other fractions of ns; below 100 ns with as many decimals as three digits take ("1.25 ns").
[[nodiscard]] std::string duration_text(double ns);

/// A share 0..1 as "61.2 %", "8.10 %", "0.42 %", "<0.01 %": nothing that is there is shown as zero.
[[nodiscard]] std::string percent_text(double share);

/// A share for a column: one decimal, no sign ("61.2", "0.4", "<0.1").
[[nodiscard]] std::string percent_cell(double share);

/// A ratio such as spans a step, with at most three significant digits and no trailing zeros ("35", "1.5", "0.031").
[[nodiscard]] std::string ratio_text(double value);

/// Any figure with three significant digits ("0.00123", "12.3", "1230"), 0 as "0"; beyond six digits by a power of
/// ten ("1.23e+09").
[[nodiscard]] std::string significant_text(double value);

/// "1 step", "2 steps".
[[nodiscard]] std::string counted(uint64_t count, const char* singular, const char* plural);

}    // namespace lapwing::detail
