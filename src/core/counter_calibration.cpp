#include "core/counter_calibration.hpp"

#include <algorithm>

#include "core/wide.hpp"

namespace lapwing::detail {

void CounterCalibration::add(const ClockPair& pair) noexcept {
    // A counter or clock that stands still or goes back (a suspended machine, a migrated one) starts anew.
    const bool restarts = pairs_ > 0 && (pair.ns <= newest_.ns || pair.tick <= newest_.tick);
    if (pairs_ == 0 || restarts) {
        base_ = middle_ = newest_ = pair;
        pairs_ = 1;
        return;
    }
    newest_ = pair;
    ++pairs_;
    if (newest_.ns - middle_.ns >= kBaselineNs) {
        base_ = middle_;
        middle_ = newest_;
    }
}

bool CounterCalibration::wants_pair(int64_t ns) const noexcept {
    if (pairs_ < 2) return true;
    return ns - newest_.ns >= std::min(kRefreshNs, newest_.ns - base_.ns);
}

HostScale CounterCalibration::scale() const noexcept {
    HostScale out;
    out.base_tick = newest_.tick;
    out.base_ns = newest_.ns;
    const uint64_t ticks = newest_.tick - base_.tick;
    if (ticks != 0) {
        const auto ns = static_cast<uint64_t>(newest_.ns - base_.ns);
        const Uint128 multiplier = (static_cast<Uint128>(ns) << 48) / ticks;
        // Slower than 1 kHz is no counter; 2^62 keeps the product of HostScale::to_ns within 127 bits.
        out.multiplier = static_cast<uint64_t>(std::min(multiplier, static_cast<Uint128>(1) << 62));
    }
    out.uncertainty_ns = out.to_ns(static_cast<int64_t>(newest_.width_ticks)) / 2 + 1;
    return out;
}

}    // namespace lapwing::detail
