// 128-bit and saturating arithmetic of the clock code.
#pragma once

#include <cstdint>
#include <limits>

namespace lapwing::detail {

__extension__ typedef unsigned __int128 Uint128;    // __extension__: -Wpedantic objects to the type's name

/// a + b, held at the ends of the range: a moment beyond them is an error upstream, never a moment in the past.
[[nodiscard]] constexpr int64_t saturating_add(int64_t a, int64_t b) noexcept {
    int64_t sum = 0;
    if (!__builtin_add_overflow(a, b, &sum)) return sum;
    return b > 0 ? std::numeric_limits<int64_t>::max() : std::numeric_limits<int64_t>::min();
}

[[nodiscard]] constexpr int64_t saturating_subtract(int64_t a, int64_t b) noexcept {
    int64_t difference = 0;
    if (!__builtin_sub_overflow(a, b, &difference)) return difference;
    return b < 0 ? std::numeric_limits<int64_t>::max() : std::numeric_limits<int64_t>::min();
}

}    // namespace lapwing::detail
