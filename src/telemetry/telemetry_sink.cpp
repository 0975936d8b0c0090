#include "telemetry/telemetry_sink.hpp"

namespace lapwing::detail {
namespace {
constexpr SiteId kMaxSites = 1u << 20;    // so that a stream of ever new sites takes no memory
}

Status TelemetrySink::process(const ProcessInfo& process) {
    lane_of_site_.clear();
    device_of_track_.clear();
    return kernels_.process(process);
}

Status TelemetrySink::device(const DeviceInfo& device) {
    (void)devices_.of(device.id);
    return {};
}

Status TelemetrySink::track(const TrackInfo& track) {
    if (track.kind != TrackKind::kDeviceQueue) return {};
    if (track.id >= device_of_track_.size()) device_of_track_.resize(std::size_t{track.id} + 1, nullptr);
    device_of_track_[track.id] = devices_.of(track.device);
    return {};
}

Status TelemetrySink::site(SiteId id, const Site& site) {
    if (!site.lane.empty() && site.kind != SpanKind::kHost && id < kMaxSites) {
        if (id >= lane_of_site_.size()) lane_of_site_.resize(std::size_t{id} + 1, kNoLane);
        const std::optional<uint32_t> known = names_.find(site.lane);
        lane_of_site_[id] = known                       ? static_cast<uint8_t>(*known)
                            : names_.size() < kMaxLanes ? static_cast<uint8_t>(names_.add(site.lane))
                                                        : kUnknownLane;
    }
    return kernels_.site(id, site);
}

Status TelemetrySink::spans(std::span<const SpanRecord> spans) {
    for (const SpanRecord& span : spans) {
        const uint8_t lane = span.site < lane_of_site_.size() ? lane_of_site_[span.site] : kNoLane;
        if (lane == kNoLane) continue;
        DeviceLaneTimes* const device = span.track < device_of_track_.size() ? device_of_track_[span.track] : nullptr;
        if (lane == kUnknownLane || device == nullptr)
            unplaced.add();
        else if (span.duration_ns < 0 || span.duration_ns > kLongestSampleNs)
            refused.add();
        else
            device->ns[lane].record(static_cast<uint64_t>(span.duration_ns));
    }
    return kernels_.spans(spans);
}

}    // namespace lapwing::detail
