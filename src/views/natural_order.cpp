#include "views/natural_order.hpp"

#include <cstddef>

namespace lapwing::detail {
namespace {

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

// The run of digits at `at`, leading zeros removed; `at` moves behind it.
std::string_view take_number(std::string_view text, std::size_t& at) {
    while (at < text.size() && text[at] == '0') ++at;
    const std::size_t first = at;
    while (at < text.size() && is_digit(text[at])) ++at;
    return text.substr(first, at - first);
}

}    // namespace

bool natural_less(std::string_view a, std::string_view b) noexcept {
    const bool a_none = a == "-";
    const bool b_none = b == "-";
    if (a_none || b_none) return !a_none && b_none;

    std::size_t i = 0;
    std::size_t j = 0;
    while (i < a.size() && j < b.size()) {
        if (is_digit(a[i]) && is_digit(b[j])) {
            const std::string_view x = take_number(a, i);
            const std::string_view y = take_number(b, j);
            if (x.size() != y.size()) return x.size() < y.size();
            if (const int order = x.compare(y); order != 0) return order < 0;
        } else {
            const auto x = static_cast<unsigned char>(a[i]);
            const auto y = static_cast<unsigned char>(b[j]);
            if (x != y) return x < y;
            ++i;
            ++j;
        }
    }
    if ((i < a.size()) != (j < b.size())) return j < b.size();
    return a < b;
}

}    // namespace lapwing::detail
