#include "lapwing/alignment.hpp"

#include <algorithm>

#include "core/wide.hpp"

namespace lapwing {

namespace {
// Oscillators of host and device part by up to this many parts per million; an anchor and a bracket that lie far apart
// are allowed to disagree by it before the anchor is called wrong. Crystals are specified to +-50 to +-100 ppm each.
constexpr int64_t kDriftPpm = 200;
// Each bound of a bracket goes through one rounding to whole ns.
constexpr int64_t kRoundingNs = 1;
}    // namespace

ClockAlignment::ClockAlignment(TickScale scale) noexcept : scale_(scale) {}

void ClockAlignment::anchor(uint64_t device, HostNs host, int64_t uncertainty_ns) noexcept {
    if (refused_) return;    // a clock that lied once is not asked again
    has_anchor_ = true;
    anchor_device_ = device;
    anchor_host_ns_ = host.value;
    anchor_uncertainty_ns_ = std::max<int64_t>(uncertainty_ns, 0);
    refuse_contradicted_anchor();
}

void ClockAlignment::bracket(uint64_t first, uint64_t last, HostNs before, HostNs after) noexcept {
    const uint64_t base = has_bracket_ ? base_device_ : first;
    const int64_t first_ns = scale_.to_signed_ns(static_cast<int64_t>(first - base));
    const int64_t last_ns = scale_.to_signed_ns(static_cast<int64_t>(last - base));
    const int64_t low = detail::saturating_add(detail::saturating_subtract(before.value, first_ns), -kRoundingNs);
    const int64_t high = detail::saturating_add(detail::saturating_subtract(after.value, last_ns), kRoundingNs);
    if (low > high) {    // longer on the device than on the host: it says nothing about the offset
        ++brackets_refused_;
        return;
    }
    const int64_t narrowed_low = has_bracket_ ? std::max(low, offset_low_ns_) : low;
    const int64_t narrowed_high = has_bracket_ ? std::min(high, offset_high_ns_) : high;
    const bool contradicts = narrowed_low > narrowed_high;
    // Clocks that drift apart end up contradicting old brackets; the newest one is then all that is known.
    offset_low_ns_ = contradicts ? low : narrowed_low;
    offset_high_ns_ = contradicts ? high : narrowed_high;
    if (contradicts) ++restarts_;
    base_device_ = base;
    newest_device_ = last;
    has_bracket_ = true;
    refuse_contradicted_anchor();
}

void ClockAlignment::refuse_contradicted_anchor() noexcept {
    if (!has_anchor_ || !has_bracket_) return;
    const int64_t anchor_ns = scale_.to_signed_ns(static_cast<int64_t>(anchor_device_ - base_device_));
    const int64_t offset = detail::saturating_subtract(anchor_host_ns_, anchor_ns);
    const int64_t apart_ns = scale_.to_signed_ns(static_cast<int64_t>(anchor_device_ - newest_device_));
    const int64_t drift_ns = (apart_ns < 0 ? -apart_ns : apart_ns) / 1'000'000 * kDriftPpm;
    const int64_t slack = detail::saturating_add(anchor_uncertainty_ns_, drift_ns);
    if (detail::saturating_add(offset, slack) < offset_low_ns_ ||
        detail::saturating_subtract(offset, slack) > offset_high_ns_) {
        has_anchor_ = false;
        refused_ = true;
    }
}

bool ClockAlignment::aligned() const noexcept {
    return has_anchor_ || has_bracket_;
}

ClockAlignment::Origin ClockAlignment::origin() const noexcept {
    if (has_anchor_) return {anchor_device_, HostNs{anchor_host_ns_}};
    if (!has_bracket_) return {};
    return {base_device_, HostNs{offset_low_ns_ + (offset_high_ns_ - offset_low_ns_) / 2}};
}

HostNs ClockAlignment::to_host(uint64_t device) const noexcept {
    if (!aligned()) return HostNs{scale_.to_ns(device)};
    const Origin from = origin();
    return align(device, from.device, from.host, scale_);
}

std::optional<int64_t> ClockAlignment::uncertainty_ns() const noexcept {
    if (has_anchor_) return anchor_uncertainty_ns_;
    if (!has_bracket_) return std::nullopt;
    return (offset_high_ns_ - offset_low_ns_ + 1) / 2;
}

bool ClockAlignment::calibrated() const noexcept {
    return has_anchor_;
}

bool ClockAlignment::calibration_refused() const noexcept {
    return refused_;
}

}    // namespace lapwing
