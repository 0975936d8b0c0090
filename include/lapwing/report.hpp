// Where the GPU time went: rows by op, kernel, layer, step, queue or name, computed from any stream of spans.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lapwing/result.hpp"
#include "lapwing/roofline.hpp"
#include "lapwing/sink.hpp"

namespace lapwing {

/// What the rows of a report are.
enum class GroupBy : uint8_t {
    kOp = 0,      ///< the engine's name for the work, over all layers; falls back to kernel, then kind, span by span
    kKernel,      ///< the GPU program; spans without one (copies, fills) make a row of their kind
    kLayer,       ///< transformer layer; spans without one make the row "-"
    kStep,        ///< step index, in order; spans outside every step make the row "-"
    kQueue,       ///< track, host threads too
    kName,        ///< every slice's own label, host spans too
    kBrick,       ///< bricks by name; those timed on the host and on a device apart, as in all groupings below
    kCategory,    ///< bricks by category
    kFamily,      ///< spans that have a family
    kPhase,       ///< spans that have a phase
    kLane,        ///< spans that have a lane
};

/// Errors:  kInvalidArgument naming the text and the accepted names.
[[nodiscard]] Result<GroupBy> parse_group_by(std::string_view text);
[[nodiscard]] const char* to_text(GroupBy by) noexcept;

/// Whether rows are by what a marked program says of its spans: brick, category, family, phase, lane. Spans of which it
/// says nothing are in no row.
[[nodiscard]] bool is_by_mark(GroupBy by) noexcept;

/// Exact distribution of integer nanoseconds. Percentiles by nearest rank: the ceil(p n)-th smallest.
struct Distribution {
    uint64_t count = 0;
    int64_t total_ns = 0;
    int64_t min_ns = 0, p50_ns = 0, p90_ns = 0, p99_ns = 0, max_ns = 0;
    [[nodiscard]] double mean_ns() const noexcept { return count == 0 ? 0.0 : double(total_ns) / double(count); }
};

/// What is done with the time that a pair of stamps reads by itself (ClockInfo::floor_ns).
enum class FloorTime : uint8_t {
    kKept = 0,      ///< times are what the stamps read
    kSubtracted,    ///< taken off every device span in the rows; a shorter one counts as 0 and in `below_floor`. Busy
                    ///< times and times of steps stay as they were read.
};

/// What only a row of one step has (`GroupBy::kStep`).
struct StepFigures {
    int64_t gpu_ns = 0;         ///< union of the step's device spans, warm-up included, summed over GPUs
    int64_t wall_ns = 0;        ///< first submit to completion; 0 where the step never finished
    uint64_t dispatches = 0;    ///< executed in it, timed or not; 0 where the step never finished
    bool finished = false;      ///< its StepRecord is in the stream
    bool armed = true;          ///< whether its kernels were to be timed
    bool cut = false;           ///< part of it is not in the recording: see StepSummary::cut
};

/// A total of all steps, estimated from those that were timed.
/// Shape:   N x mean, and half of its 95 % interval: t x N x sqrt((1 - n / N) x s^2 / n) for n timed steps of N, with
///          s the standard deviation of the steps' totals and t Student's for n - 1. The interval takes the timed steps
///          for a random choice: a program whose steps differ in the rhythm of the stride escapes it.
struct ScaledTotal {
    double total_ns = 0;
    std::optional<double> error_ns;    ///< absent with a single timed step
};

struct ReportRow {
    std::string name;
    std::string kind;             ///< to_text(SpanKind); "mixed" where a row has several
    Distribution spans;           ///< warm-up left out, estimates included
    uint64_t warmup_count = 0;    ///< first uses, which may contain compilation
    int64_t warmup_ns = 0;
    uint64_t estimated_count = 0;            ///< how many of `spans` are estimates
    uint64_t below_floor = 0;                ///< how many of `spans` read no more than their device's floor
    double share = 0;                        ///< of the total of all rows, 0..1
    std::optional<double> per_step_ns;       ///< time in the steps of StepSummary::gpu_ns over their number
    std::optional<double> per_step_count;    ///< spans in these steps over their number
    std::optional<ScaledTotal> scaled;       ///< where steps were sampled: device rows, but for rows of steps
    std::optional<StepFigures> step;
    /// Its spans whose FLOPs or bytes are known, warm-up left out: an entry for each work and device.
    std::vector<WorkEntry> work{};
    std::optional<RooflineFigures> roofline{};    ///< of `work`; absent where it is empty. Shares need apply_peaks()
};

/// Steps: the headline. Steps that contain warm-up are counted apart, and those that are not in the recording as a
/// whole. Shape:   count = gpu_ns.count + with_warmup + not_armed + cut + untimed.
struct StepSummary {
    uint64_t count = 0;    ///< all finished steps
    uint64_t with_warmup = 0;
    uint64_t not_armed = 0;     ///< their kernels were not to be timed
    uint64_t cut = 0;           ///< armed, and cut off: dispatches are missing where the recording begins or breaks off
    uint64_t untimed = 0;       ///< armed, and none of their spans has a time
    uint64_t incomplete = 0;    ///< of gpu_ns.count: fewer dispatches timed than executed, so gpu_ns is a lower bound
    uint64_t missing_dispatches = 0;    ///< how many dispatches those steps lack
    Distribution gpu_ns;     ///< union of device spans within a step, summed over GPUs, steps without warm-up
    Distribution wall_ns;    ///< host time from a step's first submit to its completion, the same steps
    std::optional<double> gpu_share;    ///< gpu_ns over wall_ns x GPUs of the step's process; absent without a wall
    Distribution all_wall_ns;           ///< the same of all finished steps
    uint64_t dispatches = 0;            ///< executed in all finished steps
    uint64_t untimed_dispatches = 0;    ///< of armed steps: from command buffers recorded while timing was off
};

/// Where the stride left steps out: what stands for what.
struct SamplingSummary {
    uint64_t steps = 0;    ///< N: finished steps that the stride chose among, without warm-up
    uint64_t timed = 0;    ///< n: of them, timed and complete; >= 1
    ScaledTotal gpu;       ///< StepSummary::gpu_ns of all N
};

/// The peaks that a report's shares are of.
struct AppliedPeaks {
    uint32_t device = 0;    ///< DeviceInfo::id; 0 = the host
    DevicePeaks peaks;
};

/// What one device did.
struct DeviceFigures {
    uint32_t id = 0;    ///< DeviceInfo::id
    uint64_t spans = 0;
    int64_t busy_ns = 0;    ///< union of its spans; two devices may be one GPU, so this does not sum up to Report's
};

/// What the reader of a file found beside the stream (ReadSummary); all zero for a live stream.
struct SourceState {
    bool torn = false;             ///< the file ends inside a packet
    uint64_t torn_at = 0;          ///< byte offset of that packet
    uint64_t unclosed = 0;         ///< slices that were begun and never ended
    uint64_t unknown_sites = 0;    ///< spans whose site was never described
};

struct Report {
    GroupBy by = GroupBy::kOp;
    std::string file;
    SourceState source;    ///< set by the caller who read the file
    ProcessInfo process;
    std::vector<ProcessInfo> other_processes;    ///< joined into the recording: children of the first
    std::vector<DeviceInfo> devices;             ///< by id; the latest announcement of each
    RecordingStats stats;                        ///< the latest in the stream
    bool has_stats = false;
    int64_t window_ns = 0;                        ///< first to last moment recorded
    int64_t busy_ns = 0;                          ///< union of device spans, summed over GPUs
    uint32_t gpus = 0;                            ///< GPUs with spans: devices of one DeviceInfo::uuid are one
    std::vector<DeviceFigures> device_figures;    ///< devices with spans, by id
    std::optional<double> coverage_of_busy;       ///< unknown without submit-level stamps
    std::optional<double> coverage_of_wall;       ///< busy_ns / (window_ns x gpus); unknown for an empty window
    uint64_t spans = 0;                           ///< measured device spans, warm-up included
    uint64_t estimated = 0;
    uint64_t host_spans = 0;
    uint64_t dispatch_spans = 0;    ///< device spans of kind dispatch, estimates included
    uint64_t refused = 0;           ///< spans and steps left out: an end before the begin, or beyond the clock's range
    uint64_t outside_steps = 0;     ///< device spans that belong to no finished step
    uint64_t ungrouped = 0;         ///< device spans that are in no row, because they have no brick, family, phase
    uint64_t containers = 0;        ///< of `spans`: they contain the work of others, and are not busy time
    uint64_t warmup_spans = 0;
    int64_t warmup_ns = 0;
    FloorTime floor = FloorTime::kKept;
    int64_t total_ns = 0;           ///< sum over rows, warm-up left out
    int64_t device_total_ns = 0;    ///< sum of device spans, warm-up included: above busy_ns where they overlap
    StepSummary steps;
    std::optional<SamplingSummary> sampling;    ///< absent where every step was timed, or none
    std::optional<Arithmetic> arithmetic;       ///< whose peaks apply_peaks() took; absent where it was not called
    std::vector<AppliedPeaks> peaks;            ///< those it found, by device
    std::vector<ReportRow> rows;    ///< by total_ns descending, then name; layers, steps in natural order, "-" last

