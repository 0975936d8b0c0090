#include "trace/perfetto_reader.hpp"

#include <limits>

#include "trace/metadata.hpp"
#include "trace/packet_run.hpp"

namespace lapwing::trace {

namespace {

constexpr std::size_t kBatchSpans = 4096;
constexpr std::size_t kMaxOpenSlices = 65536;    // far above what is ever written; bounds memory on damaged files
constexpr uint64_t kMaxTime = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());

Error damaged(std::string expected) {
    return {Errc::kBadFormat, 0, std::move(expected)};
}

}    // namespace

RecordingReader::RecordingReader(SpanSink& sink) : sink_(sink) {
    batch_.reserve(kBatchSpans);
}

Status RecordingReader::packet(std::string_view bytes) {
    Status status;
    if (read_plain(bytes, status)) return status;
    Packet packet;
    if (!take_apart(bytes, packet)) return damaged("expected a well-formed trace packet");
    return packet.compressed ? read_compressed(*packet.compressed) : read(packet);
}

Status RecordingReader::read_compressed(std::string_view body) {
    const Result<std::string_view> unpacked = decompressor_.unpack(body);
    if (!unpacked.ok()) return unpacked.error();
    PacketRun run(*unpacked);
    for (std::string_view bytes; run.next(bytes);) {
        Packet packet;
        Status status;
        if (!read_plain(bytes, status))
            status = take_apart(bytes, packet) && !packet.compressed ? read(packet)
                                                                     : damaged("expected a well-formed trace packet");
        if (status.ok()) continue;
        if (sink_failed_) return status;
        Error error = status.error();
        error.message += " (byte " + std::to_string(run.offset()) + " of its compressed packets)";
        return error;
    }
    if (!run.whole())
        return damaged("expected a whole packet at byte " + std::to_string(run.offset()) +
                       " of its compressed packets");
    return {};
}

Status RecordingReader::read(const Packet& packet) {
    if (packet.zstd)
        return Error{Errc::kUnsupported, 0, "packets compressed by zstd cannot be read: write them with zlib or plain"};
    Sequence& state = sequence(packet.sequence);
    if (Status status = read_state(state, packet); !status.ok()) return status;
    if (packet.own)
        if (Status status = read_own(state, *packet.own); !status.ok()) return status;
    if (packet.event && state.track != 0) return read_event(state, packet);
    return {};
}

bool RecordingReader::read_plain(std::string_view bytes, Status& status) {
    PlainSlice slice;
    if (!take_plain(bytes, slice)) return false;
    Sequence& state = sequence(slice.sequence);
    if (state.track == 0 || state.default_clock != kSequenceClock || !state.incremental) return false;
    int64_t at_ns = 0;
    if (__builtin_add_overflow(state.clock_ns, int64_t{slice.timestamp}, &at_ns)) return false;
    state.clock_ns = at_ns;
    status = slice.begins ? begin_slice(state, at_ns, slice.name) : end_slice(state, at_ns);
    return true;
}

RecordingReader::Sequence& RecordingReader::sequence(uint32_t id) {
    if (last_sequence_ == nullptr || id != last_sequence_id_) {
        last_sequence_ = &sequences_[id];
        last_sequence_id_ = id;
    }
    return *last_sequence_;
}

Status RecordingReader::read_state(Sequence& sequence, const Packet& packet) {
    if (packet.defaults) {
        MessageReader in(*packet.defaults);
        while (in.next()) {
            if (in.tag_value() == varint_tag(packet::kTimestampClockId))
                sequence.default_clock = in.varint();
            else
                in.skip();
        }
        if (!in.ok()) return damaged("expected well-formed packet defaults");
    }
    if (packet.interned)
        if (Status status = read_names(*packet.interned); !status.ok()) return status;
    if (packet.snapshot) return read_snapshot(sequence, *packet.snapshot);
    return {};
}

Status RecordingReader::read_snapshot(Sequence& sequence, std::string_view body) {
    MessageReader in(body);
    while (in.next()) {
        if (in.tag_value() != bytes_tag(1)) {
            in.skip();
            continue;
        }
        MessageReader clock(in.bytes());
        uint64_t id = 0;
        uint64_t at_ns = 0;
        bool incremental = false;
        while (clock.next()) {
            switch (clock.tag_value()) {
                case varint_tag(1):
                    id = clock.varint();
                    break;
                case varint_tag(2):
                    at_ns = clock.varint();
                    break;
                case varint_tag(3):
                    incremental = clock.varint() != 0;
                    break;
                default:
                    clock.skip();
            }
        }
        if (!clock.ok() || at_ns > kMaxTime) return damaged("expected a clock and its time");
        if (id == kSequenceClock) {
            sequence.clock_ns = static_cast<int64_t>(at_ns);
            sequence.incremental = incremental;
        }
    }
    return in.ok() ? Status() : damaged("expected a well-formed clock snapshot");
}

