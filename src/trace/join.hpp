// Recordings of several processes told as one stream.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "lapwing/sink.hpp"
#include "trace/device_tracks.hpp"

namespace lapwing::trace {

/// Passes recordings on, one after another, with the numbers of their devices, tracks, sites and steps made distinct
/// and their statistics summed. All are on one clock: CLOCK_MONOTONIC is the same for every process of a machine.
/// Shape:   next() before each recording, finish() after the last, which tells the sums. A process is told at the begin
/// of
///          its recording: devices, tracks and steps after it are its own.
/// Errors:  kExhausted where there are more tracks than numbers; else the target's.
/// Cost:    memory grows with devices and tracks.
class JoinSink final : public SpanSink {
public:
    /// Device spans that ended before `from_ns` are not passed on and count as left out.
    explicit JoinSink(SpanSink& to, std::optional<int64_t> from_ns = std::nullopt);

    void next();
    Status finish();

    Status process(const ProcessInfo& process) override;
    Status device(const DeviceInfo& device) override;
    Status track(const TrackInfo& track) override;
    Status site(SiteId id, const Site& site) override;
    Status spans(std::span<const SpanRecord> spans) override;
    Status step(const StepRecord& step) override;
    Status stats(const RecordingStats& stats) override;
    Status fingerprint(const FingerprintRecord& record) override;
    Status close() override { return {}; }

    [[nodiscard]] uint64_t recordings() const noexcept { return recordings_; }

private:
    [[nodiscard]] std::optional<TrackId> track_of(TrackId id);
    [[nodiscard]] uint32_t device_of(uint32_t id);
    [[nodiscard]] SiteId site_of(SiteId id);
    [[nodiscard]] uint32_t step_of(uint32_t step);
    void close_stats();

    SpanSink& to_;
    const std::optional<int64_t> from_ns_;
    uint64_t recordings_ = 0;
    // Of the recording that is told now:
    std::unordered_map<uint32_t, uint32_t> devices_;
    std::unordered_map<TrackId, TrackId> tracks_;
    DeviceTracks device_tracks_;    // by their own numbers
    SiteId first_site_ = 0;         // added to its numbers
    uint32_t first_step_ = 0;
    std::optional<RecordingStats> latest_;
    // Over all of them:
    uint32_t next_device_ = 1;
    uint32_t next_track_ = 1;
    uint64_t last_site_ = 0;
    uint64_t steps_ = 0;
    uint64_t cut_ = 0;    // device spans before from_ns_
    bool all_final_ = true;
    std::optional<RecordingStats> sum_;
    std::vector<SpanRecord> batch_;
};

}    // namespace lapwing::trace
