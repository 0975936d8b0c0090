#include "lapwing/probe_trace.hpp"

#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "lapwing/clock.hpp"

namespace lapwing {

struct ProbeTrace::State {
    State(SpanSink& to, const ProbeTraceOptions& with) : sink(to), options(with), window_begin_ns(host_now().value) {}

    void keep(Status now) {
        if (status.ok() && !now.ok()) status = std::move(now);
    }
    void announce_process() {
        if (std::exchange(announced, true) || !options.whole_recording) return;
        keep(sink.process(options.process));
    }
    uint32_t device(const std::string& source) {
        const auto [found, fresh] = devices.try_emplace(source, static_cast<uint32_t>(devices.size() + 1));
        DeviceInfo info;
        info.id = found->second;
        info.name = source;
        if (fresh) keep(sink.device(info));
        return found->second;
    }
    TrackId track(const Probe& probe) {
        auto key = std::tuple(probe.host, probe.host ? std::string() : std::string(probe.source), probe.tid);
        if (const auto found = tracks.find(key); found != tracks.end()) return found->second;
        const bool full = tracks.size() + 1 >= options.max_tracks;
        const auto id = static_cast<TrackId>(options.first_track + (full ? options.max_tracks - 1u : tracks.size()));
        if (full && std::exchange(has_other, true)) return id;
        TrackInfo info{id, probe.host ? TrackKind::kHostThread : TrackKind::kDeviceQueue, 0,
                       full ? "other probes" : "tid " + std::to_string(probe.tid)};
        if (!probe.host) info.device = device(std::string(probe.source));
        keep(sink.track(info));
        if (!full) tracks.emplace(std::move(key), id);
        return id;
    }
    SiteId site(const Probe& probe) {
        Site site;
        site.op = probe.name;
        site.category = probe.category;
        site.kind = probe.host ? SpanKind::kHost : SpanKind::kDispatch;
        const SiteTable::Interned interned = table().intern(site);
        if (interned.fresh) keep(sink.site(interned.id, interned.folded ? SiteTable::other(site.kind) : site));
        return interned.id;
    }
    SiteTable& table() { return options.sites != nullptr ? *options.sites : own_sites; }

    Status flush(bool final) {
        announce_process();
        if (!options.whole_recording) {
            keep(sink.flush());
            return status;
        }
        RecordingStats stats;
        stats.begun = recorded + lost.total();
        stats.recorded = recorded;
        stats.lost = lost;
        stats.window_begin_ns = window_begin_ns;
        stats.window_end_ns = host_now().value;
        stats.final = final;
        keep(sink.stats(stats));
        keep(sink.flush());
        return status;
    }

    std::mutex mutex;
    SpanSink& sink;
    const ProbeTraceOptions options;
    const int64_t window_begin_ns;
    SiteTable own_sites;
    std::map<std::string, uint32_t> devices;
    std::map<std::tuple<bool, std::string, uint32_t>, TrackId> tracks;
    bool has_other = false;
    bool announced = false;
    bool closed = false;
    uint64_t recorded = 0;
    LossCounts lost;
    Status status;    // the sink's first error
};

ProbeTrace::ProbeTrace(SpanSink& sink, const ProbeTraceOptions& options)
    : state_(std::make_unique<State>(sink, options)) {}
ProbeTrace::~ProbeTrace() = default;

ProbeTrace::Place ProbeTrace::place(const Probe& probe) {
    const std::lock_guard lock(state_->mutex);
    if (state_->closed) return {};
    state_->announce_process();
    const TrackId track = state_->track(probe);
    return {state_->site(probe), track};
}

void ProbeTrace::add(const Place& place, const TimerReading& reading) noexcept {
    const std::lock_guard lock(state_->mutex);
    if (!reading.ready()) {
        ++state_->lost[reading.state == TimerState::kLost ? reading.lost : LossReason::kAbandoned];
        return;
    }
    if (state_->closed || !state_->status.ok()) {
        ++state_->lost[LossReason::kAbandoned];
        return;
    }
    SpanRecord span;
    span.begin_ns = reading.begin_ns;
    span.duration_ns = reading.duration_ns;
    span.site = place.site;
    span.track = place.track;
    const Status added = state_->sink.spans({&span, 1});
    if (added.ok())
        ++state_->recorded;
    else
        ++state_->lost[LossReason::kAbandoned];
    state_->keep(added);
}

uint64_t ProbeTrace::recorded() const noexcept {
    const std::lock_guard lock(state_->mutex);
    return state_->recorded;
}

LossCounts ProbeTrace::lost() const noexcept {
    const std::lock_guard lock(state_->mutex);
    return state_->lost;
}

Status ProbeTrace::flush() {
    const std::lock_guard lock(state_->mutex);
    return state_->closed ? state_->status : state_->flush(false);
}

Status ProbeTrace::close() {
    const std::lock_guard lock(state_->mutex);
    if (std::exchange(state_->closed, true)) return state_->status;
    static_cast<void>(state_->flush(true));
    if (state_->options.whole_recording) state_->keep(state_->sink.close());
    return state_->status;
}

}    // namespace lapwing
