#include "lapwing/arming.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include "core/numbers.hpp"

namespace lapwing {

namespace {
constexpr uint64_t kMaxEvery = 1'000'000;
constexpr uint64_t kMaxSkip = 1'000'000'000;
constexpr int64_t kMaxDurationNs = 1000 * 3600 * int64_t{1'000'000'000};
constexpr uint32_t kControlEvery = 16;

struct Unit {
    std::string_view name;
    int64_t ns;
};
constexpr std::array<Unit, 5> kUnits{{{"ms", 1'000'000},
                                      {"s", 1'000'000'000},
                                      {"m", 60 * int64_t{1'000'000'000}},
                                      {"min", 60 * int64_t{1'000'000'000}},
                                      {"h", 3600 * int64_t{1'000'000'000}}}};
}    // namespace

Result<uint32_t> parse_every(std::string_view text) {
    if (const auto value = detail::whole_number(text, 1, kMaxEvery)) return static_cast<uint32_t>(*value);
    return detail::refused(text, "a whole number from 1 to 1000000");
}

Result<uint64_t> parse_skip(std::string_view text) {
    if (const auto value = detail::whole_number(text, 0, kMaxSkip)) return *value;
    return detail::refused(text, "a whole number from 0 to 1000000000");
}

Result<int64_t> parse_duration(std::string_view text) {
    const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
    for (const Unit& unit : kUnits) {
        if (text.substr(digits) != unit.name) continue;
        const auto most = static_cast<uint64_t>(kMaxDurationNs / unit.ns);
        if (const auto value = detail::whole_number(text.substr(0, digits), 1, most))
            return static_cast<int64_t>(*value) * unit.ns;
    }
    return detail::refused(text, "a time such as 500ms, 10s, 2m or 1h (a whole number and its unit, 1ms to 1000h)");
}

Result<double> parse_budget(std::string_view text) {
    double percent = 0;
    if (text.size() >= 2 && text.back() == '%') {
        const char* const end = text.data() + text.size() - 1;
        const auto [stop, error] = std::from_chars(text.data(), end, percent, std::chars_format::fixed);
        if (error == std::errc{} && stop == end && percent >= 0.01 && percent <= 100) return percent / 100;
    }
    return detail::refused(text, "a percentage from 0.01% to 100%, such as 1%");
}

Arming::Arming(const ArmingOptions& options) noexcept : options_(options), next_(options.skip) {
    if (options.budget > 0) budget_.emplace(options.budget);
}

uint32_t Arming::stride() const noexcept {
    return budget_ ? std::max(options_.every, budget_->stride()) : options_.every;
}

Arming::Decision Arming::decide(uint32_t step, int64_t now_ns) noexcept {
    if (step_ == step) return decision_;
    step_ = step;
    decision_ = {};
    if (step < options_.skip || (deadline_ns_ && now_ns >= *deadline_ns_)) return decision_;
    decision_.sampled = true;
    if (step < next_) return decision_;
    if (budget_ && stride() == 1 && ++since_control_ >= kControlEvery) {
        since_control_ = 0;
        return decision_;
    }
    decision_.armed = true;
    next_ = uint64_t{step} + stride();
    return decision_;
}

void Arming::worked(int64_t now_ns) noexcept {
    if (options_.duration_ns == 0 || deadline_ns_) return;
    int64_t deadline_ns = 0;
    const bool beyond = __builtin_add_overflow(now_ns, options_.duration_ns, &deadline_ns);
    deadline_ns_ = beyond ? std::numeric_limits<int64_t>::max() : deadline_ns;
}

void Arming::ended(const StepCost& cost) noexcept {
    if (!budget_) return;
    budget_->add(cost);
    // A stride that was lowered holds at once, not when the long one is over.
    if (step_) next_ = std::min(next_, std::max<uint64_t>(uint64_t{*step_} + stride(), options_.skip));
}

}    // namespace lapwing
