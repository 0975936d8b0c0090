// The 16-bit floating point formats, exactly.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace lapwing::detail {

[[nodiscard]] inline double from_bf16(uint16_t bits) noexcept {
    return static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bits) << 16));
}

[[nodiscard]] inline double from_f16(uint16_t bits) noexcept {
    const int exponent = bits >> 10 & 31;
    const int fraction = bits & 1023;
    double value = 0;
    if (exponent == 31)
        value = fraction == 0 ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
    else if (exponent == 0)
        value = std::ldexp(fraction, -24);
    else
        value = std::ldexp(1024 + fraction, exponent - 25);
    return (bits & 0x8000) != 0 ? -value : value;
}

// The f32 of the same value, in integers only, so that a GPU that flushes small numbers computes the same bits. What a
// NaN carries is kept.
[[nodiscard]] constexpr uint32_t f32_bits_of_f16(uint16_t bits) noexcept {
    const uint32_t sign = (bits & 0x8000u) << 16;
    const uint32_t exponent = bits >> 10 & 31u;
    uint32_t fraction = bits & 1023u;
    if (exponent == 31) return sign | 0x7f800000u | fraction << 13;
    if (exponent != 0) return sign | (exponent + 112) << 23 | fraction << 13;
    if (fraction == 0) return sign;
    uint32_t power = 113;    // of the leading bit, once it is moved to its place
    for (; (fraction & 1024u) == 0; fraction <<= 1) --power;
    return sign | power << 23 | (fraction & 1023u) << 13;
}

}    // namespace lapwing::detail
