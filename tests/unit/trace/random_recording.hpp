// Recordings made from a seed, with all that makes a trace hard to write.
#pragma once

#include <cstdint>

#include "unit/trace/trace_material.hpp"

namespace lapwing::test {

/// What a seeded recording is made of.
struct RandomShape {
    uint64_t seed = 1;
    uint32_t sites = 40;
    TrackId device_tracks = 3;
    TrackId host_tracks = 2;
    uint32_t spans = 3000;
    bool overlaps = true;    ///< device spans that begin before the last one ended
    bool late = true;        ///< spans that are handed over long after their time
    bool hostile_names = true;
};

/// Spans of a device track in device order, of a host track in closing order with proper nesting; gaps and durations
/// of 0, a few us, and beyond 2^21 and 2^35 ns; steps that change in the middle.
[[nodiscard]] Recording random_recording(const RandomShape& shape);

}    // namespace lapwing::test
