// Names in the order a person expects: "2" before "10".
#pragma once

#include <string_view>

namespace lapwing::detail {

/// Whether `a` comes before `b`: runs of digits compare by value, all else by byte; "-" (none) comes last. A strict
/// weak order; names equal by value ("01", "1") are told apart by byte.
[[nodiscard]] bool natural_less(std::string_view a, std::string_view b) noexcept;

}    // namespace lapwing::detail
