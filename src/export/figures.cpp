#include "export/figures.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace lapwing::detail {
namespace {

struct Unit {
    uint64_t ns;
    const char* name;
};
constexpr std::array<Unit, 4> kUnits{Unit{1, "ns"}, Unit{1'000, "us"}, Unit{1'000'000, "ms"}, Unit{1'000'000'000, "s"}};

}    // namespace

std::string duration_text(int64_t ns) {
    const char* sign = ns < 0 ? "-" : "";
    const uint64_t magnitude = ns < 0 ? uint64_t{0} - static_cast<uint64_t>(ns) : static_cast<uint64_t>(ns);
    for (std::size_t i = 0; i < kUnits.size(); ++i) {
        const Unit& unit = kUnits[i];
        if (i == 0) {
            if (magnitude < 1000) return fmt::format("{}{} ns", sign, magnitude);
            continue;
        }
        // Decimals are tried from many to few; rounding may carry into the next digit or unit (999.6 us is 1.00 ms).
        for (const uint64_t decimals : {uint64_t{2}, uint64_t{1}, uint64_t{0}}) {
            const uint64_t scale = decimals == 2 ? 100 : decimals == 1 ? 10 : 1;
            const uint64_t step = unit.ns / scale;
            const uint64_t rounded = magnitude / step + (magnitude % step >= step - step / 2 ? 1 : 0);
            if (rounded >= 1000 && !(decimals == 0 && i + 1 == kUnits.size())) continue;
            if (decimals == 0) return fmt::format("{}{} {}", sign, rounded, unit.name);
            return fmt::format("{}{}.{:0{}} {}", sign, rounded / scale, rounded % scale, decimals, unit.name);
        }
    }
    return {};
}

std::string duration_text(double ns) {
    if (!std::isfinite(ns)) return "-";
    const double magnitude = std::fabs(ns);
    // From 99.95 ns on, whole nanoseconds carry the three digits.
    if (magnitude >= 99.95) return magnitude < 9.2e18 ? duration_text(static_cast<int64_t>(std::llround(ns))) : "-";
    if (magnitude == 0) return "0 ns";
    return fmt::format("{:.{}f} ns", ns, magnitude < 9.995 ? 2 : 1);
}

std::string percent_text(double share) {
    const double percent = share * 100;
    if (percent <= 0) return "0 %";
    if (percent < 0.01) return "<0.01 %";
    if (percent < 9.995) return fmt::format("{:.2f} %", percent);
    if (percent < 99.95) return fmt::format("{:.1f} %", percent);
    return fmt::format("{:.0f} %", percent);
}

std::string percent_cell(double share) {
    const double percent = share * 100;
    if (percent <= 0) return "0.0";
    if (percent < 0.05) return "<0.1";
    return fmt::format("{:.1f}", percent);
}

std::string ratio_text(double value) {
    return fmt::format("{:.{}g}", value, std::fabs(value) < 999.5 ? 3 : 9);
}

std::string significant_text(double value) {
    const double size = std::fabs(value);
    return size < 999.5 || size >= 999'999.5 ? fmt::format("{:.3g}", value) : fmt::format("{:.0f}", value);
}

std::string counted(uint64_t count, const char* singular, const char* plural) {
    return fmt::format("{} {}", count, count == 1 ? singular : plural);
}

}    // namespace lapwing::detail
