#include "lapwing/drift.hpp"

#include <algorithm>

namespace lapwing {

namespace {
constexpr int64_t kApartNs = 1'000'000'000;
// A rate that was true on average over the window may have changed within it: oscillators wander with temperature by a
// few tenths of a ppm a minute.
constexpr double kWanderPpm = 0.5;
}    // namespace

void ClockDrift::fix(int64_t device_ns, int64_t offset_ns, int64_t half_width_ns) noexcept {
    const Fix added{device_ns, offset_ns, half_width_ns};
    if (count_ == 0) {
        fixes_[count_++] = added;
        return;
    }
    // The newest place holds the newest fix, and moves on once a second of it is settled.
    if (count_ >= 2 && device_ns - fixes_[count_ - 2].device_ns < kApartNs) {
        fixes_[count_ - 1] = added;
    } else {
        if (count_ == fixes_.size()) {
            // Every second one goes, the oldest and the newest stay: the window doubles. Beyond some minutes the oldest
            // goes instead.
            constexpr int64_t kWindowNs = 240'000'000'000;
            if (device_ns - fixes_[0].device_ns > kWindowNs) {
                std::copy(fixes_.begin() + 1, fixes_.end(), fixes_.begin());
                --count_;
            } else {
                std::size_t kept = 0;
                for (std::size_t i = 0; i < count_; i += 2) fixes_[kept++] = fixes_[i];
                count_ = kept;
            }
        }
        fixes_[count_++] = added;
    }
    // The narrowest of what the pairs with the newest fix say.
    half_ppm_ = 2 * kMaxDriftPpm;
    for (std::size_t i = 0; i + 1 < count_; ++i) {
        const auto apart = static_cast<double>(device_ns - fixes_[i].device_ns);
        if (apart <= 0) continue;
        const double half = static_cast<double>(half_width_ns + fixes_[i].half_width_ns) / apart * 1e6 + kWanderPpm;
        if (half >= half_ppm_) continue;
        half_ppm_ = half;
        ppm_ = static_cast<double>(offset_ns - fixes_[i].offset_ns) / apart * 1e6;
    }
}

}    // namespace lapwing
