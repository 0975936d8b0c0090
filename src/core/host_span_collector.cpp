#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/host_span_registry.hpp"
#include "lapwing/clock.hpp"
#include "lapwing/host_spans.hpp"
#include "lapwing/process_sites.hpp"
#include "lapwing/this_process.hpp"

namespace lapwing {

namespace {
// A batch is what a chunk holds, so that a chunk is given back before the sink is called, and a slow sink costs the
// ring no slack.
constexpr std::size_t kBatchSpans = detail::kCellsPerChunk;
}    // namespace

struct HostSpanCollector::State {
    State(SpanSink& sink_in, const HostSpanCollectorOptions& options_in)
        : sink(sink_in), options(options_in), sites(sink_in, options_in.sites) {
        batch.reserve(kBatchSpans);
    }

    SpanSink& sink;
    HostSpanCollectorOptions options;
    SiteAnnouncer sites;
    struct Track {
        uint64_t serial;
        TrackId id;
    };
    std::vector<Track> tracks;    // of the threads that still own a ring
    uint32_t track_count = 0;
    std::vector<detail::HostSpanRing*> rings;
    std::vector<SpanRecord> batch;
    HostScale scale;
    Status status;
    LossCounts lost;
    uint64_t recorded = 0;
    int64_t first_ns = 0;
    int64_t last_ns = 0;
    bool announced = false;
    bool closed = false;

    bool keep(Status result) {
        if (status.ok() && !result.ok()) status = std::move(result);
        return status.ok();
    }

    bool announce() {
        if (announced || !options.whole_recording) return status.ok();
        announced = true;
        first_ns = last_ns = host_now().value;
        return keep(sink.process(this_process()));
    }

    TrackId track_of(const detail::HostSpanRing& ring) {
        for (const Track& track : tracks)
            if (track.serial == ring.serial) return track.id;
        const uint32_t last = options.max_tracks - 1u;
        const auto id = static_cast<TrackId>(options.first_track + std::min(track_count, last));
        if (track_count <= last) {
            TrackInfo info;
            info.id = id;
            info.kind = TrackKind::kHostThread;
            info.name = track_count == last ? "other threads" : "thread " + std::to_string(ring.thread_id);
            keep(sink.track(info));
            ++track_count;
        }
        tracks.push_back({ring.serial, id});
        return id;
    }

    void decode(const detail::HostSpanCell* cell, const detail::HostSpanCell* end, TrackId track) {
        for (; cell != end; ++cell) {
            const uint64_t begin = cell->begin;
            if (begin == 0) [[unlikely]]
                continue;
            uint64_t ticks = cell->ticks;
            if (ticks == detail::kLongHostSpan) [[unlikely]] {
                ++cell;
                ticks = cell->begin;
                if (static_cast<int64_t>(ticks) < 0) {
                    ++lost[LossReason::kReversed];
                    continue;
                }
            }
            // Both ends are converted, so that laps that share a tick share a nanosecond.
            const int64_t begin_ns = scale.to_host(HostTicks{begin}).value;
            const int64_t end_ns = scale.to_host(HostTicks{begin + ticks}).value;
            SpanRecord span;
            span.begin_ns = begin_ns;
            span.duration_ns = end_ns - begin_ns;
            span.site = sites.number_of(cell->site, status);
            span.track = track;
            batch.push_back(span);
        }
    }

    void deliver() {
        if (batch.empty()) return;
        // A thread writes a span when it ends, so an outer one comes after those inside it. Flat spans are in order.
        const auto earlier = [](const SpanRecord& a, const SpanRecord& b) {
            return a.begin_ns != b.begin_ns ? a.begin_ns < b.begin_ns : a.duration_ns > b.duration_ns;
        };
        if (!std::is_sorted(batch.begin(), batch.end(), earlier)) std::stable_sort(batch.begin(), batch.end(), earlier);
        if (status.ok() && keep(sink.spans(batch))) {
            recorded += batch.size();
            first_ns = std::min(first_ns, batch.front().begin_ns);
            for (const SpanRecord& span : batch) last_ns = std::max(last_ns, span.begin_ns + span.duration_ns);
        } else {
            lost[LossReason::kAbandoned] += batch.size();
        }
        batch.clear();
    }

    void drain_ring(detail::HostRingReader& reader, detail::HostSpanRing* ring) {
        const auto position = reader.position(*ring);
        const TrackId track = track_of(*ring);
        uint64_t number = ring->emptied.load(std::memory_order_relaxed);
        for (; number != position.filled; ++number) {
            decode(ring->chunk(number) + ring->next_cell, ring->chunk(number) + detail::kCellsPerChunk, track);
            ring->next_cell = 1;
            ring->emptied.store(number + 1, std::memory_order_release);
            deliver();
        }
        if (position.open_end > ring->next_cell) {
            decode(ring->chunk(number) + ring->next_cell, ring->chunk(number) + position.open_end, track);
            ring->next_cell = static_cast<uint32_t>(position.open_end);
            deliver();
        }
        // A busy thread may be seen with its count not settled yet: the difference comes with a later drain.
        if (position.dropped > ring->reported_drops) {
            lost[LossReason::kRingFull] += position.dropped - ring->reported_drops;
            ring->reported_drops = position.dropped;
        }
        if (position.ended) {
            const uint64_t serial = ring->serial;
            tracks.erase(std::remove_if(tracks.begin(), tracks.end(),
                                        [serial](const Track& gone) { return gone.serial == serial; }),
                         tracks.end());
            reader.retire(ring);
        }
    }

    void drain() {
        auto reader = detail::HostRingReader::try_start();
        if (!reader) return;
        announce();
        scale = host_scale();
        reader->list(rings);
        for (detail::HostSpanRing* const ring : rings) drain_ring(*reader, ring);
        lost[LossReason::kRingFull] += reader->take_ringless_drops();
    }

    void write_final_stats() {
        RecordingStats stats;
        // These counts are of device spans (sink.hpp). Host spans that were lost have no other place in a recording,
        // and are begun here so that the sum holds.
        stats.lost = lost;
        stats.begun = lost.total();
        stats.window_begin_ns = first_ns;
        stats.window_end_ns = last_ns;
        stats.names_dropped = process_sites_folded() + sites.folded();
        stats.final = true;
        keep(sink.stats(stats));
    }
};

HostSpanCollector::HostSpanCollector(SpanSink& sink, const HostSpanCollectorOptions& options)
    : state_(std::make_unique<State>(sink, options)) {
    LAPWING_ASSERT(options.first_track >= 1 && options.max_tracks >= 1);
    LAPWING_ASSERT(options.first_track + options.max_tracks - 1u <= 0xffffu);
}
HostSpanCollector::~HostSpanCollector() = default;

Status HostSpanCollector::drain() {
    if (!state_->closed) state_->drain();
    return state_->status;
}

Status HostSpanCollector::close() {
    if (state_->closed) return state_->status;
    state_->drain();
    state_->closed = true;
    if (state_->options.whole_recording) {
        state_->announce();
        state_->write_final_stats();
        state_->keep(state_->sink.close());
    }
    return state_->status;
}

uint64_t HostSpanCollector::recorded() const noexcept {
    return state_->recorded;
}
LossCounts HostSpanCollector::lost() const noexcept {
    return state_->lost;
}

}    // namespace lapwing
