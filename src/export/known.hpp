// What a report can and cannot tell: the one place that decides which figures are unknown, for every format.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lapwing/report.hpp"

namespace lapwing::detail {

/// Device busy time; unknown where work ran that has no time at all, or where nobody said whether any ran.
[[nodiscard]] std::optional<int64_t> known_busy_ns(const Report& report);

/// The recorded period; unknown where nothing was recorded.
[[nodiscard]] std::optional<int64_t> known_window_ns(const Report& report);

/// window x GPUs - busy; unknown without a window or a device that was busy.
[[nodiscard]] std::optional<int64_t> known_idle_ns(const Report& report);

/// Host time in Lapwing per device span; unknown without stats or spans.
[[nodiscard]] std::optional<double> host_ns_per_span(const Report& report);

/// Host time in Lapwing over the window; unknown without either.
[[nodiscard]] std::optional<double> own_wall_share(const Report& report);

/// A step's GPU time; unknown where it ran something and none of it has a time.
[[nodiscard]] std::optional<int64_t> known_gpu_ns(const StepFigures& step);

/// A row's share of all rows; unknown where they come to nothing.
[[nodiscard]] std::optional<double> known_share(const Report& report, const ReportRow& row);

/// The `top` rows with the largest totals (steps: GPU times) in the report's own order, and the sum of the others.
struct RowSelection {
    std::vector<const ReportRow*> rows;
    std::size_t left_out = 0;
    int64_t left_out_ns = 0;
    uint64_t left_out_spans = 0;
    uint64_t left_out_warmup_count = 0;
    int64_t left_out_warmup_ns = 0;
    std::optional<double> left_out_per_step_ns;
};
/// Shape:   top = 0 takes all rows. Pointers into `report.rows`.
[[nodiscard]] RowSelection select_rows(const Report& report, std::size_t top);

}    // namespace lapwing::detail
