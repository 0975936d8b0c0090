// What a report is computed from: a span stream, kept as it came.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <unordered_map>
#include <vector>

#include "lapwing/sink.hpp"
#include "views/span_store.hpp"

namespace lapwing::detail {

/// The op of spans whose site was never described.
inline constexpr const char* kUnknownSite = "(unknown)";

/// Index of a step in StreamModel::steps; 0 = outside every step.
using StepIndex = uint32_t;

struct ModelTrack {
    TrackInfo info;    // id alone where the track was never announced
    TrackSpans spans;
};

struct ModelStep {
    uint32_t index = kNoStep;    // StepRecord::index
    bool finished = false;       // its record has come
    StepRecord record;
    std::size_t process = 0;    // as many processes were announced before its record
};

/// Numbers of the stream (sites, steps) are mapped to dense indices on the way in, so that a damaged or hostile file
/// with a site number of 4 billion costs no memory, and views can use plain arrays.
class StreamModel {
public:
    void set_device(const DeviceInfo& device);
    void set_track(const TrackInfo& track) { tracks_[track.id].info = track; }
    void set_site(SiteId id, const Site& site) { sites_[site_index(id)] = site; }
    void set_step(const StepRecord& step);
    void set_stats(const RecordingStats& stats);
    void add_process(const ProcessInfo& process) { processes_.push_back(process); }
    void add(std::span<const SpanRecord> spans);

    [[nodiscard]] const std::vector<ProcessInfo>& processes() const noexcept { return processes_; }
    [[nodiscard]] const std::map<uint32_t, DeviceInfo>& devices() const noexcept { return devices_; }
    [[nodiscard]] const std::map<TrackId, ModelTrack>& tracks() const noexcept { return tracks_; }
    [[nodiscard]] const std::vector<Site>& sites() const noexcept { return sites_; }
    [[nodiscard]] const std::vector<ModelStep>& steps() const noexcept { return steps_; }
    [[nodiscard]] const RecordingStats& stats() const noexcept { return stats_; }
    [[nodiscard]] bool has_stats() const noexcept { return has_stats_; }

    /// How many processes had been announced when the device first was; its steps' ModelStep::process.
    [[nodiscard]] std::size_t process_of(uint32_t device) const;

    /// Whether spans of a step may be missing because the stream does not hold that time: it begins before what was
    /// kept of a recording, or ends after what is known to have reached the file.
    [[nodiscard]] bool beyond_edges(const StepRecord& step) const noexcept;
    [[nodiscard]] uint64_t refused() const noexcept { return refused_; }

    /// First to last moment recorded: spans, finished steps and the stats' own window. 0 where nothing was.
    [[nodiscard]] int64_t window_ns() const noexcept;

    /// Whether spans of this site on this track are the device's.
    [[nodiscard]] static bool is_device(const ModelTrack& track, const Site& site) noexcept {
        return track.info.kind == TrackKind::kDeviceQueue && site.kind != SpanKind::kHost;
    }

    /// Whether spans of this site are a step's whole work on a queue and no command's: level lane, where kernels are
    /// not timed.
    [[nodiscard]] static bool is_whole_step(const Site& site) noexcept {
        return !site.lane.empty() && !site.container && site.op.empty() && site.kernel.empty();
    }

private:
    [[nodiscard]] SiteIndex site_index(SiteId id) {
        if (id < dense_site_index_.size() && dense_site_index_[id] != 0) return dense_site_index_[id] - 1;
        return find_site(id);
    }
    [[nodiscard]] SiteIndex find_site(SiteId id);
    [[nodiscard]] StepIndex step_index(uint32_t step);
    [[nodiscard]] StepIndex find_step(uint32_t step);
    void extend_window(int64_t begin_ns, int64_t end_ns) noexcept;

    std::vector<ProcessInfo> processes_;    // as they came
    std::map<uint32_t, DeviceInfo> devices_;
    std::unordered_map<uint32_t, std::size_t> device_process_;
    std::map<TrackId, ModelTrack> tracks_;
    std::vector<Site> sites_;
    std::vector<SiteIndex> dense_site_index_;    // of the small numbers that recordings give out; + 1, 0 = none
    std::unordered_map<SiteId, SiteIndex> site_index_;
    std::vector<ModelStep> steps_{ModelStep{}};
    std::unordered_map<uint32_t, StepIndex> step_index_{{kNoStep, 0}};
    uint32_t last_step_ = kNoStep;    // steps come in runs: most lookups ask for the one before again
    StepIndex last_step_index_ = 0;
    RecordingStats stats_;
    bool has_stats_ = false;
    int64_t whole_until_ns_ = std::numeric_limits<int64_t>::min();    // all that was recorded until then is there
    uint64_t refused_ = 0;
    bool has_window_ = false;
    int64_t window_begin_ns_ = 0;
    int64_t window_end_ns_ = 0;
};

}    // namespace lapwing::detail
