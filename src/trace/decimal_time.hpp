// Times as decimal text: exact nanoseconds, without floating point and without a locale.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace lapwing::trace {

/// The nanoseconds of a JSON number of microseconds ("1661938466265032.125", "1.5e3").
/// Shape:   digits behind the nanosecond round half away from zero. Nothing where it is no number, or beyond 63 bits.
[[nodiscard]] std::optional<int64_t> ns_of_microseconds(std::string_view text) noexcept;

/// A whole number of any sign, as JSON writes it; nothing where it is none, or beyond 63 bits.
[[nodiscard]] std::optional<int64_t> whole_number_of(std::string_view text) noexcept;

}    // namespace lapwing::trace
