#include "trace/join.hpp"

#include <algorithm>
#include <limits>

namespace lapwing::trace {

namespace {

void add(RecordingStats& sum, const RecordingStats& one) {
    sum.begun += one.begun;
    sum.recorded += one.recorded;
    sum.estimated += one.estimated;
    for (std::size_t i = 0; i < kLossReasonCount; ++i) sum.lost.by_reason[i] += one.lost.by_reason[i];
    sum.stamps += one.stamps;
    sum.result_reads += one.result_reads;
    sum.own_submits += one.own_submits;
    if (one.hook_ns) sum.hook_ns = sum.hook_ns.value_or(0) + *one.hook_ns;
    if (one.start_ns) sum.start_ns = sum.start_ns.value_or(0) + *one.start_ns;
    sum.faults += one.faults;
    sum.window_begin_ns = std::min(sum.window_begin_ns, one.window_begin_ns);
    sum.window_end_ns = std::max(sum.window_end_ns, one.window_end_ns);
    sum.executed_dispatches += one.executed_dispatches;
    sum.names_dropped += one.names_dropped;
    sum.left_out += one.left_out;
    sum.fingerprints_dropped += one.fingerprints_dropped;
    sum.fingerprints_left_out += one.fingerprints_left_out;
    if (sum.write_error == 0) sum.write_error = one.write_error;
}

Status too_many_tracks() {
    return Error{Errc::kExhausted, 0, "the recordings have more than 65535 tracks together: keep them apart"};
}

}    // namespace

JoinSink::JoinSink(SpanSink& to, std::optional<int64_t> from_ns) : to_(to), from_ns_(from_ns) {}

void JoinSink::next() {
    if (recordings_ != 0) close_stats();
    ++recordings_;
    devices_.clear();
    tracks_.clear();
    device_tracks_.clear();
    first_site_ = static_cast<SiteId>(last_site_);
    first_step_ = static_cast<uint32_t>(steps_);
}

void JoinSink::close_stats() {
    all_final_ = all_final_ && latest_ && latest_->final;
    if (latest_ && !sum_) {
        sum_ = latest_;
    } else if (latest_) {
        add(*sum_, *latest_);
    }
    latest_.reset();
}

Status JoinSink::finish() {
    close_stats();
    if (!sum_) return {};
    RecordingStats stats = *sum_;
    stats.final = all_final_;
    stats.left_out += cut_;
    if (from_ns_) stats.window_begin_ns = std::max(stats.window_begin_ns, *from_ns_);
    return to_.stats(stats);
}

Status JoinSink::process(const ProcessInfo& process) {
    return to_.process(process);
}

Status JoinSink::device(const DeviceInfo& device) {
    DeviceInfo out = device;
    out.id = device_of(device.id);
    return to_.device(out);
}

Status JoinSink::track(const TrackInfo& track) {
    const std::optional<TrackId> id = track_of(track.id);
    if (!id) return too_many_tracks();
    device_tracks_.announce(track);
    TrackInfo out = track;
    out.id = *id;
    if (track.device != 0) out.device = device_of(track.device);
    return to_.track(out);
}

Status JoinSink::site(SiteId id, const Site& site) {
    return to_.site(site_of(id), site);
}

Status JoinSink::spans(std::span<const SpanRecord> spans) {
    batch_.clear();
    for (const SpanRecord& span : spans) {
        const std::optional<TrackId> track = track_of(span.track);
        if (!track) return too_many_tracks();
        // As unsigned numbers, a negative duration is too long to have ended.
        if (from_ns_ && span.begin_ns < *from_ns_ &&
            static_cast<uint64_t>(span.duration_ns) <
                static_cast<uint64_t>(*from_ns_) - static_cast<uint64_t>(span.begin_ns)) {
            cut_ += device_tracks_.contains(span.track) ? 1u : 0u;
            continue;
        }
        SpanRecord out = span;
        out.track = *track;
        out.site = site_of(span.site);
        out.step = step_of(span.step);
        batch_.push_back(out);
    }
    return batch_.empty() ? Status() : to_.spans(batch_);
}

Status JoinSink::step(const StepRecord& step) {
    if (from_ns_ && step.end_ns < *from_ns_) return {};
    StepRecord out = step;
    out.index = step_of(step.index);
    return to_.step(out);
}

// Positions are the program's own numbers: they stay, and the process told before says whose they are.
Status JoinSink::fingerprint(const FingerprintRecord& record) {
    return to_.fingerprint(record);
}

Status JoinSink::stats(const RecordingStats& stats) {
    latest_ = stats;
    return {};
}

// Nothing where the numbers are used up. Track 0 is none.
std::optional<TrackId> JoinSink::track_of(TrackId id) {
    if (id == 0) return id;
    const auto known = tracks_.find(id);
    if (known != tracks_.end()) return known->second;
    if (next_track_ > std::numeric_limits<TrackId>::max()) return std::nullopt;
    return tracks_.emplace(id, static_cast<TrackId>(next_track_++)).first->second;
}

uint32_t JoinSink::device_of(uint32_t id) {
    const auto [known, fresh] = devices_.try_emplace(id, next_device_);
    if (fresh) ++next_device_;
    return known->second;
}

// Numbers beyond 32 bits, which no true recording has, meet at the last one.
SiteId JoinSink::site_of(SiteId id) {
    if (id == 0) return 0;
    const uint64_t site = std::min<uint64_t>(uint64_t{first_site_} + id, std::numeric_limits<SiteId>::max());
    last_site_ = std::max(last_site_, site);
    return static_cast<SiteId>(site);
}

uint32_t JoinSink::step_of(uint32_t step) {
    if (step == kNoStep) return kNoStep;
    const uint64_t index = std::min<uint64_t>(uint64_t{first_step_} + step, kNoStep - 1);
    steps_ = std::max(steps_, index + 1);
    return static_cast<uint32_t>(index);
}

}    // namespace lapwing::trace