Status RecordingReader::read_names(std::string_view body) {
    MessageReader in(body);
    while (in.next()) {
        if (in.tag_value() != bytes_tag(2)) {
            in.skip();
            continue;
        }
        MessageReader entry(in.bytes());
        uint64_t id = 0;
        std::string_view name;
        while (entry.next()) {
            switch (entry.tag_value()) {
                case varint_tag(1):
                    id = entry.varint();
                    break;
                case bytes_tag(2):
                    name = entry.bytes();
                    break;
                default:
                    entry.skip();
            }
        }
        if (!entry.ok() || id == 0 || id > std::numeric_limits<SiteId>::max())
            return damaged("expected an interned name and its number");
        const auto site = static_cast<SiteId>(id);
        if (!described_.contains(site)) names_[site] = name;
    }
    return in.ok() ? Status() : damaged("expected well-formed interned data");
}

Status RecordingReader::read_own(Sequence& sequence, std::string_view body) {
    if (Status status = hand_over(); !status.ok()) return status;    // keeps the order of the file
    MessageReader own(body);
    while (own.next())
        if (Status status = read_own_field(sequence, own); !status.ok()) return status;
    return own.ok() ? Status() : damaged("expected a well-formed Lapwing message");
}

Status RecordingReader::read_own_field(Sequence& sequence, MessageReader& own) {
    const uint32_t tag_value = own.tag_value();
    if (tag_value == varint_tag(own::kStepMark)) {
        const uint64_t step = own.varint();
        if (step > kNoStep) return damaged("expected a step number");
        sequence.step = static_cast<uint32_t>(step);
        return {};
    }
    if ((tag_value & 7) != static_cast<uint32_t>(Wire::kBytes)) {
        own.skip();
        return {};
    }
    const std::string_view body = own.bytes();
    switch (tag_value) {
        case bytes_tag(own::kRecording): {
            RecordingInfo recording;
            if (!decode(body, recording) || recording.magic != kMagic) return damaged("expected a recording's head");
            if (recording.version > kFormatVersion)
                return Error{Errc::kUnsupported, 0,
                             "a newer Lapwing wrote this recording (format " + std::to_string(recording.version) +
                                 "): read it with that version"};
            if (recording_seen_)
                return Error{Errc::kUnsupported, 0, "a second recording begins here: read each recording by itself"};
            recording_seen_ = true;
            return {};
        }
        case bytes_tag(own::kProcess): {
            ProcessInfo process;
            if (!decode(body, process)) return damaged("expected a process");
            return told(sink_.process(process));
        }
        case bytes_tag(own::kDevice): {
            DeviceInfo device;
            if (!decode(body, device)) return damaged("expected a device");
            return told(sink_.device(device));
        }
        case bytes_tag(own::kTrack): {
            TrackInfo track;
            if (!decode(body, track)) return damaged("expected a track");
            device_tracks_.announce(track);
            return told(sink_.track(track));
        }
        case bytes_tag(own::kLane): {
            LaneInfo lane;
            if (!decode(body, lane)) return damaged("expected a lane");
            sequence.track = lane.track;
            return {};
        }
        case bytes_tag(own::kSite): {
            SiteInfo site;
            if (!decode(body, site)) return damaged("expected a site");
            described_.insert(site.id);
            names_.erase(site.id);
            return told(sink_.site(site.id, site.site));
        }
        case bytes_tag(own::kStep): {
            StepRecord step;
            if (!decode(body, step)) return damaged("expected a step");
            return told(sink_.step(step));
        }
        case bytes_tag(own::kStats): {
            RecordingStats stats;
            if (!decode(body, stats)) return damaged("expected statistics");
            failed_.reset();
            if (stats.write_error != 0 && stats.final) failed_ = stats;
            return told(sink_.stats(stats));
        }
        case bytes_tag(own::kFingerprint): {
            FingerprintRecord record;
            if (!decode(body, record)) return damaged("expected a fingerprint");
            return told(sink_.fingerprint(record));
        }
        case bytes_tag(own::kLooseSpan): {
            SpanRecord span;
            if (!decode(body, span)) return damaged("expected a span");
            ++loose_spans_;
            loose_device_spans_ += device_tracks_.contains(span.track) ? 1u : 0u;
            return add(span);
        }
        default:
            return {};
    }
}

