// How fast a device clock runs against the host's, from moments at which both were known.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace lapwing {

/// Parts per million by which host and device clock may part while nothing is known of their rates. Crystals are
/// specified to +-50 to +-100 ppm each.
inline constexpr double kMaxDriftPpm = 200;

/// Estimates the drift from fixes: host minus device time (in ns of the device's stated period), with an uncertainty.
/// Shape:   keeps 16 fixes, at least a second apart; the window reaches back over minutes and its rate follows
///          temperature. Bounded memory.
/// Threads: one at a time.
class ClockDrift {
public:
    /// At device time `device_ns` (any origin, the same for all), host time was `offset_ns` ahead, give or take
    /// `half_width_ns`.
    void fix(int64_t device_ns, int64_t offset_ns, int64_t half_width_ns) noexcept;

    /// Forgets all: one of the clocks stepped.
    void reset() noexcept { count_ = 0; }

    /// Whether the window tells more than kMaxDriftPpm would.
    [[nodiscard]] bool known() const noexcept { return known_half_ppm() < kMaxDriftPpm / 4; }

    /// Host ns gained per million device ns; 0 while unknown. Positive: the device clock is slow.
    [[nodiscard]] double ppm() const noexcept { return known() ? ppm_ : 0; }

    /// Half-width of ppm(): what the rate may be off, wander within the window included.
    [[nodiscard]] double half_ppm() const noexcept { return known() ? known_half_ppm() : kMaxDriftPpm; }

private:
    struct Fix {
        int64_t device_ns;
        int64_t offset_ns;
        int64_t half_width_ns;
    };
    [[nodiscard]] double known_half_ppm() const noexcept { return count_ < 2 ? 2 * kMaxDriftPpm : half_ppm_; }

    std::array<Fix, 16> fixes_{};
    std::size_t count_ = 0;
    double ppm_ = 0;
    double half_ppm_ = 0;
};

}    // namespace lapwing
