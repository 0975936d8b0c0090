// The seam between those who produce spans (harvest, file readers) and those who consume them (file writers, views).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lapwing/fingerprint.hpp"
#include "lapwing/loss.hpp"
#include "lapwing/record.hpp"
#include "lapwing/result.hpp"

namespace lapwing {

/// The clock of a device as it was found.
struct ClockInfo {
    double resolution_ns = 0;                 ///< ns per tick; 0 = unknown
    uint32_t valid_bits = 0;                  ///< 0 = unknown
    bool calibrated = false;                  ///< the driver offers device and host time as a pair
    std::optional<int64_t> uncertainty_ns;    ///< half-width of the host alignment; absent = not aligned
    std::optional<double> drift_ppm{};        ///< host ns gained per million device ns; absent = not known (yet)
    std::optional<int64_t> residual_ns{};     ///< what the last clock pair was off from its prediction; absent = none
    uint64_t clock_steps = 0;                 ///< how often one of the clocks was seen to step
    std::optional<int64_t> floor_ns{};    ///< what a pair of stamps with nothing between reads; absent = not measured
    uint32_t floor_pairs = 0;             ///< floor_ns is the median of so many
};

/// A device whose spans are in the stream. Numbered from 1.
struct DeviceInfo {
    uint32_t id = 0;
    std::string api{};    ///< "vulkan", "sim", ...
    std::string name{};
    std::string driver{};    ///< name and version as the driver states them
    ClockInfo clock{};
    std::string uuid{};    ///< 32 hex digits, the same in every process that opens this GPU; empty = unknown
};

/// Where the stream comes from.
struct ProcessInfo {
    int64_t pid = 0;
    std::string command;    ///< command line; values of options that look like secrets are replaced by "***"
    std::string lapwing_version;
    std::string level;          ///< see level.hpp
    uint32_t every = 1;         ///< arming stride in steps; with a budget the smallest
    std::string step{};         ///< what makes a step: "sync", "label:REGEX", "submits:N"; empty = not said
    uint64_t skip = 0;          ///< steps at the beginning that were not timed
    int64_t duration_ns = 0;    ///< how long steps were timed, from the first timed one on; 0 = to the end
};

/// What a track shows.
enum class TrackKind : uint8_t {
    kDeviceQueue = 0,    ///< device spans of one queue, in device order
    kHostThread,         ///< host spans of one thread: submits, waits, scopes
};

struct TrackInfo {
    TrackId id = 0;
    TrackKind kind = TrackKind::kDeviceQueue;
    uint32_t device = 0;      ///< DeviceInfo::id; 0 for host threads
    std::string name;         ///< "queue 0", "thread 4711"
    std::string process{};    ///< process id as a foreign trace writes it; empty = that of the last ProcessInfo
};

/// A finished step: see ProcessInfo::step. By default the work between two moments at which the program has seen all it
/// submitted complete; only periods in which at least one dispatch ran make a step, what came before it belongs to it.
struct StepRecord {
    uint32_t index = 0;         ///< from 0, dense
    int64_t begin_ns = 0;       ///< host time of the first submit
    int64_t end_ns = 0;         ///< host time at which the program saw completion, or at which the next step began
    uint64_t dispatches = 0;    ///< executed in this step, timed or not
    bool armed = true;          ///< whether its kernels were to be timed
    uint64_t untimed = 0;       ///< of `dispatches`: from command buffers recorded while timing was off
    bool sampled = true;        ///< one of the steps among which the stride chooses; false: skipped, after the end, ...
};

/// What the recording process knows about itself. Cumulative: the latest one counts.
struct RecordingStats {
    uint64_t begun = 0;       ///< device spans begun = recorded + estimated + lost.total() once all is settled
    uint64_t recorded = 0;    ///< measured device spans handed to the sink
    uint64_t estimated = 0;
    LossCounts lost;
    uint64_t stamps = 0;                ///< device timestamps written for us
    uint64_t result_reads = 0;          ///< calls made to read results
    uint64_t own_submits = 0;           ///< submits we added
    std::optional<int64_t> hook_ns;     ///< host time spent in Lapwing on the program's threads; absent = not metered
    std::optional<int64_t> start_ns;    ///< spent in Lapwing while instances and devices were created; absent = unknown
    uint64_t faults = 0;                ///< faults of ours that let the call through untouched
    int64_t window_begin_ns = 0;        ///< host time of the first thing recorded
    int64_t window_end_ns = 0;          ///< host time of these stats
    bool final = false;                 ///< written at an orderly end
    uint64_t executed_dispatches = 0;    ///< dispatches executed, timed or not
    uint64_t names_dropped = 0;          ///< sites folded into "other" because the table was full
    uint64_t left_out = 0;               ///< of `recorded`: in older parts of the recording that are not in this stream
    int64_t write_error = 0;             ///< errno of what ended the recording before the program; 0 = nothing did

    // With a budget for Lapwing's own cost (budget.hpp).
    uint32_t budget_ppm = 0;                    ///< of wall time; 0 = no budget
    std::optional<int64_t> budget_share_ppm;    ///< what it came to since it settled; absent before
    std::optional<int64_t> armed_step_ns;       ///< what a timed step takes longer; absent until it is known
    uint32_t stride = 1;                        ///< steps between timed ones, now
    uint64_t stride_changes = 0;

    uint64_t fingerprints_dropped = 0;     ///< taken and not recorded, because a pool or a queue was full
    uint64_t fingerprints_left_out = 0;    ///< recorded in older parts that are not in this stream
};

/// A consumer of the span stream: a file writer, a view, a tee of several.
/// Shape:   device, track and site are announced before the first span that refers to them. Spans of one track come in
///          device order. `process` comes first; where it comes again, what is announced from there on is of another
///          process.
/// Errors:  the first failure is returned and kept by the sink; later calls may return it again and do nothing.
/// Threads: one at a time.
class SpanSink {
public:
    virtual ~SpanSink() = default;
    virtual Status process(const ProcessInfo& process) = 0;
    virtual Status device(const DeviceInfo& device) = 0;
    virtual Status track(const TrackInfo& track) = 0;
    virtual Status site(SiteId id, const Site& site) = 0;
    virtual Status spans(std::span<const SpanRecord> spans) = 0;
    virtual Status step(const StepRecord& step) = 0;
    virtual Status stats(const RecordingStats& stats) = 0;
    /// What a brick put out. A sink that has no use for it does nothing.
    virtual Status fingerprint(const FingerprintRecord&) { return {}; }
    /// Passes on what the sink holds back; a sink that holds nothing back does nothing.
    virtual Status flush() { return {}; }
    virtual Status close() = 0;
};

}    // namespace lapwing
