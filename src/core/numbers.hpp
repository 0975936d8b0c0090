// Values out of a user's text, strictly: no blanks, no sign, nothing behind them.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "lapwing/result.hpp"

namespace lapwing::detail {

[[nodiscard]] inline std::optional<uint64_t> whole_number(std::string_view text, uint64_t least,
                                                          uint64_t most) noexcept {
    uint64_t value = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc{} || stop != end || value < least || value > most) return std::nullopt;
    return value;
}

/// "'text' is not wanted", to be put behind an option's name.
[[nodiscard]] inline Error refused(std::string_view text, const char* wanted) {
    std::string message = "'";    // appended to: see CONTRIBUTING.md, traps
    message += text;
    message += "' is not ";
    message += wanted;
    return Error{Errc::kInvalidArgument, 0, std::move(message)};
}

}    // namespace lapwing::detail
