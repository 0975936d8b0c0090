#include "trace/decimal_time.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <limits>
#include <system_error>

namespace lapwing::trace {

namespace {

constexpr uint64_t kMost = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());

unsigned digit(char character) {
    return static_cast<unsigned>(static_cast<unsigned char>(character)) - unsigned{'0'};
}

// The parts of a JSON number; `valid` where the whole text is one. Leading zeros and a missing digit on one side of the
// point are let through: they are no JSON, and clear.
struct Number {
    bool valid = false;
    bool negative = false;
    std::string_view whole;
    std::string_view fraction;
    int exponent = 0;
};

std::string_view take_digits(std::string_view& text) {
    std::size_t count = 0;
    while (count < text.size() && digit(text[count]) < 10) ++count;
    const std::string_view digits = text.substr(0, count);
    text.remove_prefix(count);
    return digits;
}

bool take(std::string_view& text, char character) {
    if (text.empty() || text.front() != character) return false;
    text.remove_prefix(1);
    return true;
}

Number split(std::string_view text) {
    constexpr int kFarExponent = 100'000;
    Number number;
    number.negative = take(text, '-');
    number.whole = take_digits(text);
    if (take(text, '.')) number.fraction = take_digits(text);
    if (number.whole.empty() && number.fraction.empty()) return number;
    if (take(text, 'e') || take(text, 'E')) {
        const bool negative = take(text, '-');
        if (!negative) take(text, '+');
        const std::string_view digits = take_digits(text);
        if (digits.empty()) return number;
        for (const char character : digits)
            number.exponent = std::min(number.exponent * 10 + static_cast<int>(digit(character)), kFarExponent);
        if (negative) number.exponent = -number.exponent;
    }
    number.valid = text.empty();
    return number;
}

std::optional<int64_t> ns_of(const Number& number) {
    if (!number.valid) return std::nullopt;
    const std::size_t digits = number.whole.size() + number.fraction.size();
    const auto at = [&](std::size_t i) {
        return i < number.whole.size() ? digit(number.whole[i]) : digit(number.fraction[i - number.whole.size()]);
    };
    // So many digits stand before the nanosecond's point; where there are fewer, zeros follow.
    const int64_t kept = static_cast<int64_t>(number.whole.size()) + number.exponent + 3;
    uint64_t value = 0;
    for (int64_t i = 0; i < kept; ++i) {
        const bool written = static_cast<std::size_t>(i) < digits;
        if (!written && value == 0) break;
        const unsigned next = written ? at(static_cast<std::size_t>(i)) : 0;
        if (value > (kMost - next) / 10) return std::nullopt;
        value = value * 10 + next;
    }
    if (kept >= 0 && static_cast<std::size_t>(kept) < digits && at(static_cast<std::size_t>(kept)) >= 5) {
        if (value == kMost) return std::nullopt;
        ++value;
    }
    return number.negative ? -static_cast<int64_t>(value) : static_cast<int64_t>(value);
}

}    // namespace

std::optional<int64_t> ns_of_microseconds(std::string_view text) noexcept {
    // What nearly all times are: up to 15 digits, and none or three decimals.
    uint64_t value = 0;
    std::size_t i = 0;
    for (; i < text.size() && i < 16 && digit(text[i]) < 10; ++i) value = value * 10 + digit(text[i]);
    if (i != 0 && i < 16) {
        if (i == text.size()) return static_cast<int64_t>(value * 1000);
        if (text[i] == '.' && text.size() - i == 4) {
            const unsigned a = digit(text[i + 1]);
            const unsigned b = digit(text[i + 2]);
            const unsigned c = digit(text[i + 3]);
            if (a < 10 && b < 10 && c < 10) return static_cast<int64_t>(value * 1000 + a * 100 + b * 10 + c);
        }
    }
    return ns_of(split(text));
}

std::optional<int64_t> whole_number_of(std::string_view text) noexcept {
    int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
}

}    // namespace lapwing::trace
