// What telemetry counts, as data: samples that go in, and the snapshot that comes out and is exported.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lapwing/kernel_table.hpp"
#include "lapwing/lanes.hpp"
#include "lapwing/level.hpp"
#include "lapwing/loss.hpp"
#include "lapwing/metrics.hpp"

namespace lapwing {

/// Which tokens are counted.
enum class TokenKind : uint8_t {
    kPrompt = 0,    ///< read, by prefill
    kGenerated,     ///< made, by decode
};
inline constexpr std::size_t kTokenKinds = 2;

/// Which way a copy goes.
enum class CopyDirection : uint8_t {
    kHostToDevice = 0,
    kDeviceToHost,
    kDeviceToDevice,
};
inline constexpr std::size_t kCopyDirections = 3;

/// How a request ended.
enum class RequestOutcome : uint8_t {
    kCompleted = 0,
    kCancelled,    ///< by the caller
    kFailed,       ///< by the server
};
inline constexpr std::size_t kRequestOutcomes = 3;

/// Names in exports: "prompt", "host_to_device", "completed", ... Static strings.
[[nodiscard]] const char* to_text(TokenKind kind) noexcept;
[[nodiscard]] const char* to_text(CopyDirection direction) noexcept;
[[nodiscard]] const char* to_text(RequestOutcome outcome) noexcept;

/// The scheduler at one of its ticks. What is absent is not known, and is exported so.
struct SchedulerTick {
    std::optional<uint32_t> running{};         ///< requests in the batch
    std::optional<uint32_t> waiting{};         ///< requests in the queue
    std::optional<uint32_t> batch_tokens{};    ///< tokens that this tick works on
    std::optional<double> cache_used{};        ///< share of the key-value cache in use, 0..1
};

/// A request at its end. Units: ns. What is absent is not known.
struct RequestFigures {
    RequestOutcome outcome = RequestOutcome::kCompleted;
    uint32_t prompt_tokens = 0;
    uint32_t output_tokens = 0;
    std::optional<int64_t> queue_ns{};          ///< from arrival to the first work on it
    std::optional<int64_t> first_token_ns{};    ///< from arrival to the first token
    std::optional<int64_t> total_ns{};          ///< from arrival to the end; >= first_token_ns
};

/// A lane on one device.
struct LaneFigures {
    std::string lane;
    uint32_t device = 0;                    ///< DeviceInfo::id
    std::optional<Log2Snapshot> time_ns;    ///< one span a lane and step; absent where there is none
    std::string reason;                     ///< why `time_ns` is absent; empty where it is there
};

/// A phase of the host's work.
struct PhaseFigures {
    std::string phase;
    Log2Snapshot time_ns;
};

/// What became of the device spans of all streams.
struct GpuSpanFigures {
    uint64_t begun = 0;    ///< = recorded + lost.total() + in_flight once nobody is at work
    uint64_t recorded = 0;
    uint64_t in_flight = 0;
    LossCounts lost;
    LaneStats lanes;                         ///< what callers of lanes did
    std::vector<std::string> unsupported;    ///< "device 1, queue 0: the reason" for streams without timestamps
};

/// What callers did wrong or a limit of Lapwing's cut off. All zero in a correct program.
struct TelemetryMisuse {
    uint64_t refused_durations = 0;    ///< negative, or above kLongestSampleNs: not recorded
    uint64_t refused_values = 0;       ///< impossible figures (more tokens accepted than drafted, ...): not recorded
    uint64_t no_stream = 0;            ///< lane and kernel calls for a stream that is not installed
    uint64_t unplaced_spans = 0;       ///< lane spans of an unknown track or lane, or beyond 16 devices
    uint64_t sink_errors = 0;          ///< harvests that a recording refused
};

/// Everything that telemetry knows at one moment. Plain data; its fields are read one after the other, without a lock.
struct TelemetrySnapshot {
    Level level = Level::kOff;
    uint32_t kernel_span_every = 0;    ///< 0 = never configured
    uint64_t steps = 0;                ///< at level lane and above
    uint64_t armed_steps = 0;

    std::optional<GpuSpanFigures> gpu;    ///< absent where no stream was ever installed
    std::vector<LaneFigures> lanes;       ///< by device, then lane
    std::vector<KernelRow> kernels;
    KernelTableLosses kernel_losses;

    std::vector<PhaseFigures> phases;    ///< those with samples
    uint64_t scheduler_ticks = 0;
    SchedulerTick scheduler;    ///< the latest
    Log2Snapshot batch_tokens;
    std::array<uint64_t, kTokenKinds> tokens{};
    Log2Snapshot stream_sync_ns;
    std::array<uint64_t, kCopyDirections> copy_bytes{};
    std::array<Log2Snapshot, kCopyDirections> copy_ns;
    Log2Snapshot graph_capture_ns;
    uint64_t graph_replays = 0;
    uint64_t graph_replayed_kernels = 0;
    uint64_t spec_verifications = 0;
    uint64_t spec_drafted = 0;
    uint64_t spec_accepted = 0;
    std::array<uint64_t, kRequestOutcomes> requests{};
    Log2Snapshot request_queue_ns;
    Log2Snapshot first_token_ns;
    Log2Snapshot per_token_ns;    ///< (total - first token) / (output tokens - 1)
    Log2Snapshot request_ns;
    TelemetryMisuse misuse;
};

}    // namespace lapwing
