// Names in a column of limited width: safe to print, shortened, still told apart.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace lapwing::detail {

/// `text` with every byte that a terminal could obey or that is not UTF-8 written as "\xNN".
[[nodiscard]] std::string printable(std::string_view text);

/// Columns that printable text takes: one a code point.
[[nodiscard]] std::size_t columns_of(std::string_view text) noexcept;

/// `names`, printable, none wider than `width`.
/// Shape:   one out per name, in order; names that differ stay different. A name that is too long loses its middle
///          ("mul_mat_ve..q4_0_f32"); where two become alike the cut moves, and if that does not help they are numbered
///          ("mul_mat~2~q4_0_f32"). width >= 12.
[[nodiscard]] std::vector<std::string> fit_names(const std::vector<std::string>& names, std::size_t width);

}    // namespace lapwing::detail
