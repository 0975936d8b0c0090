// A device queue that times the bricks of a BrickProfiler.
#pragma once

#include <cstdint>

#include "lapwing/brick_profiler.hpp"
#include "lapwing/device_ring.hpp"

namespace lapwing {

/// Bricks of one queue of a DeviceRing: bind it with BrickProfiler::bind_device(), and let the collector that harvests
/// the ring feed BrickProfiler::device_view(), beside the recording where there is one (SpanTee).
/// Shape:   ring and this object outlive the bricks begun on them. The bricks' own switch decides, not the level.
/// Threads: begin and end as the ring's of that queue: bricks run on the thread that records into it.
template <Backend B>
class DeviceBricks final : public BrickDevice {
public:
    DeviceBricks(DeviceRing<B>& ring, uint32_t queue) noexcept : ring_(ring), queue_(queue) {}

    DeviceToken begin(SiteId site, uint32_t tag) noexcept override {
        return ring_.begin(queue_, site, Level::kOff, tag);
    }
    void end(DeviceToken token) noexcept override { ring_.end(queue_, token); }

private:
    DeviceRing<B>& ring_;
    uint32_t queue_;
};

}    // namespace lapwing
