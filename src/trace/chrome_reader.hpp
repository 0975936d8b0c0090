// The events of a Chrome trace as spans.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lapwing/read_trace.hpp"
#include "lapwing/sink.hpp"
#include "trace/chrome_kinds.hpp"
#include "trace/chrome_names.hpp"
#include "trace/chrome_source.hpp"
#include "trace/name_table.hpp"

namespace lapwing::trace {

/// Drives a sink with one trace.
/// Shape:   start(), event() for each, finish() once.
class ChromeReader {
public:
    explicit ChromeReader(SpanSink& sink) : sink_(sink) {}

    Status start();
    /// Errors:  the sink's own; kExhausted where too many slices are open at once (message without the file's name).
    Status event(const ChromeEvent& event, uint64_t offset);
    Status finish(const ChromeRoot& root, TraceSummary& summary);
    [[nodiscard]] bool sink_failed() const noexcept { return sink_failed_; }

private:
    struct Track {
        ChromeThread thread;
        TrackInfo info;
    };
    struct Open {
        int64_t begin_ns = 0;
        SiteId site = 0;
        TrackId track = 0;
    };

    Status complete(const ChromeEvent& event, uint64_t offset);
    Status begin(const ChromeEvent& event, uint64_t offset);
    Status end(const ChromeEvent& event, uint64_t offset);
    Status add(int64_t begin_ns, int64_t duration_ns, SiteId site, TrackId track, uint64_t offset);
    Status hand_over();
    Status told(Status status);
    ChromeKind look_at(const ChromeEvent& event);
    Result<TrackId> track_of(const ChromeEvent& event, bool device);
    Result<TrackId> folded_track(bool device);
    Result<uint32_t> device_of(const std::string& pid);
    Result<SiteId> site_of(const ChromeEvent& event, const ChromeKind& kind);
    Result<SiteId> folded_site(const ChromeKind& kind);
    Status announce_again(const ChromeRoot& root);
    void bad_time(uint64_t offset);

    SpanSink& sink_;
    bool sink_failed_ = false;
    ChromeCounts counts_;
    ChromeFlavour flavour_;
    ChromeNames names_;

    std::string key_;    // reused
    std::string unescaped_;
    NameTable threads_;    // pid, tid, and whether a device; its number + 1 is the TrackId
    std::vector<Track> tracks_;
    std::map<bool, TrackInfo> folded_tracks_;    // by whether it is a device's
    NameTable device_pids_;                      // number + 1 is DeviceInfo::id
    std::vector<DeviceInfo> devices_;
    NameTable pids_;
    NameTable sites_;    // a kind and a name; number + 1 is the SiteId
    std::map<int, SiteId> folded_sites_;
    SiteId next_folded_site_ = 0;
    NameTable stacks_;                       // pid and tid
    std::vector<std::vector<Open>> open_;    // by stack
    std::size_t open_slices_ = 0;
    uint64_t spans_ = 0;
    std::vector<SpanRecord> batch_;
};

}    // namespace lapwing::trace
