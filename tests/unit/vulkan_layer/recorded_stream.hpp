// A recorder that keeps what it is handed, in memory and at once.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "lapwing/recorder.hpp"

namespace lapwing::testing {

/// What a recorder was handed.
struct RecordedStream {
    ProcessInfo process;
    std::vector<DeviceInfo> devices;
    std::vector<TrackInfo> tracks;
    std::map<SiteId, Site> sites;
    std::vector<SpanRecord> spans;
    std::vector<StepRecord> steps;
    std::vector<RecordingStats> stats;
    uint64_t unannounced = 0;    ///< spans whose track or site was not announced before
    uint64_t to_drop = 0;        ///< spans that the recorder drops from now on
    uint64_t dropped = 0;
    bool closed = false;

    /// Spans on tracks of device queues.
    [[nodiscard]] std::vector<SpanRecord> device_spans() const;
    [[nodiscard]] std::vector<SpanRecord> host_spans() const;
    [[nodiscard]] const Site& site_of(const SpanRecord& span) const { return sites.at(span.site); }
};

/// Shape:   `stream` outlives the recorder.
[[nodiscard]] std::unique_ptr<Recorder> make_stream_recorder(RecordedStream& stream);

}    // namespace lapwing::testing
