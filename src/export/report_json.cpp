#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <system_error>

#include "export/known.hpp"
#include "lapwing/report.hpp"

namespace lapwing {
namespace {

// Keys stay in the order of design.md, so that two reports can be compared as texts.
using Json = nlohmann::ordered_json;

template <class T>
Json or_null(const std::optional<T>& value) {
    return value ? Json(*value) : Json(nullptr);
}

Json text_or_null(const std::string& text) {
    return text.empty() ? Json(nullptr) : Json(text);
}

Json clock_json(const ClockInfo* clock) {
    if (clock == nullptr) {
        return Json{{"resolution_ns", nullptr},  {"valid_bits", nullptr}, {"calibrated", nullptr},
                    {"uncertainty_ns", nullptr}, {"drift_ppm", nullptr},  {"residual_ns", nullptr},
                    {"clock_steps", nullptr},    {"floor_ns", nullptr},   {"floor_pairs", nullptr}};
    }
    return Json{{"resolution_ns", clock->resolution_ns > 0 ? Json(clock->resolution_ns) : Json(nullptr)},
                {"valid_bits", clock->valid_bits != 0 ? Json(clock->valid_bits) : Json(nullptr)},
                {"calibrated", clock->calibrated},
                {"uncertainty_ns", or_null(clock->uncertainty_ns)},
                {"drift_ppm", or_null(clock->drift_ppm)},
                {"residual_ns", or_null(clock->residual_ns)},
                {"clock_steps", clock->clock_steps},
                {"floor_ns", or_null(clock->floor_ns)},
                {"floor_pairs", clock->floor_pairs}};
}

Json source_json(const Report& report) {
    // The first device that worked speaks for the file; all of them are listed behind it.
    const DeviceInfo* first = report.devices.empty() ? nullptr : &report.devices.front();
    for (const DeviceInfo& device : report.devices) {
        if (!report.device_figures.empty() && device.id == report.device_figures.front().id) first = &device;
    }
    Json out{{"file", text_or_null(report.file)},
             {"device", first == nullptr ? Json(nullptr) : text_or_null(first->name)},
             {"driver", first == nullptr ? Json(nullptr) : text_or_null(first->driver)},
             {"clock", clock_json(first == nullptr ? nullptr : &first->clock)}};
    out["devices"] = Json::array();
    for (const DeviceInfo& device : report.devices) {
        Json entry{{"id", device.id},
                   {"api", text_or_null(device.api)},
                   {"device", text_or_null(device.name)},
                   {"driver", text_or_null(device.driver)},
                   {"uuid", text_or_null(device.uuid)},
                   {"clock", clock_json(&device.clock)},
                   {"spans", 0},
                   {"busy_ns", nullptr}};
        for (const DeviceFigures& figures : report.device_figures) {
            if (figures.id != device.id) continue;
            entry["spans"] = figures.spans;
            entry["busy_ns"] = figures.busy_ns;
        }
        out["devices"].push_back(std::move(entry));
    }
    out["process"] =
        Json{{"pid", report.process.pid != 0 ? Json(report.process.pid) : Json(nullptr)},
             {"command", text_or_null(report.process.command)},
             {"lapwing_version", text_or_null(report.process.lapwing_version)},
             {"level", text_or_null(report.process.level)},
             {"every", report.process.every},
             {"step", text_or_null(report.process.step)},
             {"skip", report.process.skip},
             {"duration_ns", report.process.duration_ns != 0 ? Json(report.process.duration_ns) : Json(nullptr)}};
    out["other_pids"] = Json::array();
    for (const ProcessInfo& other : report.other_processes) out["other_pids"].push_back(other.pid);
    out["torn_at"] = report.source.torn ? Json(report.source.torn_at) : Json(nullptr);
    return out;
}

Json distribution_json(const Distribution& values) {
    const bool any = values.count != 0;
    const auto known = [any](int64_t value) { return any ? Json(value) : Json(nullptr); };
    return Json{{"count", values.count},
                {"total_ns", values.total_ns},
                {"mean_ns", any ? Json(values.mean_ns()) : Json(nullptr)},
                {"min_ns", known(values.min_ns)},
                {"p50_ns", known(values.p50_ns)},
                {"p90_ns", known(values.p90_ns)},
                {"p99_ns", known(values.p99_ns)},
                {"max_ns", known(values.max_ns)}};
}

Json lost_json(const Report& report) {
    if (!report.has_stats) return Json{{"total", nullptr}, {"by_reason", nullptr}};
    Json by_reason = Json::object();
    for (std::size_t i = 0; i < kLossReasonCount; ++i) {
        if (report.stats.lost.by_reason[i] == 0) continue;
        by_reason[to_text(static_cast<LossReason>(i))] = report.stats.lost.by_reason[i];
    }
    return Json{{"total", report.stats.lost.total()}, {"by_reason", std::move(by_reason)}};
}

Json steps_json(const StepSummary& steps) {
    return Json{{"count", steps.count},
                {"with_warmup", steps.with_warmup},
                {"not_armed", steps.not_armed},
                {"cut", steps.cut},
                {"untimed", steps.untimed},
                {"incomplete", steps.incomplete},
                {"missing_dispatches", steps.missing_dispatches},
                {"dispatches", steps.dispatches},
                {"untimed_dispatches", steps.untimed_dispatches},
                {"gpu", distribution_json(steps.gpu_ns)},
                {"wall", distribution_json(steps.wall_ns)},
                {"gpu_share", or_null(steps.gpu_share)},
                {"all_wall", distribution_json(steps.all_wall_ns)}};
}

Json scaled_json(const ScaledTotal& scaled) {
    return Json{{"total_ns", scaled.total_ns}, {"error_ns", or_null(scaled.error_ns)}};
}

Json sampling_json(const Report& report) {
    if (!report.sampling) return nullptr;
    return Json{{"steps", report.sampling->steps},
                {"timed", report.sampling->timed},
                {"gpu", scaled_json(report.sampling->gpu)}};
}

Json budget_json(const Report& report) {
    const RecordingStats& stats = report.stats;
    if (stats.budget_ppm == 0) return nullptr;
    const auto share =
        stats.budget_share_ppm ? Json(static_cast<double>(*stats.budget_share_ppm) / 1e6) : Json(nullptr);
    return Json{{"limit", stats.budget_ppm / 1e6},
                {"share", share},
                {"timed_step_ns", or_null(stats.armed_step_ns)},
                {"stride", stats.stride},
                {"changes", stats.stride_changes}};
}

Json roofline_json(const RooflineFigures& figures) {
    return Json{{"executions", figures.executions},
                {"total_ns", figures.total_ns},
                {"gflops", or_null(figures.gflops)},
                {"gb_s", or_null(figures.gb_s)},
                {"intensity", or_null(figures.intensity)},
                {"share", or_null(figures.share)},
                {"compute_share", or_null(figures.compute_share)},
                {"memory_share", or_null(figures.memory_share)},
                {"bound", figures.bound == Bound::kUnknown ? Json(nullptr) : Json(to_text(figures.bound))},
                {"model_error", figures.model_error}};
}

// What the shares are of; only where peaks were asked for.
Json peaks_json(const Report& report) {
    Json devices = Json::array();
    for (const AppliedPeaks& applied : report.peaks)
        devices.push_back(Json{{"id", applied.device},
                               {"device", applied.peaks.device},
                               {"origin", text_or_null(applied.peaks.origin)},
                               {"flops", or_null(applied.peaks.flops(*report.arithmetic))},
                               {"bytes_per_s", or_null(applied.peaks.bytes_per_s)},
                               {"launch_ns", or_null(applied.peaks.launch_ns)}});
    return Json{{"arithmetic", to_text(*report.arithmetic)}, {"devices", std::move(devices)}};
}

Json row_json(const Report& report, const ReportRow& row) {
    Json out{{"name", row.name}, {"kind", row.kind}};
    out.update(distribution_json(row.spans));
    out["share"] = or_null(detail::known_share(report, row));
    out["per_step_ns"] = or_null(row.per_step_ns);
    out["per_step_count"] = or_null(row.per_step_count);
    out["estimated"] = row.estimated_count;
    out["below_floor"] = row.below_floor;
    out["scaled"] = row.scaled ? scaled_json(*row.scaled) : Json(nullptr);
    out["warmup"] = Json{{"spans", row.warmup_count}, {"total_ns", row.warmup_ns}};
    if (row.step) {
        const StepFigures& step = *row.step;
        out["step"] = Json{{"finished", step.finished},
                           {"armed", step.finished ? Json(step.armed) : Json(nullptr)},
                           {"cut", step.cut},
                           {"gpu_ns", or_null(detail::known_gpu_ns(step))},
                           {"wall_ns", step.finished ? Json(step.wall_ns) : Json(nullptr)},
                           {"dispatches", step.finished ? Json(step.dispatches) : Json(nullptr)}};
    }
    if (row.roofline) out["roofline"] = roofline_json(*row.roofline);
    return out;
}

}    // namespace

std::string to_json(const Report& report, std::size_t top) {
    const detail::RowSelection selection = detail::select_rows(report, top);
    const bool stats = report.has_stats;
    Json out{{"schema", "lapwing.report/1"}, {"by", to_text(report.by)}};
    out["source"] = source_json(report);
    out["window_ns"] = or_null(detail::known_window_ns(report));
    out["busy_ns"] = or_null(detail::known_busy_ns(report));
    out["idle_ns"] = or_null(detail::known_idle_ns(report));
    out["coverage"] =
        Json{{"of_busy", or_null(report.coverage_of_busy)}, {"of_wall", or_null(report.coverage_of_wall)}};
    out["begun"] = stats ? Json(report.begun()) : Json(nullptr);
    out["spans"] = report.spans;
    out["estimated"] = report.estimated;
    out["lost"] = lost_json(report);
    out["left_out"] = stats ? Json(report.stats.left_out) : Json(nullptr);
    out["unaccounted"] = stats ? Json(report.unaccounted()) : Json(nullptr);
    out["final"] = stats && report.stats.final;
    out["write_error"] = stats && report.stats.write_error != 0
                             ? Json(std::generic_category().message(static_cast<int>(report.stats.write_error)))
                             : Json(nullptr);
    out["warmup"] = Json{{"spans", report.warmup_spans}, {"total_ns", report.warmup_ns}};
    out["own_cost"] = Json{{"host_ns_per_span", or_null(detail::host_ns_per_span(report))},
                           {"stamps", stats ? Json(report.stats.stamps) : Json(nullptr)},
                           {"wall_share", or_null(detail::own_wall_share(report))},
                           {"host_ns", or_null(report.stats.hook_ns)},
                           {"start_ns", or_null(report.stats.start_ns)},
                           {"result_reads", stats ? Json(report.stats.result_reads) : Json(nullptr)},
                           {"own_submits", stats ? Json(report.stats.own_submits) : Json(nullptr)},
                           {"faults", stats ? Json(report.stats.faults) : Json(nullptr)}};
    out["executed_dispatches"] = stats ? Json(report.stats.executed_dispatches) : Json(nullptr);
    out["host"] = Json{{"spans", report.host_spans}};
    out["steps"] = steps_json(report.steps);
    out["sampling"] = sampling_json(report);
    out["budget"] = budget_json(report);
    out["percentiles"] = "exact";
    out["floor_subtracted"] = report.floor == FloorTime::kSubtracted;
    out["total_ns"] = report.total_ns;
    if (report.arithmetic) out["peaks"] = peaks_json(report);
    out["rows"] = Json::array();
    for (const ReportRow* row : selection.rows) out["rows"].push_back(row_json(report, *row));
    out["rows_left_out"] = Json{{"count", selection.left_out}, {"total_ns", selection.left_out_ns}};
    out["notes"] = Json::array();
    for (const ReportNote& note : notes_of(report))
        out["notes"].push_back(Json{{"warning", note.warning}, {"text", note.text}});
    // Names come from programs and drivers: bytes that are not UTF-8 become U+FFFD instead of an exception.
    return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}    // namespace lapwing
