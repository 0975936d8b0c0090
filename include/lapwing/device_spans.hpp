// Where device spans come out: the ring of one device, harvested into a sink. The device's counterpart of
// host_spans.hpp.
#pragma once

#include <array>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lapwing/clock.hpp"
#include "lapwing/device_ring.hpp"
#include "lapwing/process_sites.hpp"
#include "lapwing/result.hpp"
#include "lapwing/sink.hpp"
#include "lapwing/this_process.hpp"

namespace lapwing {

struct DeviceSpanCollectorOptions {
    /// The numbers of the recording's sites, shared with its other producers. Null: a table of the collector's own, for
    /// a recording that nobody else writes to. Outlives the collector.
    SiteTable* sites = nullptr;

    /// The collector is the sink's only producer: it announces the process, and close() writes the final stats and
    /// closes the sink. False: the sink's owner does all that, and adds add_to() to its own stats.
    bool whole_recording = true;

    /// The track of the ring's first queue; further queues count up from it. >= 1.
    TrackId first_track = 1;
};

/// Harvests the spans of one device into a sink.
/// Shape:   spans of the ring have sites of process_site(); they get the recording's numbers, and each site is
/// announced
///          before its first span. SpanRecord::tag is passed on. The ring outlives the collector, which is the only one
///          that harvests it.
/// Errors:  the sink's first error is returned by every later call; the batch it refused is lost as `abandoned`.
/// Cost:    cold: never waits; the ring's harvest, the sink, and a few ns a span. Once a second also the driver's pair
///          of clocks, which takes some drivers milliseconds.
/// Threads: one at a time; the ring's hot side goes on meanwhile.
template <Backend B>
class DeviceSpanCollector {
public:
    /// `device` is announced with the clock that the ring finds; its id is the recording's number of the device.
    DeviceSpanCollector(DeviceRing<B>& ring, SpanSink& sink, DeviceInfo device,
                        const DeviceSpanCollectorOptions& options = {})
        : ring_(ring), sink_(sink), device_(std::move(device)), options_(options), sites_(sink, options.sites) {}

    /// Adds a queue to the ring, with a track of its own in the recording.
    /// Shape:   the same device queue may be added twice: lanes go to a track of their own.
    /// Errors:  the ring's (DeviceRing::add_queue).
    /// Cost:    cold; nobody else may be at work on the ring.
    [[nodiscard]] Result<uint32_t> add_queue(typename B::Queue queue, std::string name) {
        const auto track = static_cast<TrackId>(options_.first_track + tracks_.size());
        Result<uint32_t> number = ring_.add_queue(std::move(queue), track);
        if (!number.ok()) return number;
        tracks_.push_back({track, TrackKind::kDeviceQueue, device_.id, std::move(name)});
        return number;
    }

    /// Hands the sink all spans whose stamps have arrived.
    Status harvest() {
        if (closed_) return status_;
        announce();
        for (std::size_t found = kBatch; found == kBatch;) {
            found = ring_.harvest(batch_);
            deliver(std::span(batch_).first(found));
        }
        const int64_t now_ns = host_now().value;
        if (options_.whole_recording && now_ns - told_ns_ >= kTellEveryNs) tell(now_ns, false);
        return status_;
    }

    /// Harvests a last time, gives up what the device has not finished (`abandoned`), and settles the counts.
    /// Shape:   idempotent. The caller has waited for the device where it wants every span.
    Status close() {
        if (closed_) return status_;
        (void)harvest();
        closed_ = true;
        ring_.abandon_all();
        if (options_.whole_recording) {
            tell(host_now().value, true);
            keep(sink_.close());
        } else {
            keep(sink_.device(described()));
        }
        return status_;
    }

    /// Device spans handed to the sink.
    [[nodiscard]] uint64_t recorded() const noexcept { return recorded_; }

    /// Adds what became of the ring's spans to the counts of a recording.
    void add_to(RecordingStats& stats) const noexcept {
        const DeviceRingStats ring = ring_.stats();
        stats.begun += ring.begun;
        stats.recorded += recorded_;
        stats.lost += ring.lost;
        stats.lost[LossReason::kAbandoned] += refused_;
        stats.stamps += ring.stamps;
        stats.names_dropped += sites_.folded();
    }

private:
    static constexpr std::size_t kBatch = 512;
    static constexpr int64_t kTellEveryNs = 1'000'000'000;

    void keep(Status status) {
        if (status_.ok() && !status.ok()) status_ = std::move(status);
    }

    // The clock as it is known now; the queues of a device share it.
    [[nodiscard]] DeviceInfo described() const {
        DeviceInfo out = device_;
        for (uint32_t queue = 0; queue < tracks_.size(); ++queue) {
            const DeviceQueueInfo info = ring_.info(queue);
            if (!info.supported) continue;
            out.clock = info.clock;
            break;
        }
        return out;
    }

    // Where the driver offers no pair of clocks, brackets around the spans align it all the same.
    void calibrate() { (void)ring_.calibrate(); }

    void announce() {
        if (announced_ == tracks_.size()) return;
        if (announced_ == 0) {
            begun_ns_ = told_ns_ = host_now().value;
            if (options_.whole_recording) keep(sink_.process(this_process()));
            calibrate();
            keep(sink_.device(described()));
        }
        for (; announced_ < tracks_.size(); ++announced_) keep(sink_.track(tracks_[announced_]));
    }

    void deliver(std::span<SpanRecord> spans) {
        if (spans.empty()) return;
        for (SpanRecord& span : spans) span.site = sites_.number_of(span.site, status_);
        if (status_.ok()) keep(sink_.spans(spans));
        (status_.ok() ? recorded_ : refused_) += spans.size();
    }

    void tell(int64_t now_ns, bool final) {
        announce();
        told_ns_ = now_ns;
        if (!final) calibrate();
        keep(sink_.device(described()));
        RecordingStats stats;
        add_to(stats);
        stats.names_dropped += process_sites_folded();
        stats.window_begin_ns = begun_ns_;
        stats.window_end_ns = now_ns;
        stats.final = final;
        keep(sink_.stats(stats));
    }

    DeviceRing<B>& ring_;
    SpanSink& sink_;
    DeviceInfo device_;
    DeviceSpanCollectorOptions options_;
    SiteAnnouncer sites_;
    std::vector<TrackInfo> tracks_;
    std::size_t announced_ = 0;    // tracks that the sink was told
    std::array<SpanRecord, kBatch> batch_{};
    Status status_;
    uint64_t recorded_ = 0;
    uint64_t refused_ = 0;
    int64_t begun_ns_ = 0;
    int64_t told_ns_ = 0;
    bool closed_ = false;
};

}    // namespace lapwing
