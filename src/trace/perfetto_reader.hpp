// Packets of a recording turned back into the span stream.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "lapwing/perfetto.hpp"
#include "trace/compression.hpp"
#include "trace/device_tracks.hpp"
#include "trace/packet.hpp"
#include "trace/site_set.hpp"
#include "trace/wire_reader.hpp"

namespace lapwing::trace {

/// Decodes packets in file order and drives a sink.
/// Cost:    memory grows with sequences, sites and open slices, not with spans.
class RecordingReader {
public:
    explicit RecordingReader(SpanSink& sink);

    /// Errors:  kBadFormat, kUnsupported with a message that says what was expected (the caller adds file and place),
    /// or
    ///          the sink's own error, which `sink_failed()` tells apart.
    Status packet(std::string_view bytes);

    /// Hands over what is held back and completes the summary.
    Status finish(ReadSummary& summary);

    [[nodiscard]] bool sink_failed() const noexcept { return sink_failed_; }

private:
    struct Open {
        int64_t begin_ns;
        SiteId site;
        uint32_t step;
    };
    struct Sequence {
        TrackId track = 0;    // 0 = carries no spans
        uint64_t spans = 0;
        bool incremental = false;
        uint32_t step = kNoStep;
        uint64_t default_clock = 0;
        int64_t clock_ns = 0;
        std::vector<Open> open;
    };

    // Whether it was read: a slice of the common shape, on a sequence whose timestamps are deltas.
    bool read_plain(std::string_view bytes, Status& status);
    Status read(const Packet& packet);
    Status read_compressed(std::string_view body);
    Sequence& sequence(uint32_t id);
    Status read_state(Sequence& sequence, const Packet& packet);
    Status read_snapshot(Sequence& sequence, std::string_view body);
    Status read_names(std::string_view body);
    Status read_own(Sequence& sequence, std::string_view body);
    Status read_own_field(Sequence& sequence, MessageReader& own);
    Status read_event(Sequence& sequence, const Packet& packet);
    Status begin_slice(Sequence& sequence, int64_t at_ns, SiteId site);
    Status end_slice(Sequence& sequence, int64_t at_ns);
    Status add(const SpanRecord& span);
    Status hand_over();
    Status told(Status status);
    Status settle_unwritten();

    Status announce_undescribed(const SpanRecord& span);

    SpanSink& sink_;
    Decompressor decompressor_;
    bool sink_failed_ = false;
    bool recording_seen_ = false;
    uint64_t spans_ = 0;
    uint64_t loose_spans_ = 0;
    uint64_t unknown_sites_ = 0;
    std::vector<SpanRecord> batch_;
    std::unordered_map<uint32_t, Sequence> sequences_;
    uint32_t last_sequence_id_ = 0;
    Sequence* last_sequence_ = nullptr;
    SiteSet described_;
    SiteSet announced_;                                // sites told to the sink by their interned name only
    std::unordered_map<SiteId, std::string> names_;    // interned names of sites without a description
    DeviceTracks device_tracks_;
    uint64_t loose_device_spans_ = 0;
    std::optional<RecordingStats> failed_;    // the latest statistics, where they are the last word of a failed writer
};

}    // namespace lapwing::trace
