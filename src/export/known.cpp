#include "export/known.hpp"

#include <algorithm>
#include <numeric>

namespace lapwing::detail {

std::optional<int64_t> known_busy_ns(const Report& report) {
    if (!report.device_figures.empty()) return report.busy_ns;
    const RecordingStats& stats = report.stats;
    const bool nothing_ran =
        report.has_stats && stats.final && stats.begun == 0 && stats.executed_dispatches == 0 && report.refused == 0;
    if (nothing_ran) return 0;
    return std::nullopt;
}

std::optional<int64_t> known_window_ns(const Report& report) {
    if (report.window_ns > 0) return report.window_ns;
    if (report.spans + report.estimated + report.host_spans + report.steps.count > 0) return report.window_ns;
    return std::nullopt;
}

std::optional<int64_t> known_idle_ns(const Report& report) {
    const std::optional<int64_t> busy_ns = known_busy_ns(report);
    if (!busy_ns || report.window_ns <= 0 || report.device_figures.empty()) return std::nullopt;
    int64_t capacity_ns = 0;
    if (__builtin_mul_overflow(report.window_ns, int64_t{report.gpus}, &capacity_ns)) return std::nullopt;
    return capacity_ns - *busy_ns;
}

std::optional<double> host_ns_per_span(const Report& report) {
    // The cost is that of the whole recording, older parts that were dropped included.
    const uint64_t spans = report.spans + report.stats.left_out;
    if (!report.has_stats || !report.stats.hook_ns || spans == 0) return std::nullopt;
    return static_cast<double>(*report.stats.hook_ns) / static_cast<double>(spans);
}

std::optional<double> own_wall_share(const Report& report) {
    if (!report.has_stats || !report.stats.hook_ns) return std::nullopt;
    const RecordingStats& stats = report.stats;
    const int64_t window_ns = stats.left_out == 0 ? report.window_ns : stats.window_end_ns - stats.window_begin_ns;
    if (window_ns <= 0) return std::nullopt;
    return static_cast<double>(*stats.hook_ns) / static_cast<double>(window_ns);
}

std::optional<int64_t> known_gpu_ns(const StepFigures& step) {
    if (step.finished && step.gpu_ns == 0 && step.dispatches != 0) return std::nullopt;
    return step.gpu_ns;
}

std::optional<double> known_share(const Report& report, const ReportRow& row) {
    if (report.total_ns <= 0) return std::nullopt;
    return row.share;
}

RowSelection select_rows(const Report& report, std::size_t top) {
    const std::size_t count = report.rows.size();
    std::vector<std::size_t> order(count);
    std::iota(order.begin(), order.end(), std::size_t{0});
    // A step is as large as its GPU time: one of warm-up alone has no total, and is the largest of all.
    const auto size = [&](std::size_t i) {
        const ReportRow& row = report.rows[i];
        return row.step ? row.step->gpu_ns : row.spans.total_ns;
    };
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return size(a) > size(b); });
    const std::size_t taken = top == 0 ? count : std::min(top, count);

    RowSelection out;
    out.left_out = count - taken;
    for (std::size_t i = taken; i < count; ++i) {
        const ReportRow& row = report.rows[order[i]];
        out.left_out_ns += row.spans.total_ns;
        out.left_out_spans += row.spans.count;
        out.left_out_warmup_count += row.warmup_count;
        out.left_out_warmup_ns += row.warmup_ns;
        if (row.per_step_ns) out.left_out_per_step_ns = out.left_out_per_step_ns.value_or(0.0) + *row.per_step_ns;
    }
    order.resize(taken);
    std::sort(order.begin(), order.end());
    for (const std::size_t index : order) out.rows.push_back(&report.rows[index]);
    return out;
}

}    // namespace lapwing::detail
