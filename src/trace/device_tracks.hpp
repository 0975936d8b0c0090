// Which tracks are queues of a device: only their spans are counted as begun, recorded and left out.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lapwing/sink.hpp"

namespace lapwing::trace {

/// A track that was never announced is a device's, as in a report.
class DeviceTracks {
public:
    void announce(const TrackInfo& track) {
        if (track.id >= is_host_.size()) is_host_.resize(track.id + std::size_t{1});
        is_host_[track.id] = track.kind == TrackKind::kHostThread;
    }
    [[nodiscard]] bool contains(TrackId track) const noexcept { return track >= is_host_.size() || !is_host_[track]; }
    [[nodiscard]] uint64_t count(std::span<const SpanRecord> spans) const noexcept {
        return static_cast<uint64_t>(
            std::count_if(spans.begin(), spans.end(), [this](const SpanRecord& span) { return contains(span.track); }));
    }
    void clear() noexcept { is_host_.clear(); }

private:
    std::vector<bool> is_host_;    // by TrackId
};

}    // namespace lapwing::trace
