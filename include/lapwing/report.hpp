// Where the GPU time went: rows by op, kernel, layer, step, queue or name, computed from any stream of spans.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lapwing/result.hpp"
#include "lapwing/sink.hpp"

namespace lapwing {

/// What the rows of a report are.
enum class GroupBy : uint8_t {
    kOp = 0,    ///< the engine's name for the work, over all layers; falls back to kernel, then kind, span by span
    kKernel,    ///< the GPU program
    kLayer,     ///< transformer layer; spans without one make the row "-"
    kStep,      ///< step index, in order
    kQueue,     ///< track
    kName,      ///< every slice's own label, host spans too
};

/// Errors:  kInvalidArgument naming the text and the accepted names.
[[nodiscard]] Result<GroupBy> parse_group_by(std::string_view text);
[[nodiscard]] const char* to_text(GroupBy by) noexcept;

/// Exact distribution of integer nanoseconds. Percentiles by nearest rank: the ceil(p n)-th smallest.
struct Distribution {
    uint64_t count = 0;
    int64_t total_ns = 0;
    int64_t min_ns = 0, p50_ns = 0, p90_ns = 0, p99_ns = 0, max_ns = 0;
    [[nodiscard]] double mean_ns() const noexcept { return count == 0 ? 0.0 : double(total_ns) / double(count); }
};

struct ReportRow {
    std::string name;
    std::string kind;             ///< to_text(SpanKind); "mixed" where a row has several
    Distribution spans;           ///< warm-up left out
    uint64_t warmup_count = 0;    ///< first uses, which may contain compilation
    int64_t warmup_ns = 0;
    double share = 0;    ///< of the total of all rows, 0..1
};

/// Steps: the headline. Steps that contain warm-up are counted apart.
struct StepSummary {
    uint64_t count = 0;    ///< all finished steps
    uint64_t with_warmup = 0;
    Distribution gpu_ns;     ///< union of device spans within a step, steps without warm-up
    Distribution wall_ns;    ///< host time from a step's first submit to its completion, the same steps
};

struct Report {
    GroupBy by = GroupBy::kOp;
    std::string file;
    ProcessInfo process;
    std::vector<DeviceInfo> devices;
    RecordingStats stats;    ///< the latest in the stream
    bool has_stats = false;
    int64_t window_ns = 0;                     ///< first to last moment recorded
    int64_t busy_ns = 0;                       ///< union of device spans, summed over devices
    std::optional<double> coverage_of_busy;    ///< unknown without submit-level stamps
    std::optional<double> coverage_of_wall;    ///< busy_ns / (window_ns x devices); unknown for an empty window
    uint64_t spans = 0;                        ///< measured device spans, warm-up included
    uint64_t estimated = 0;
    uint64_t warmup_spans = 0;
    int64_t warmup_ns = 0;
    int64_t total_ns = 0;    ///< sum over rows, warm-up left out
    StepSummary steps;
    std::vector<ReportRow> rows;    ///< by total_ns descending, then name; steps in order

    /// begun = spans + estimated + lost: what the stream itself shows, checked against stats.begun by `unaccounted`.
    [[nodiscard]] uint64_t begun() const noexcept { return spans + estimated + stats.lost.total(); }
    /// Spans begun that are neither in the stream nor counted as lost (a killed process, a torn file).
    [[nodiscard]] uint64_t unaccounted() const noexcept {
        return has_stats && stats.begun > begun() ? stats.begun - begun() : 0;
    }
};

/// A sink that turns the stream it is fed into reports.
/// Cost:    cold; memory 16 bytes a span.
/// Threads: one at a time.
class ReportBuilder : public SpanSink {
public:
    /// Without a value, groups by op where ops are named, else by kernel, else by name.
    [[nodiscard]] virtual Report build(std::optional<GroupBy> by = std::nullopt) const = 0;
};

[[nodiscard]] std::unique_ptr<ReportBuilder> make_report_builder();

/// The report as a text for a terminal.
/// Shape:   `top` rows (0 = all), the rest summed in one row; at most `width` columns; colour only where asked for.
struct TextOptions {
    std::size_t top = 20;
    std::size_t width = 120;
    bool colour = false;
};
[[nodiscard]] std::string to_text(const Report& report, const TextOptions& options = {});

/// The report as JSON, schema "lapwing.report/1" (docs/report.schema.json): unknown is null, integers are exact ns.
[[nodiscard]] std::string to_json(const Report& report);

}    // namespace lapwing