Status RecordingReader::read_event(Sequence& sequence, const Packet& packet) {
    uint64_t type = 0;
    uint64_t name = 0;
    MessageReader in(*packet.event);
    while (in.next()) {
        switch (in.tag_value()) {
            case varint_tag(event::kType):
                type = in.varint();
                break;
            case varint_tag(event::kNameIid):
                name = in.varint();
                break;
            default:
                in.skip();
        }
    }
    if (!in.ok() || name > std::numeric_limits<SiteId>::max()) return damaged("expected a well-formed track event");
    if (!packet.has_timestamp) return damaged("expected a timestamp");
    const uint64_t clock = packet.clock != 0 ? packet.clock : sequence.default_clock;
    uint64_t at_ns = packet.timestamp;
    if (clock == kSequenceClock && sequence.incremental) {
        at_ns += static_cast<uint64_t>(sequence.clock_ns);
        if (at_ns < packet.timestamp || at_ns > kMaxTime) return damaged("expected a time within 63 bits");
        sequence.clock_ns = static_cast<int64_t>(at_ns);
    } else if (clock != kMonotonicClock || at_ns > kMaxTime) {
        return damaged("expected a time of CLOCK_MONOTONIC");
    }
    if (type == event::kSliceBegin)
        return begin_slice(sequence, static_cast<int64_t>(at_ns), static_cast<SiteId>(name));
    return type == event::kSliceEnd ? end_slice(sequence, static_cast<int64_t>(at_ns)) : Status();
}

Status RecordingReader::begin_slice(Sequence& sequence, int64_t at_ns, SiteId site) {
    if (sequence.open.size() >= kMaxOpenSlices) return damaged("expected slices that end");
    sequence.open.push_back({at_ns, site, sequence.step});
    return {};
}

Status RecordingReader::end_slice(Sequence& sequence, int64_t at_ns) {
    if (sequence.open.empty()) return damaged("expected the begin of a slice before its end");
    const Open open = sequence.open.back();
    sequence.open.pop_back();
    if (at_ns < open.begin_ns) return damaged("expected a slice to end after it began");
    SpanRecord span;
    span.begin_ns = open.begin_ns;
    span.duration_ns = at_ns - open.begin_ns;
    span.site = open.site;
    span.step = open.step;
    span.track = sequence.track;
    ++sequence.spans;
    return add(span);
}

Status RecordingReader::add(const SpanRecord& span) {
    if (!described_.contains(span.site)) {
        ++unknown_sites_;
        if (span.site != 0 && announced_.insert(span.site))
            if (Status status = announce_undescribed(span); !status.ok()) return status;
    }
    ++spans_;
    batch_.push_back(span);
    return batch_.size() < kBatchSpans ? Status() : hand_over();
}

Status RecordingReader::announce_undescribed(const SpanRecord& span) {
    if (Status status = hand_over(); !status.ok()) return status;
    Site site;
    const auto name = names_.find(span.site);
    site.op = name != names_.end() ? name->second : "site " + std::to_string(span.site);
    if (!device_tracks_.contains(span.track)) site.kind = SpanKind::kHost;
    return told(sink_.site(span.site, site));
}

Status RecordingReader::hand_over() {
    if (batch_.empty()) return {};
    Status status = told(sink_.spans(batch_));
    batch_.clear();
    return status;
}

Status RecordingReader::told(Status status) {
    sink_failed_ = sink_failed_ || !status.ok();
    return status;
}

// What a failed writer still held back it cannot count itself: what was begun, and is neither here nor lost otherwise.
Status RecordingReader::settle_unwritten() {
    uint64_t known = loose_device_spans_ + failed_->lost.total() + failed_->left_out;
    for (const auto& [id, state] : sequences_) known += device_tracks_.contains(state.track) ? state.spans : 0;
    if (failed_->begun <= known) return {};
    failed_->lost[LossReason::kUnwritten] += failed_->begun - known;
    return told(sink_.stats(*failed_));
}

Status RecordingReader::finish(ReadSummary& summary) {
    Status status = sink_failed_ ? Status() : hand_over();
    if (status.ok() && !sink_failed_ && failed_) status = settle_unwritten();
    summary.spans = spans_;
    summary.loose_spans = loose_spans_;
    summary.unknown_sites = unknown_sites_;
    for (const auto& [id, state] : sequences_) summary.unclosed += state.open.size();
    return status;
}

}    // namespace lapwing::trace
