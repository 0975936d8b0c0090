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

}    // namespace lapwing::detail
