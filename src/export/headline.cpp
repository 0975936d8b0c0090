#include "export/headline.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "export/figures.hpp"
#include "export/known.hpp"
#include "export/names.hpp"

namespace lapwing::detail {
namespace {

std::string over_devices(const Report& report) {
    return report.gpus > 1 ? fmt::format(", summed over {} devices", report.gpus) : std::string{};
}

std::string steps_apart(const StepSummary& steps) {
    std::string out;
    const auto add = [&](uint64_t count, const char* what) {
        if (count != 0) out += fmt::format("{}{} more {}", out.empty() ? "" : ", ", count, what);
    };
    add(steps.with_warmup, "with warm-up");
    add(steps.not_armed, "not armed");
    add(steps.cut, "cut off");
    add(steps.untimed, "without a valid time");
    return out.empty() ? out : " (" + out + ")";
}

LabelledLine gpu_line(const Report& report) {
    const StepSummary& steps = report.steps;
    if (steps.gpu_ns.count != 0) {
        return {"GPU time per step:",
                fmt::format("p50 {}, p99 {} over {}{}{}", duration_text(steps.gpu_ns.p50_ns),
                            duration_text(steps.gpu_ns.p99_ns), counted(steps.gpu_ns.count, "step", "steps"),
                            steps_apart(steps), over_devices(report))};
    }
    if (report.device_figures.empty()) return {"GPU time:", "unknown: no device span in this recording has a time"};
    const char* why = steps.count == 0 ? "no step finished" : "no step to be counted";
    return {"GPU time:",
            fmt::format("{} in {} ({}{})", duration_text(report.busy_ns),
                        counted(report.spans + report.estimated, "span", "spans"), why, steps_apart(steps))};
}

// Launches and wall time of steps, where no step has a GPU time.
void add_step_lines(const Report& report, std::vector<LabelledLine>& lines) {
    const StepSummary& steps = report.steps;
    lines.push_back(
        {"Steps:", fmt::format("{}, {} executed in them, {} a step", counted(steps.count, "step", "steps"),
                               counted(steps.dispatches, "dispatch", "dispatches"),
                               ratio_text(static_cast<double>(steps.dispatches) / static_cast<double>(steps.count)))});
    lines.push_back({"Wall per step:", fmt::format("p50 {}, p99 {}", duration_text(steps.all_wall_ns.p50_ns),
                                                   duration_text(steps.all_wall_ns.p99_ns))});
}

LabelledLine sampling_line(const Report& report) {
    const SamplingSummary& sampling = *report.sampling;
    std::string text = fmt::format("GPU time of all {} about {}", counted(sampling.steps, "step", "steps"),
                                   duration_text(sampling.gpu.total_ns));
    if (sampling.gpu.error_ns) text += fmt::format(" +- {} (95 %)", duration_text(*sampling.gpu.error_ns));
    return {"Scaled up:",
            text + fmt::format(", from {} that {} timed", sampling.timed, sampling.timed == 1 ? "was" : "were")};
}

std::string share_of_ppm(double ppm) {
    return percent_text(ppm / 1e6);
}

std::string budget_text(const RecordingStats& stats) {
    std::string out = fmt::format("{} of wall; ", share_of_ppm(stats.budget_ppm));
    if (stats.budget_share_ppm)
        out += fmt::format("own cost came to {}", share_of_ppm(static_cast<double>(*stats.budget_share_ppm)));
    else
        out += "own cost unknown: too few steps";
    if (stats.armed_step_ns)
        out +=
            fmt::format(" (a timed step takes {} longer)", duration_text(std::max<int64_t>(*stats.armed_step_ns, 0)));
    out += fmt::format("; one step in {} timed at the end, changed {}", stats.stride,
                       counted(stats.stride_changes, "time", "times"));
    return out;
}

LabelledLine wall_line(const Report& report) {
    const StepSummary& steps = report.steps;
    std::string text =
        fmt::format("p50 {}, p99 {}", duration_text(steps.wall_ns.p50_ns), duration_text(steps.wall_ns.p99_ns));
    if (steps.gpu_share) text += fmt::format("; the GPU works {} of it", percent_text(*steps.gpu_share));
    return {"Wall per step:", text};
}

// Spans without a time may have kept the device busy where the union shows a gap.
bool busy_is_lower_bound(const Report& report) {
    return !report.has_stats || report.stats.lost.total() != 0 || report.unaccounted() != 0 ||
           report.steps.not_armed != 0 || report.steps.cut != 0 || report.steps.missing_dispatches != 0 ||
           report.refused != 0;
}

LabelledLine busy_line(const Report& report) {
    const std::optional<int64_t> idle_ns = known_idle_ns(report);
    if (!idle_ns || !report.coverage_of_wall) {
        return {"Device busy:", fmt::format("{} (union of device spans); idle unknown: the window is empty",
                                            duration_text(report.busy_ns))};
    }
    const bool bound = busy_is_lower_bound(report);
    std::string capacity = fmt::format("{} window", duration_text(report.window_ns));
    if (report.gpus != 1) capacity += fmt::format(" x {} devices", report.gpus);
    const double share = *report.coverage_of_wall;
    return {"Device busy:", fmt::format("{}{} = {} of the {}; idle {}{} = {}", bound ? "at least " : "",
                                        duration_text(report.busy_ns), percent_text(share), capacity,
                                        bound ? "at most " : "", duration_text(*idle_ns), percent_text(1 - share))};
}

LabelledLine formula_line(const Report& report) {
    return {"",
            report.gpus == 1
                ? "(busy = union of device spans; idle = window - busy; window = first to last moment recorded)"
                : "(busy = union of device spans, summed over devices; idle = window x devices - busy; window = first "
                  "to last moment recorded)"};
}

std::optional<LabelledLine> top_line(const Report& report) {
    const bool ordered = report.by == GroupBy::kStep || report.by == GroupBy::kLayer;
    if (report.total_ns <= 0 || ordered || report.rows.empty()) return std::nullopt;
    std::vector<std::string> names;
    for (std::size_t i = 0; i < std::min<std::size_t>(report.rows.size(), 4); ++i) names.push_back(report.rows[i].name);
    const std::vector<std::string> short_names = fit_names(names, 28);
    std::string text;
    for (std::size_t i = 0; i < short_names.size(); ++i) {
        if (i != 0) text += ", ";
        // Host and device rows may have one name.
        const bool doubled = std::count(names.begin(), names.end(), names[i]) > 1;
        text += fmt::format("{}{} {} %", short_names[i], doubled ? " (" + report.rows[i].kind + ")" : "",
                            percent_cell(report.rows[i].share));
    }
    const std::string what = to_text(report.by);
    const std::string many = what.back() == 'y' ? what.substr(0, what.size() - 1) + "ies" : what + "s";
    return LabelledLine{fmt::format("Top {}:", many), text};
}

std::string clock_text(const ClockInfo& clock) {
    std::string out = clock.resolution_ns > 0 ? fmt::format("{:.6g} ns a tick", clock.resolution_ns)
                                              : std::string{"resolution unknown"};
    out += clock.valid_bits != 0 ? fmt::format(", {} valid bits", clock.valid_bits) : ", valid bits unknown";
    if (clock.floor_ns) out += fmt::format(", an empty pair of stamps reads {}", duration_text(*clock.floor_ns));
    if (!clock.uncertainty_ns) {
        return out + (clock.calibrated ? ", calibrated by the driver, but not aligned to the host clock"
                                       : ", not aligned to the host clock");
    }
    out += fmt::format(", {}, +-{} to the host clock",
                       clock.calibrated ? "calibrated by the driver" : "aligned by brackets around submits",
                       duration_text(*clock.uncertainty_ns));
    if (clock.drift_ppm) out += fmt::format(", drift {:+.2f} ppm", *clock.drift_ppm);
    if (clock.drift_ppm && clock.residual_ns) out += fmt::format(" (residual {})", duration_text(*clock.residual_ns));
    if (clock.clock_steps > 0)
        out += fmt::format(", {} clock step{}", clock.clock_steps, clock.clock_steps == 1 ? "" : "s");
    return out;
}

void add_devices(const Report& report, std::vector<LabelledLine>& lines) {
    const bool several = report.devices.size() > 1;
    for (const DeviceInfo& device : report.devices) {
        const std::string number = several ? fmt::format(" {}", device.id) : "";
        std::string text = printable(device.name.empty() ? "unnamed" : device.name);
        if (!device.api.empty()) text += ", " + printable(device.api);
        if (!device.driver.empty()) text += ", driver " + printable(device.driver);
        if (several) {
            const auto figures = std::find_if(report.device_figures.begin(), report.device_figures.end(),
                                              [&](const DeviceFigures& entry) { return entry.id == device.id; });
            text += figures == report.device_figures.end()
                        ? "; no span"
                        : fmt::format("; {}, busy {}", counted(figures->spans, "span", "spans"),
                                      duration_text(figures->busy_ns));
        }
        lines.push_back({"device" + number, text});
        lines.push_back({"clock" + number, clock_text(device.clock)});
    }
}

std::string cost_text(const Report& report) {
    const RecordingStats& stats = report.stats;
    const std::optional<double> per_span = host_ns_per_span(report);
    const std::optional<double> share = own_wall_share(report);
    std::string out = per_span        ? fmt::format("{} of host time a span", duration_text(*per_span))
                      : stats.hook_ns ? fmt::format("{} of host time", duration_text(*stats.hook_ns))
                                      : "host time not metered";
    if (report.steps.count != 0 && stats.left_out == 0)
        out += fmt::format(", {} stamps a step",
                           ratio_text(static_cast<double>(stats.stamps) / static_cast<double>(report.steps.count)));
    else
        out += fmt::format(", {}", counted(stats.stamps, "stamp", "stamps"));
    if (share) out += fmt::format(", {} of wall", percent_text(*share));
    return out;
}

}    // namespace

std::string accounting(const Report& report) {
    if (!report.has_stats) {
        return fmt::format("begun unknown = measured {} + estimated {} + lost unknown", report.spans, report.estimated);
    }
    const LossCounts& lost = report.stats.lost;
    std::string reasons;
    for (std::size_t i = 0; i < kLossReasonCount; ++i) {
        if (lost.by_reason[i] == 0) continue;
        reasons += fmt::format("{}{} {}", reasons.empty() ? " (" : ", ", to_text(static_cast<LossReason>(i)),
                               lost.by_reason[i]);
    }
    if (!reasons.empty()) reasons += ")";
    std::string out = fmt::format("begun {} = measured {} + estimated {} + lost {}{}", report.begun(), report.spans,
                                  report.estimated, lost.total(), reasons);
    if (report.stats.left_out != 0) out += fmt::format(" + dropped with older parts {}", report.stats.left_out);
    if (report.unaccounted() != 0) out += fmt::format("; unaccounted {}", report.unaccounted());
    return out;
}

std::vector<LabelledLine> headline(const Report& report) {
    std::vector<LabelledLine> lines{gpu_line(report)};
    if (report.steps.wall_ns.count != 0)
        lines.push_back(wall_line(report));
    else if (report.steps.count != 0)
        add_step_lines(report, lines);
    if (report.sampling) lines.push_back(sampling_line(report));
    if (!report.device_figures.empty()) {
        lines.push_back(busy_line(report));
        lines.push_back(formula_line(report));
    }
    if (const std::optional<LabelledLine> top = top_line(report)) lines.push_back(*top);
    return lines;
}

std::vector<LabelledLine> particulars(const Report& report) {
    std::vector<LabelledLine> lines;
    add_devices(report, lines);
    lines.push_back({"spans", accounting(report)});
    if (report.warmup_spans != 0) {
        const std::string of_busy =
            report.busy_ns > 0
                ? fmt::format(", {} of all device time", percent_text(static_cast<double>(report.warmup_ns) /
                                                                      static_cast<double>(report.device_total_ns)))
                : "";
        lines.push_back({"warm-up", fmt::format("{} took {}{}: compilation may be in them, so the rows leave them out",
                                                counted(report.warmup_spans, "first use", "first uses"),
                                                duration_text(report.warmup_ns), of_busy)});
    }
    if (report.coverage_of_wall) {
        const std::string of_busy = report.coverage_of_busy
                                        ? fmt::format("{} of device busy time", percent_text(*report.coverage_of_busy))
                                        : "of device busy time unknown (no submit-level stamps)";
        const char* bound = report.steps.not_armed != 0 ? "at least " : "";
        lines.push_back(
            {"coverage", fmt::format("{}{} of wall; {}", bound, percent_text(*report.coverage_of_wall), of_busy)});
    }
    if (report.has_stats) lines.push_back({"own cost", cost_text(report)});
    if (report.stats.budget_ppm != 0) lines.push_back({"budget", budget_text(report.stats)});
    return lines;
}

}    // namespace lapwing::detail
