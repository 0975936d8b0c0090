// A queue of a device as a stream of the telemetry hub: lanes and kernels as device spans.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>

#include "lapwing/device_spans.hpp"
#include "lapwing/lanes.hpp"
#include "lapwing/process_sites.hpp"
#include "lapwing/telemetry.hpp"

namespace lapwing {

/// Which numbers of a ring the two kinds of spans of one device queue have. The queue is added to the ring once for
/// each, so that lanes get a track of their own: they contain the kernels.
struct StreamQueues {
    uint32_t kernels = 0;
    uint32_t lanes = 0;
};

namespace detail {

/// Lanes as device spans, inside ranges of the program's own where it asked for them. The range that was begun is kept
/// with the span: it ends where the span ends, whatever became of the level or the hooks meanwhile.
template <Backend B>
class RangedLaneSpans {
public:
    struct Token {
        DeviceToken span;
        const RangeHooks* range = nullptr;
    };
    RangedLaneSpans(const Telemetry& hub, DeviceRing<B>& ring, uint32_t queue,
                    const std::array<SiteId, kMaxLanes>& sites) noexcept
        : hub_(&hub), ring_(&ring), queue_(queue), sites_(&sites) {}

    Token begin(SiteId site) noexcept {
        const RangeHooks* const range = hub_->range_hooks();
        if (range != nullptr) [[unlikely]]
            range->push(name_of(site));
        return {ring_->begin(queue_, site, Level::kLane), range};
    }
    void end(SiteId /*site*/, const Token& token) noexcept {
        ring_->end(queue_, token.span);
        if (token.range != nullptr) [[unlikely]]
            token.range->pop();
    }
    void step(uint32_t step) noexcept { ring_->set_step(step); }

private:
    [[nodiscard]] const char* name_of(SiteId site) const noexcept {
        for (uint32_t lane = 0; lane < kMaxLanes; ++lane)
            if ((*sites_)[lane] == site) return hub_->name_of_lane(lane).data();    // of a std::string or a literal
        return "";
    }
    const Telemetry* hub_;
    DeviceRing<B>* ring_;
    uint32_t queue_;
    const std::array<SiteId, kMaxLanes>* sites_;
};

}    // namespace detail

/// Puts one queue of a device to work for a hub, from its construction to its destruction.
/// Shape:   hub, ring and collector outlive it. Several streams may have one ring. The collector's sink leads to
///          Telemetry::sink(), else the hub has no times.
/// Errors:  where the hub has no room (kMaxStreams), number() is kMaxStreams, and calls for it count as no_stream.
/// Threads: construction and destruction: as the hub's setting up. Everything else: the hub's.
template <Backend B>
class TelemetryStream final : public TelemetryQueue {
public:
    TelemetryStream(Telemetry& hub, DeviceRing<B>& ring, DeviceSpanCollector<B>& collector, const DeviceInfo& device,
                    const StreamQueues& queues)
        : hub_(hub),
          ring_(ring),
          collector_(collector),
          device_(device.id),
          queues_(queues),
          sites_(sites_of(hub)),
          lanes_({hub, ring, queues.lanes, sites_}, {sites_[kAdmit], sites_[kPrefill], sites_[kDecode]}) {
        for (uint32_t lane = kBuiltInLanes; lane < kMaxLanes && sites_[lane] != 0; ++lane)
            (void)lanes_.add(sites_[lane]);
        note_support();
        const Result<uint32_t> number = hub.install(*this);
        number_ = number.ok() ? number.value() : kMaxStreams;
    }
    ~TelemetryStream() override {
        lanes_.end_step();
        hub_.uninstall(*this);
    }
    TelemetryStream(const TelemetryStream&) = delete;
    TelemetryStream& operator=(const TelemetryStream&) = delete;

    /// What the hub's calls name it by.
    [[nodiscard]] uint32_t number() const noexcept { return number_; }

    void lane_begin(uint32_t lane) noexcept override { lanes_.begin(lane); }
    void lane_end(uint32_t lane) noexcept override { lanes_.end(lane); }
    void begin_step(uint32_t step) noexcept override { lanes_.begin_step(step); }
    DeviceToken kernel_begin(SiteId site) noexcept override { return ring_.begin(queues_.kernels, site); }
    void kernel_end(DeviceToken token) noexcept override { ring_.end(queues_.kernels, token); }
    Status harvest() noexcept override {
        Status status = collector_.harvest();
        note_support();
        return status;
    }
    bool busy() const noexcept override { return lanes_.stats().open != 0 || ring_.stats().in_flight != 0; }

    const void* ring() const noexcept override { return &ring_; }
    DeviceRingStats ring_stats() const noexcept override { return ring_.stats(); }
    LaneStats lane_stats() const noexcept override { return lanes_.stats(); }
    uint32_t device() const noexcept override { return device_; }
    const char* unsupported_reason() const noexcept override { return reason_.load(std::memory_order_relaxed); }

private:
    static std::array<SiteId, kMaxLanes> sites_of(const Telemetry& hub) {
        std::array<SiteId, kMaxLanes> out{};
        for (uint32_t lane = 0; lane < kMaxLanes; ++lane) {
            Site site;
            site.label = site.lane = hub.name_of_lane(lane);
            site.container = true;
            if (!site.lane.empty()) out[lane] = process_site(site);
        }
        return out;
    }
    // Asked by the harvester, who may look at the ring's clock; kept for everyone else. A queue may turn out to have no
    // timestamps later.
    void note_support() noexcept {
        const DeviceQueueInfo info = ring_.info(queues_.lanes);
        const char* const reason = *info.reason != '\0' ? info.reason : "this queue has no timestamps";
        reason_.store(info.supported ? "" : reason, std::memory_order_relaxed);
    }

    Telemetry& hub_;
    DeviceRing<B>& ring_;
    DeviceSpanCollector<B>& collector_;
    uint32_t device_;
    StreamQueues queues_;
    std::array<SiteId, kMaxLanes> sites_;
    Lanes<detail::RangedLaneSpans<B>> lanes_;
    std::atomic<const char*> reason_{""};
    uint32_t number_ = kMaxStreams;
};

}    // namespace lapwing
