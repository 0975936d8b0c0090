#include "quantity.hpp"

#include <charconv>
#include <span>

namespace lapwing::cli {
namespace {

struct Unit {
    std::string_view name;
    int64_t factor;
};

std::optional<int64_t> parse(std::string_view text, std::span<const Unit> units) {
    int64_t number = 0;
    const char* const end = text.data() + text.size();
    const std::from_chars_result parsed = std::from_chars(text.data(), end, number);
    if (parsed.ec != std::errc() || number < 0) return std::nullopt;
    const std::string_view name(parsed.ptr, static_cast<std::size_t>(end - parsed.ptr));
    for (const Unit& unit : units) {
        if (unit.name != name) continue;
        int64_t out = 0;
        if (__builtin_mul_overflow(number, unit.factor, &out)) return std::nullopt;
        return out;
    }
    return std::nullopt;
}

}    // namespace

std::optional<int64_t> parse_bytes(std::string_view text) {
    constexpr Unit kUnits[] = {{"", 1},        {"B", 1},         {"K", 1 << 10},    {"KiB", 1 << 10},
                               {"M", 1 << 20}, {"MiB", 1 << 20}, {"G", 1 << 30},    {"GiB", 1 << 30},
                               {"kB", 1'000},  {"KB", 1'000},    {"MB", 1'000'000}, {"GB", 1'000'000'000}};
    return parse(text, kUnits);
}

std::optional<int64_t> parse_duration(std::string_view text) {
    constexpr Unit kUnits[] = {{"ms", 1'000'000},
                               {"s", 1'000'000'000},
                               {"m", 60'000'000'000},
                               {"min", 60'000'000'000},
                               {"h", 3'600'000'000'000}};
    return parse(text, kUnits);
}

}    // namespace lapwing::cli
