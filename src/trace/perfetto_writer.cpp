#include "trace/perfetto_writer.hpp"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "lapwing/clock.hpp"
#include "trace/descriptor.hpp"
#include "trace/fields.hpp"
#include "trace/metadata.hpp"

namespace lapwing::trace {

namespace {

constexpr std::size_t kFirstBufferBytes = 4096;
constexpr std::size_t kMaxBufferedBytes = 64u << 20;    // all lanes together; beyond it buffers no longer grow

// splitmix64: distinct inputs give distinct, well spread outputs.
uint64_t mix(uint64_t value) {
    value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9;
    value = (value ^ value >> 27) * 0x94d049bb133111eb;
    return value ^ value >> 31;
}

// Whether a span can be a slice: non-negative and without overflow.
bool placeable(const SpanRecord& span) {
    return span.begin_ns >= 0 && span.duration_ns >= 0 &&
           span.begin_ns <= std::numeric_limits<int64_t>::max() - span.duration_ns;
}

int64_t end_of(const SpanRecord& span) {
    return span.begin_ns + span.duration_ns;
}

}    // namespace

uint64_t random_id() {
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    const auto ns = static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
    return mix(ns) ^ static_cast<uint64_t>(::getpid()) << 32;
}

PerfettoWriter::PerfettoWriter(TraceFile file, const PerfettoWriterOptions& options, RecordingInfo identity)
    : out_(std::move(file), options.compress),
      options_(options),
      identity_(std::move(identity)),
      uuid_state_(random_id()),
      process_uuid_(new_uuid()) {
    identity_.magic = kMagic;
    identity_.version = kFormatVersion;
}

PerfettoWriter::~PerfettoWriter() {
    static_cast<void>(close());
}

uint64_t PerfettoWriter::new_uuid() {
    uint64_t uuid = 0;
    while (uuid == 0) uuid = mix(uuid_state_ += 0x9e3779b97f4a7c15);
    return uuid;
}

Status PerfettoWriter::start() {
    out_.describe(own_packet(kMetaSequence, own::kRecording, encode(identity_)));
    out_.describe(meta_head_packet(host_now().value));
    out_.flush_descriptions();
    return out_.state();
}

Status PerfettoWriter::process(const ProcessInfo& process) {
    if (std::exchange(has_process_, true)) {    // another process: its steps get tracks of their own
        process_uuid_ = new_uuid();
        step_tracks_.clear();
    }
    viewer_pid_ = viewer_pid(process.pid);
    out_.describe(own_packet(kMetaSequence, own::kProcess, encode(process)));
    out_.describe(process_packet(process_uuid_, viewer_pid_, process.command));
    out_.flush_descriptions();    // whatever ends the process, its file says whose it is
    return out_.state();
}

Status PerfettoWriter::device(const DeviceInfo& device) {
    devices_[device.id] = device;
    out_.describe(own_packet(kMetaSequence, own::kDevice, encode(device)));
    return out_.state();
}

Status PerfettoWriter::track(const TrackInfo& track) {
    if (track.id == 0) return Error{Errc::kInvalidArgument, 0, "track ids start at 1"};
    Track& known = track_of(track.id);
    known.info = track;
    out_.describe(own_packet(kMetaSequence, own::kTrack, encode(track)));
    for (std::size_t i = 0; i < known.lanes.size(); ++i) describe_lane(known, i);
    return out_.state();
}

Status PerfettoWriter::site(SiteId id, const Site& site) {
    if (id == 0) return Error{Errc::kInvalidArgument, 0, "site 0 means unknown and is not described"};
    out_.describe(own_packet(kMetaSequence, own::kSite, encode(SiteInfo{id, site})));
    site_names_[id] = display_name(site);
    return out_.state();
}

Status PerfettoWriter::spans(std::span<const SpanRecord> spans) {
    while (!spans.empty() && out_.ok()) {
        const TrackId id = spans.front().track;
        std::size_t run = 1;
        while (run < spans.size() && spans[run].track == id) ++run;
        Track& track = track_of(id);
        if (id == 0) {
            for (const SpanRecord& span : spans.first(run)) write_loose(span);
        } else if (track.info.kind == TrackKind::kHostThread) {
            if (track.batch.empty()) batched_.push_back(&track);
            track.batch.insert(track.batch.end(), spans.begin(), spans.begin() + static_cast<std::ptrdiff_t>(run));
        } else {
            write_device_spans(track, spans.first(run));
        }
        spans = spans.subspan(run);
    }
    for (Track* track : batched_) write_host_batch(*track);
    batched_.clear();
    return out_.state();
}

Status PerfettoWriter::step(const StepRecord& step) {
    out_.describe(own_packet(kMetaSequence, own::kStep, encode(step)));
    if (step.begin_ns < 0 || step.end_ns < step.begin_ns) return out_.state();
    // Steps of several threads may overlap: slices of one track must not.
    auto lane = std::find_if(step_tracks_.begin(), step_tracks_.end(),
                             [&](const StepTrack& track) { return track.last_ns <= step.begin_ns; });
    if (lane == step_tracks_.end()) {
        if (step_tracks_.size() >= options_.max_lanes) return out_.state();
        lane = step_tracks_.insert(lane, StepTrack{new_uuid(), 0});
        const std::size_t number = step_tracks_.size();
        out_.describe(
            track_packet(lane->uuid, process_uuid_, number == 1 ? "steps" : "steps lane " + std::to_string(number)));
    }
    lane->last_ns = step.end_ns;
    out_.describe(step_slice_packets(lane->uuid, step));
    return out_.state();
}

Status PerfettoWriter::fingerprint(const FingerprintRecord& record) {
    out_.describe(own_packet(kMetaSequence, own::kFingerprint, encode(record)));
    return out_.state();
}

Status PerfettoWriter::stats(const RecordingStats& stats) {
    out_.set_last_word(stats);
    // After the spans that they count, so that a file never claims spans that it does not hold.
    flush_all();
    out_.describe(own_packet(kMetaSequence, own::kStats, encode(stats)));
    out_.flush_descriptions();
    return out_.state();
}

Status PerfettoWriter::flush() {
    if (!out_.closed()) flush_all();
    return out_.state();
}

Status PerfettoWriter::close() {
    if (!out_.closed()) flush_all();
    return out_.close();
}

uint64_t PerfettoWriter::size_bound() const noexcept {
    uint64_t bytes = out_.size();
    for (const auto& track : tracks_) {
        if (track == nullptr) continue;
        for (const auto& lane : track->lanes) bytes += lane->buffer.content().size();
    }
    return bytes;
}

PerfettoWriter::Track& PerfettoWriter::track_of(TrackId id) {
    if (id >= tracks_.size()) tracks_.resize(id + std::size_t{1});
    if (tracks_[id] == nullptr) {
        tracks_[id] = std::make_unique<Track>();
        tracks_[id]->process_uuid = process_uuid_;
        tracks_[id]->pid = viewer_pid_;
        tracks_[id]->info = {id, TrackKind::kDeviceQueue, 0, "track " + std::to_string(id)};
    }
    return *tracks_[id];
}

void PerfettoWriter::write_device_spans(Track& track, std::span<const SpanRecord> spans) {
    while (!spans.empty() && out_.ok()) {
        if (!track.lanes.empty()) spans = spans.subspan(track.lanes.front()->write_plain(spans));
        if (spans.empty()) return;
        write_device_span(track, spans.front());
        spans = spans.subspan(1);
    }
}

void PerfettoWriter::write_device_span(Track& track, const SpanRecord& span) {
    if (!placeable(span)) return write_loose(span);
    const int64_t end_ns = end_of(span);
    for (const auto& lane : track.lanes) {
        if (span.begin_ns >= lane->last_ns()) {
            prepare(*lane, span);
            lane->write_begin(span.begin_ns, span.site);
            lane->write_end(end_ns);
            return;
        }
        // Strictly before: viewers order equal timestamps by their place in the file, which would nest the two wrongly.
        if (end_ns < lane->first_ns()) {
            prepare(*lane, span);
            lane->write_late(span);
            return;
        }
    }
    Lane* lane = add_lane(track, span.begin_ns);
    if (lane == nullptr) return write_loose(span);
    prepare(*lane, span);
    lane->write_begin(span.begin_ns, span.site);
    lane->write_end(end_ns);
}

// Scopes are handed over in the order in which they close; slices nest in the order in which they happen.
void PerfettoWriter::write_host_batch(Track& track) {
    std::stable_sort(track.batch.begin(), track.batch.end(), [](const SpanRecord& a, const SpanRecord& b) {
        return a.begin_ns != b.begin_ns ? a.begin_ns < b.begin_ns : a.duration_ns > b.duration_ns;
    });
    for (const SpanRecord& span : track.batch) {
        Lane* lane = placeable(span) ? host_lane(track, span) : nullptr;
        if (lane == nullptr) {
            write_loose(span);
            continue;
        }
        prepare(*lane, span);
        if (span.begin_ns < lane->last_ns()) {
            lane->write_late(span);
        } else {
            lane->write_begin(span.begin_ns, span.site);
            lane->open_ends.push_back(end_of(span));
        }
    }
    for (const auto& lane : track.lanes) close_until(*lane, std::numeric_limits<int64_t>::max());
    track.batch.clear();
}

Lane* PerfettoWriter::host_lane(Track& track, const SpanRecord& span) {
    const int64_t end_ns = end_of(span);
    for (const auto& lane : track.lanes) {
        close_until(*lane, span.begin_ns);
        const auto& open = lane->open_ends;
        if (span.begin_ns >= lane->last_ns()) {
            if (open.empty() || (end_ns <= open.back() && open.size() < kMaxNesting)) return lane.get();
        } else if (open.empty() && end_ns < lane->first_ns()) {
            return lane.get();
        }
    }
    return add_lane(track, span.begin_ns);
}

void PerfettoWriter::close_until(Lane& lane, int64_t at_ns) {
    while (!lane.open_ends.empty() && lane.open_ends.back() <= at_ns) {
        make_room(lane, kMaxSlicePacket);
        lane.write_end(lane.open_ends.back());
        lane.open_ends.pop_back();
    }
}

// What no lane can hold is kept as Lapwing's own data: reports count it, viewers do not show it.
void PerfettoWriter::write_loose(const SpanRecord& span) {
    out_.describe(own_packet(kMetaSequence, own::kLooseSpan, encode(span)));
}

Lane* PerfettoWriter::add_lane(Track& track, int64_t first_ns) {
    if (track.lanes.size() >= options_.max_lanes) return nullptr;
    const std::size_t capacity = std::min(kFirstBufferBytes, options_.buffer_bytes);
    track.lanes.push_back(std::make_unique<Lane>(next_sequence_++, new_uuid(), first_ns, capacity));
    buffered_capacity_ += capacity;
    Lane& lane = *track.lanes.back();
    describe_lane(track, track.lanes.size() - 1);
    const LaneInfo info{track.info.id, static_cast<uint32_t>(track.lanes.size())};
    append(lane, lane_head_packet(lane.sequence(), lane.track_uuid(), first_ns));
    append(lane, own_packet(lane.sequence(), own::kLane, encode(info)));
    return &lane;
}

// The name that viewers show for a track; they merge tracks of one name, so a second one gets its number.
std::string PerfettoWriter::shown_name(const TrackInfo& track) {
    std::string name = track.name;
    if (track.kind == TrackKind::kDeviceQueue) {
        name = "GPU " + name;
        const auto device = devices_.find(track.device);
        if (device != devices_.end()) name += " (" + device->second.name + ")";
    }
    const auto owner = shown_names_.emplace(name, track.id).first;
    return owner->second == track.id ? name : name + " #" + std::to_string(track.id);
}

void PerfettoWriter::describe_lane(Track& track, std::size_t index) {
    const uint64_t uuid = track.lanes[index]->track_uuid();
    const std::string name = shown_name(track.info);
    if (index != 0)
        return out_.describe(track_packet(uuid, track.process_uuid, name + " lane " + std::to_string(index + 1)));
    // Two tracks with one thread id would be merged into one by viewers.
    if (track.thread_id == 0 && track.info.kind == TrackKind::kHostThread) {
        const int32_t id = thread_id_in(track.info.name);
        if (id != 0 && thread_ids_.insert(id).second) track.thread_id = id;
    }
    out_.describe(track.thread_id != 0 ? thread_packet(uuid, track.pid, track.thread_id, name)
                                       : track_packet(uuid, track.process_uuid, name));
}

void PerfettoWriter::prepare(Lane& lane, const SpanRecord& span) {
    if (!lane.knows(span.site)) {
        const auto name = site_names_.find(span.site);
        append(lane, name_packet(lane.sequence(), span.site,
                                 name != site_names_.end() ? name->second : "site " + std::to_string(span.site)));
        lane.learn(span.site);
    }
    if (span.step != lane.step()) {
        append(lane, step_mark_packet(lane.sequence(), span.step));
        lane.set_step(span.step);
    }
    make_room(lane, 2 * kMaxSlicePacket);
}

void PerfettoWriter::append(Lane& lane, std::string_view packets) {
    make_room(lane, packets.size());
    if (packets.size() <= lane.buffer.room()) return lane.buffer.append(packets);
    out_.write_large(packets);
}

// Writes the lane out where there is not room for `bytes`. Buffers start small, because most lanes hold little.
void PerfettoWriter::make_room(Lane& lane, std::size_t bytes) {
    if (lane.buffer.room() >= bytes) return;
    flush_lane(lane);
    const std::size_t capacity = lane.buffer.capacity();
    const std::size_t wanted = std::min(capacity * 4, options_.buffer_bytes);
    if (wanted <= capacity || buffered_capacity_ + wanted > kMaxBufferedBytes) return;
    lane.buffer.regrow(wanted);
    buffered_capacity_ += wanted - capacity;
}

void PerfettoWriter::flush_lane(Lane& lane) {
    out_.write_lane(lane.buffer.content());
    lane.buffer.clear();
}

void PerfettoWriter::flush_all() {
    out_.flush_descriptions();
    for (const auto& track : tracks_) {
        if (track == nullptr) continue;
        for (const auto& lane : track->lanes) flush_lane(*lane);
    }
}

}    // namespace lapwing::trace
