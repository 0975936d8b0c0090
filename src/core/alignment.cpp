#include "lapwing/alignment.hpp"

#include <algorithm>
#include <cmath>

#include "core/wide.hpp"

namespace lapwing {

namespace {
constexpr int64_t kRoundingNs = 1;                 // each bound of a bracket goes through one rounding to whole ns
constexpr int64_t kMinWorkInNs = 1'000'000'000;    // a residual is worked in over at least this
constexpr double kMaxWorkInRate = 100e-6;

int64_t share_of(int64_t ns, double parts_per_million) noexcept {
    return static_cast<int64_t>(std::ceil(std::abs(static_cast<double>(ns)) * parts_per_million * 1e-6));
}
int64_t gain_of(int64_t ns, double parts_per_million) noexcept {
    return static_cast<int64_t>(static_cast<double>(ns) * parts_per_million * 1e-6);
}
}    // namespace

ClockAlignment::ClockAlignment(TickScale scale) noexcept : scale_(scale) {}

int64_t ClockAlignment::ns_between(uint64_t from, uint64_t to) const noexcept {
    return scale_.to_signed_ns(static_cast<int64_t>(to - from));
}

void ClockAlignment::see(uint64_t device) noexcept {
    if (!has_newest_ || static_cast<int64_t>(device - newest_) > 0) newest_ = device;
    has_newest_ = true;
    if (!has_base_) base_ = device;
    has_base_ = true;
}

void ClockAlignment::placed(uint64_t device) noexcept {
    see(device);
}

void ClockAlignment::start_anew() noexcept {
    ++restarts_;
    drift_.reset();
    has_anchor_ = false;
    has_bracket_ = false;
    confirmed_ = false;
    line_count_ = 0;
    worked_in_ns_ = 0;
}

void ClockAlignment::push(const Line& line) noexcept {
    if (line_count_ == lines_.size()) {
        std::copy(lines_.begin() + 1, lines_.end(), lines_.begin());
        --line_count_;
    }
    lines_[line_count_++] = line;
}

void ClockAlignment::anchor(uint64_t device, HostNs host, int64_t uncertainty_ns) noexcept {
    if (refused_) return;    // a clock that lied once is not asked again
    const int64_t uncertainty = std::max<int64_t>(uncertainty_ns, 0);
    if (has_anchor_) {
        const int64_t residual = detail::saturating_subtract(host.value, to_host(device).value);
        const int64_t apart = ns_between(anchor_device_, device);
        residual_ns_ = residual;
        if (std::abs(residual) > uncertainty + anchor_uncertainty_ns_ + std::abs(worked_in_ns_) +
                                     share_of(apart, kMaxDriftPpm) + kRoundingNs)
            start_anew();
    }
    const bool first = !has_anchor_;
    const uint64_t previous_device = anchor_device_;
    has_anchor_ = true;
    anchor_device_ = device;
    anchor_host_ns_ = host.value;
    anchor_uncertainty_ns_ = uncertainty;
    if (contradicts_brackets()) {
        if (!confirmed_) {
            has_anchor_ = false;
            line_count_ = 0;
            refused_ = true;
            return;
        }
        // Anchors that agreed with what the host saw do so no more: a step, unless the next bracket says otherwise.
        start_anew();
        has_anchor_ = true;
    }
    see(device);
    drift_.fix(ns_between(base_, device), detail::saturating_subtract(host.value, ns_between(base_, device)),
               uncertainty);
    const double rate = drift_.ppm() * 1e-6;
    const Line straight{device, device, host, rate};
    if (first || line_count_ == 0) {
        worked_in_ns_ = 0;
        Line all = straight;
        all.from = 0;
        line_count_ = 0;
        push(all);
        return;
    }
    // Joins where the old line ends, and meets the new one as far ahead as the last two anchors were apart.
    const uint64_t seam = static_cast<int64_t>(newest_ - device) > 0 ? newest_ : device;
    const int64_t joined = to_host(seam).value;
    worked_in_ns_ = straight.at(seam, scale_) - joined;
    const int64_t over_ns = std::max(kMinWorkInNs, ns_between(previous_device, device));
    const double correction =
        std::clamp(static_cast<double>(worked_in_ns_) / static_cast<double>(over_ns), -kMaxWorkInRate, kMaxWorkInRate);
    worked_in_over_ns_ = over_ns;
    push({seam, seam, HostNs{joined}, rate + correction});
}

void ClockAlignment::advance_brackets(uint64_t device) noexcept {
    const int64_t passed = ns_between(bracket_device_, device);
    const int64_t gained = passed + gain_of(passed, drift_.ppm());
    const int64_t widened = share_of(passed, drift_.half_ppm());
    bracket_low_ns_ = detail::saturating_add(bracket_low_ns_, gained - widened);
    bracket_high_ns_ = detail::saturating_add(bracket_high_ns_, gained + widened);
    bracket_device_ = device;
}

void ClockAlignment::bracket(uint64_t first, uint64_t last, HostNs before, HostNs after) noexcept {
    // Of the moment of `last`: not before the interval's begin and its length, not after the interval's end.
    // The length is the device's own: on the host it may have been a little less.
    const int64_t device_length = ns_between(first, last);
    const int64_t length = device_length + gain_of(device_length, drift_.ppm() - drift_.half_ppm());
    int64_t low = detail::saturating_add(detail::saturating_add(before.value, length), -kRoundingNs);
    int64_t high = detail::saturating_add(after.value, kRoundingNs);
    if (low > high) {    // longer on the device than on the host: it says nothing about the offset
        ++brackets_refused_;
        return;
    }
    if (has_bracket_) {
        advance_brackets(last);
        const int64_t predicted = bracket_low_ns_ + (bracket_high_ns_ - bracket_low_ns_) / 2;
        if (std::max(low, bracket_low_ns_) > std::min(high, bracket_high_ns_)) {
            start_anew();    // more than drift explains: the newest bracket is all that is known
        } else {
            low = std::max(low, bracket_low_ns_);
            high = std::min(high, bracket_high_ns_);
        }
        if (!has_anchor_) residual_ns_ = low + (high - low) / 2 - predicted;
    }
    has_bracket_ = true;
    bracket_device_ = last;
    bracket_low_ns_ = low;
    bracket_high_ns_ = high;
    see(last);
    if (contradicts_brackets()) {
        has_anchor_ = false;
        line_count_ = 0;
        refused_ = true;
        drift_.reset();
    } else if (has_anchor_) {
        confirmed_ = true;
    }
    if (!has_anchor_) {
        const int64_t middle = low + (high - low) / 2;
        drift_.fix(ns_between(base_, last), detail::saturating_subtract(middle, ns_between(base_, last)),
                   (high - low + 1) / 2);
    }
}

bool ClockAlignment::contradicts_brackets() const noexcept {
    if (!has_anchor_ || !has_bracket_) return false;
    const int64_t apart = ns_between(anchor_device_, bracket_device_);
    const int64_t moved = detail::saturating_add(anchor_host_ns_, apart);
    const int64_t slack = detail::saturating_add(anchor_uncertainty_ns_, share_of(apart, kMaxDriftPpm));
    return detail::saturating_add(moved, slack) < bracket_low_ns_ ||
           detail::saturating_subtract(moved, slack) > bracket_high_ns_;
}

bool ClockAlignment::aligned() const noexcept {
    return has_anchor_ || has_bracket_;
}

ClockAlignment::Line ClockAlignment::line() const noexcept {
    if (has_anchor_) return lines_[line_count_ - 1];
    if (!has_bracket_) return {};
    return {0, bracket_device_, HostNs{bracket_low_ns_ + (bracket_high_ns_ - bracket_low_ns_) / 2},
            drift_.ppm() * 1e-6};
}

HostNs ClockAlignment::to_host(uint64_t device) const noexcept {
    if (!aligned()) return HostNs{scale_.to_ns(device)};
    if (!has_anchor_) return HostNs{line().at(device, scale_)};
    std::size_t i = line_count_ - 1;
    while (i > 0 && static_cast<int64_t>(device - lines_[i].from) < 0) --i;
    return HostNs{lines_[i].at(device, scale_)};
}

std::optional<int64_t> ClockAlignment::uncertainty_ns() const noexcept {
    if (has_anchor_) {
        const int64_t passed = ns_between(anchor_device_, newest_);
        const int64_t ways = std::max<int64_t>(1, passed / worked_in_over_ns_ + 1);
        return anchor_uncertainty_ns_ + std::abs(worked_in_ns_) * ways + share_of(passed, drift_.half_ppm());
    }
    if (!has_bracket_) return std::nullopt;
    return (bracket_high_ns_ - bracket_low_ns_ + 1) / 2 +
           share_of(ns_between(bracket_device_, newest_), drift_.half_ppm());
}

std::optional<double> ClockAlignment::drift_ppm() const noexcept {
    // A rate that is less sure than it is large would be noise shown as a fact.
    if (!drift_.known() || drift_.half_ppm() > std::max(1.0, std::abs(drift_.ppm()) / 2)) return std::nullopt;
    return drift_.ppm();
}

bool ClockAlignment::calibrated() const noexcept {
    return has_anchor_;
}

bool ClockAlignment::calibration_refused() const noexcept {
    return refused_;
}

}    // namespace lapwing
