// Turns pairs of (counter, CLOCK_MONOTONIC) into a HostScale: pure arithmetic, so that tests can feed it any clock.
#pragma once

#include <cstdint>

#include "lapwing/clock.hpp"

namespace lapwing::detail {

/// One simultaneous reading of both clocks.
struct ClockPair {
    uint64_t tick = 0;
    int64_t ns = 0;
    uint64_t width_ticks = 0;    ///< ticks between the readings before and after `ns` was read
};

/// The rate is the slope between the newest pair and one that is at least a second older (the first one in a process's
/// first second): long against a pair's error of some 50 ns, short against the kernel's changes of its clock's rate.
/// Threads: one at a time.
class CounterCalibration {
public:
    void add(const ClockPair& pair) noexcept;

    /// Whether `ns` is far enough from the newest pair for another one to help.
    [[nodiscard]] bool wants_pair(int64_t ns) const noexcept;

    /// Shape:   1 ns a tick before there are two pairs.
    [[nodiscard]] HostScale scale() const noexcept;
    [[nodiscard]] uint64_t pairs() const noexcept { return pairs_; }

private:
    static constexpr int64_t kRefreshNs = 100'000'000;
    static constexpr int64_t kBaselineNs = 1'000'000'000;

    ClockPair base_;      // the slope's older end
    ClockPair middle_;    // becomes the base once it is a whole baseline old
    ClockPair newest_;
    uint64_t pairs_ = 0;
};

}    // namespace lapwing::detail
