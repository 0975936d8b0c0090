// A recording of several files, each of which opens by itself: parts of a bounded size, or a ring of the last moments.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "lapwing/perfetto.hpp"
#include "trace/device_tracks.hpp"
#include "trace/perfetto_writer.hpp"
#include "trace/site_set.hpp"

namespace lapwing::trace {

/// FILE is the oldest part that is kept, so that it is there at every moment; a dropped one is replaced by its
/// successor. Shape:   every part repeats the descriptions of process, devices and tracks, and of the sites that its
/// spans have.
///          Its statistics are those of the whole recording until then, with older parts counted as left out.
///          Where the next part cannot be begun, nothing more is written; the statistics at the end still are.
/// Cost:    a check a span beside the writer's work; memory: the descriptions.
class RotatingWriter final : public SpanSink {
public:
    /// Errors:  those of open_perfetto_writer() about the file.
    [[nodiscard]] static Result<std::unique_ptr<SpanSink>> open(const std::string& path,
                                                                const PerfettoWriterOptions& options, uint64_t id);

    RotatingWriter(std::string path, const PerfettoWriterOptions& options, uint64_t id);
    ~RotatingWriter() override;
    RotatingWriter(const RotatingWriter&) = delete;
    RotatingWriter& operator=(const RotatingWriter&) = delete;

    Status process(const ProcessInfo& process) override;
    Status device(const DeviceInfo& device) override;
    Status track(const TrackInfo& track) override;
    Status site(SiteId id, const Site& site) override;
    Status spans(std::span<const SpanRecord> spans) override;
    Status step(const StepRecord& step) override;
    Status stats(const RecordingStats& stats) override;
    Status fingerprint(const FingerprintRecord& record) override;
    Status flush() override;
    Status close() override;

private:
    struct Part {
        std::string path;
        int64_t begin_ns = 0;
    };

    [[nodiscard]] Result<std::unique_ptr<PerfettoWriter>> begin_part(const std::string& path, uint32_t number) const;
    [[nodiscard]] bool due(std::size_t more_bytes, int64_t now_ns) const;
    void rotate(int64_t now_ns);
    void drop_old(int64_t now_ns);
    void hold_lock(int fd);
    [[nodiscard]] Status describe(PerfettoWriter& writer) const;
    void take_fresh(std::span<const SpanRecord> spans);
    [[nodiscard]] std::size_t bytes_of(std::span<const SpanRecord> spans) const;
    [[nodiscard]] RecordingStats of_part(const RecordingStats& stats) const;
    [[nodiscard]] Status first_error(Status status) const;

    const std::string path_;
    const PerfettoWriterOptions options_;
    const uint64_t id_;
    const pid_t owner_;
    Status status_;    // why no further part could be begun
    std::unique_ptr<PerfettoWriter> writer_;
    std::deque<Part> parts_;    // those kept, the one being written last
    uint32_t number_ = 1;
    int lock_ = -1;    // on FILE, where that is no longer the file being written

    ProcessInfo process_;
    std::map<uint32_t, DeviceInfo> devices_;
    std::map<TrackId, TrackInfo> tracks_;
    std::unordered_map<SiteId, Site> sites_;
    SiteSet described_;    // sites in this part
    std::vector<SiteId> fresh_;
    DeviceTracks device_tracks_;
    std::optional<RecordingStats> stats_;
    uint64_t device_spans_ = 0;    // handed over in all
    uint64_t older_spans_ = 0;     // of these, in parts before this one
    uint64_t fingerprints_ = 0;    // handed over in all
    uint64_t older_fingerprints_ = 0;
};

}    // namespace lapwing::trace
