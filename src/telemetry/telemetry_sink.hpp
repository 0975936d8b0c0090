// Where device spans come in: lanes go to their histograms, the rest to the kernel table.
#pragma once

#include <cstdint>
#include <vector>

#include "lapwing/kernel_table.hpp"
#include "lapwing/metrics.hpp"
#include "lapwing/sink.hpp"
#include "telemetry/lane_figures.hpp"

namespace lapwing::detail {

/// Cost:    spans: no allocation.
/// Threads: one at a time.
class TelemetrySink final : public SpanSink {
public:
    TelemetrySink(KernelTable& kernels, LaneNames& names) noexcept : kernels_(kernels), names_(names) {}

    Status process(const ProcessInfo& process) override;
    Status device(const DeviceInfo& device) override;
    Status track(const TrackInfo& track) override;
    Status site(SiteId id, const Site& site) override;
    Status spans(std::span<const SpanRecord> spans) override;
    Status step(const StepRecord& /*step*/) override { return {}; }
    Status stats(const RecordingStats& /*stats*/) override { return {}; }
    Status close() override { return {}; }

    [[nodiscard]] const DeviceLaneTable& devices() const noexcept { return devices_; }

    Counter refused;     ///< durations that are none
    Counter unplaced;    ///< lane spans without a lane or a device

private:
    static constexpr uint8_t kNoLane = 0xff;         // not a lane
    static constexpr uint8_t kUnknownLane = 0xfe;    // a lane beyond kMaxLanes

    KernelTable& kernels_;
    LaneNames& names_;
    DeviceLaneTable devices_;
    std::vector<uint8_t> lane_of_site_;
    std::vector<DeviceLaneTimes*> device_of_track_;
};

}    // namespace lapwing::detail
