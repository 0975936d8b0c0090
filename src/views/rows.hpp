// Spans grouped into the rows of a report.
#pragma once

#include <vector>

#include "lapwing/report.hpp"
#include "views/sampling.hpp"
#include "views/step_times.hpp"
#include "views/stream_model.hpp"

namespace lapwing::detail {

/// What a report groups by where nobody said: op where ops are named, else kernel, else lane where whole
/// steps were timed, else name.
[[nodiscard]] GroupBy default_group(const StreamModel& model);

struct Rows {
    std::vector<ReportRow> rows;    // in the order of Report::rows
    uint64_t ungrouped = 0;         // Report::ungrouped
};

struct RowOptions {
    GroupBy by = GroupBy::kOp;
    FloorTime floor = FloorTime::kKept;
};

/// The rows, with shares and per-step figures.
/// Shape:   rows of steps hold every finished step, also those without a span.
/// Cost:    8 bytes a span; where steps were sampled, up to 16 more.
[[nodiscard]] Rows make_rows(const StreamModel& model, const std::vector<StepUse>& steps, const StepSample& sample,
                             const RowOptions& options);

}    // namespace lapwing::detail
