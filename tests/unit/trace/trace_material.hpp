// Files, spans and comparisons that the trace tests share.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "lapwing/perfetto.hpp"
#include "lapwing/sink.hpp"
#include "unit/trace/capture_sink.hpp"

namespace lapwing::test {

/// A path that no other test uses; the file is removed with the object.
class TemporaryFile {
public:
    TemporaryFile();
    ~TemporaryFile();
    TemporaryFile(const TemporaryFile&) = delete;
    TemporaryFile& operator=(const TemporaryFile&) = delete;

    [[nodiscard]] const std::string& path() const { return path_; }
    [[nodiscard]] std::string content() const;
    void write(std::string_view bytes) const;

private:
    std::string path_;
};

/// A span's content, ordered, so that two streams can be compared as sets.
using SpanKey = std::tuple<TrackId, int64_t, int64_t, SiteId, uint32_t>;
[[nodiscard]] std::vector<SpanKey> keys(const std::vector<SpanRecord>& spans);

[[nodiscard]] SpanRecord span_of(TrackId track, int64_t begin_ns, int64_t duration_ns, SiteId site,
                                 uint32_t step = kNoStep);

/// A dispatch site with an op and nothing else.
[[nodiscard]] Site site_of(const std::string& op);

/// A small recording with every kind of content, handed to any sink.
struct Recording {
    ProcessInfo process;
    std::vector<DeviceInfo> devices;
    std::vector<TrackInfo> tracks;
    std::vector<std::pair<SiteId, Site>> sites;
    std::vector<SpanRecord> spans;
    std::vector<StepRecord> steps;
    std::vector<FingerprintRecord> fingerprints;
    RecordingStats stats;
};
[[nodiscard]] Recording sample_recording();
[[nodiscard]] Status feed(const Recording& recording, SpanSink& sink, std::size_t batch = 64);

/// Writes a recording to `path` and reads it back.
ReadSummary round_trip(const Recording& recording, const std::string& path, SpanSink& sink,
                       const PerfettoWriterOptions& options = {});

}    // namespace lapwing::test
