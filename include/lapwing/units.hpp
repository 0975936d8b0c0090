// Device ticks and host nanoseconds are different types: mixing them does not compile.
#pragma once

#include <compare>
#include <cstdint>

namespace lapwing {

/// A raw device timestamp as the driver delivered it.
/// Units:   device ticks; valid bits and period are those of its queue's Caps; origin undefined; wraps.
struct Ticks {
    uint64_t value = 0;
    friend constexpr auto operator<=>(const Ticks&, const Ticks&) = default;
};

/// A moment on the host clock.
/// Units:   nanoseconds of CLOCK_MONOTONIC.
struct HostNs {
    int64_t value = 0;
    friend constexpr auto operator<=>(const HostNs&, const HostNs&) = default;
};

}    // namespace lapwing