    /// begun = spans + estimated + lost + left out: what the stream itself shows, checked against stats.begun by
    /// `unaccounted`.
    [[nodiscard]] uint64_t begun() const noexcept { return spans + estimated + stats.lost.total() + stats.left_out; }
    /// Spans begun that are neither in the stream nor counted as lost (a killed process, a torn file).
    [[nodiscard]] uint64_t unaccounted() const noexcept {
        return has_stats && stats.begun > begun() ? stats.begun - begun() : 0;
    }
};

/// A sink that turns the stream it is fed into reports.
/// Shape:   tolerates what a file may do to it: sites, tracks and steps may be missing, late or told again (the latest
///          counts), spans may come in any order.
/// Cost:    cold; memory 16 bytes a span while fed; build() takes up to 48 bytes a span more for its own time.
/// Threads: one at a time.
class ReportBuilder : public SpanSink {
public:
    /// Without a value, groups by op where ops are named, else by kernel, else by name.
    [[nodiscard]] virtual Report build(std::optional<GroupBy> by = std::nullopt,
                                       FloorTime floor = FloorTime::kKept) const = 0;
};

[[nodiscard]] std::unique_ptr<ReportBuilder> make_report_builder();

/// What a reader of a report must know before trusting it: losses, torn files, overlap, coarse clocks, and what to do.
struct ReportNote {
    bool warning = false;    ///< the figures are incomplete or doubtful; else an explanation
    std::string text;        ///< one sentence or two, without a line break
};
[[nodiscard]] std::vector<ReportNote> notes_of(const Report& report);

/// The report as a text for a terminal.
/// Shape:   `top` rows (0 = all), the rest summed in one row; at most `width` columns; colour only where asked for.
///          ASCII but for the names themselves; names too long for their column lose their middle and stay unique.
struct TextOptions {
    std::size_t top = 20;
    std::size_t width = 120;    ///< >= 60; smaller values are taken as 60
    bool colour = false;
};
[[nodiscard]] std::string to_text(const Report& report, const TextOptions& options = {});

/// The report as JSON, schema "lapwing.report/1" (docs/report.schema.json): unknown is null, integers are exact ns,
/// rows in the order of Report::rows, as in every other format.
[[nodiscard]] std::string to_json(const Report& report, std::size_t top = 0);

/// The rows as CSV (RFC 4180 quoting, one header line, integers are exact ns, unknown is empty).
/// Shape:   the accounting of the whole report (begun = measured + estimated + lost) stands in the last columns of
/// every
///          row, since the format has no other place for it.
[[nodiscard]] std::string to_csv(const Report& report, std::size_t top = 0);

/// Headline, rows and accounting as a GitHub-flavoured Markdown table.
[[nodiscard]] std::string to_markdown(const Report& report, std::size_t top = 0);

}    // namespace lapwing
