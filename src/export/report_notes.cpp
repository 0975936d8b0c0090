#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "export/figures.hpp"
#include "export/roofline_text.hpp"
#include "export/untimed.hpp"
#include "lapwing/report.hpp"

namespace lapwing {
namespace {

using detail::counted;
using detail::duration_text;
using detail::percent_text;

// Shorter than this many ticks, a duration is mostly the clock's own step.
constexpr double kCoarseTicks = 10;
// Below this share of the spans begun, the accounting line alone says what was lost.
constexpr double kNotableLoss = 0.01;

const char* remedy(LossReason reason) {
    switch (reason) {
        case LossReason::kRingFull:
            return "too many spans were in flight or waiting for the writer: time fewer steps (--every N)";
        case LossReason::kCapture:
            return "work captured into a graph takes no stamps of its own";
        case LossReason::kAbandoned:
            return "their command buffers were never submitted, or their results had not come when the program ended";
        case LossReason::kZeroStamp:
            return "the driver delivered no time for them";
        case LossReason::kReversed:
            return "the driver delivered ends before begins";
        case LossReason::kStale:
            return "the driver delivered results of earlier work";
        case LossReason::kImplausible:
            return "the driver delivered times that cannot be";
        case LossReason::kDeviceLost:
            return "the device was lost before their results came";
        case LossReason::kUnsupported:
            return "their queue has no timestamps (see lapwing devices), or work of their kind is not timed";
        case LossReason::kUnreliableDriver:
            return "this driver is known to report wrong times for such work";
        case LossReason::kOverwritten:
            return "their command buffers were submitted again before the results could be read";
        case LossReason::kDriverError:
            return "the driver refused the stamps or their results";
        case LossReason::kUnwritten:
            return "the recording could not be written: free some space, or record less (--every N, --last T, "
                   "--compress)";
    }
    return "";
}

class Notes {
public:
    void warn(std::string text) { notes_.push_back({true, std::move(text)}); }
    void tell(std::string text) { notes_.push_back({false, std::move(text)}); }
    // Warnings first: they decide whether the rest is worth reading.
    std::vector<ReportNote> take() {
        std::stable_partition(notes_.begin(), notes_.end(), [](const ReportNote& note) { return note.warning; });
        return std::move(notes_);
    }

private:
    std::vector<ReportNote> notes_;
};

// Whether a recording of this level has device spans. One that does not say its level may have.
bool times_work(const std::string& level) {
    return level != "off" && level != "basic";
}

void note_file(const Report& report, Notes& notes) {
    const SourceState& source = report.source;
    if (source.torn) {
        notes.warn(
            fmt::format("the file ends inside a packet at byte {} (it was cut off, or is still being written); "
                        "everything before it is in this report",
                        source.torn_at));
    }
    if (report.has_stats && report.stats.write_error != 0) {
        notes.warn(
            fmt::format("the recording could not be written any more before the program ended ({}): what came "
                        "after that is missing",
                        std::generic_category().message(static_cast<int>(report.stats.write_error))));
    } else if (!report.has_stats) {
        notes.warn("recording ended without any count of spans begun and lost: what is missing here is unknown");
    } else if (!report.stats.final) {
        notes.warn(
            "recording ended without a final count (the program was killed, or is still running): losses are those "
            "known at the last count before the end");
    }
    if (report.unaccounted() != 0) {
        notes.warn(
            fmt::format("{} begun {} neither in the recording nor counted as lost{}",
                        counted(report.unaccounted(), "span", "spans"), report.unaccounted() == 1 ? "is" : "are",
                        report.stats.final && !source.torn
                            ? ", although the recording is complete: this is a fault of Lapwing, please report it"
                            : ": they were in flight at the end, or in the part that is missing"));
    }
    if (report.has_stats && report.stats.final && report.begun() > report.stats.begun) {
        notes.warn(
            fmt::format("the recording holds {} more than it says were begun ({}): it was changed after it was "
                        "written, or this is a fault of Lapwing",
                        counted(report.begun() - report.stats.begun, "span", "spans"), report.stats.begun));
    }
    if (report.has_stats && report.stats.left_out != 0)
        notes.tell(
            fmt::format("{} in older parts of the recording, which are not in this report: dropped by --last or "
                        "--keep, or files of their own",
                        counted(report.stats.left_out, "span is", "spans are")));
    if (source.unclosed != 0)
        notes.warn(fmt::format("{} in the file never ended and {} left out",
                               counted(source.unclosed, "slice", "slices"), source.unclosed == 1 ? "is" : "are"));
    if (source.unknown_sites != 0)
        notes.warn(fmt::format("{} of a site that the file does not describe",
                               counted(source.unknown_sites, "span is", "spans are")));
    if (report.refused != 0)
        notes.warn(fmt::format("{} with impossible times (an end before the begin, or beyond the clock) {} left out",
                               counted(report.refused, "span or step", "spans or steps"),
                               report.refused == 1 ? "is" : "are"));
}

void note_losses(const Report& report, Notes& notes) {
    if (!report.has_stats) return;
    const RecordingStats& stats = report.stats;
    const uint64_t lost = stats.lost.total();
    const uint64_t begun = std::max(report.begun(), stats.begun);
    if (begun != 0 && static_cast<double>(lost) > kNotableLoss * static_cast<double>(begun)) {
        const auto most = std::max_element(stats.lost.by_reason.begin(), stats.lost.by_reason.end());
        const auto reason = static_cast<LossReason>(most - stats.lost.by_reason.begin());
        notes.warn(fmt::format("{} of the spans begun are lost, most as {}: {}",
                               percent_text(static_cast<double>(lost) / static_cast<double>(begun)), to_text(reason),
                               remedy(reason)));
    }
    if (stats.faults != 0)
        notes.warn(
            fmt::format("Lapwing let {} of the program through untouched after a fault of its own: please report it",
                        counted(stats.faults, "call", "calls")));
    if (stats.names_dropped != 0)
        notes.warn(fmt::format("{} folded into \"other\": the table of names was full",
                               counted(stats.names_dropped, "site is", "sites are")));
}

void note_steps(const Report& report, Notes& notes) {
    const StepSummary& steps = report.steps;
    if (steps.cut != 0)
        notes.tell(fmt::format("{} cut off where the recording {}, and left out of the figures of steps",
                               counted(steps.cut, "step is", "steps are"),
                               report.stats.left_out != 0 ? "begins or breaks off" : "breaks off"));
    if (steps.incomplete != 0)
        notes.warn(fmt::format("{} of {} {} {} in all, so their GPU time is a lower bound", steps.incomplete,
                               counted(steps.gpu_ns.count, "step", "steps"), steps.incomplete == 1 ? "lacks" : "lack",
                               counted(steps.missing_dispatches, "dispatch", "dispatches")));
    if (steps.untimed_dispatches != 0)
        notes.tell(
            fmt::format("{} in armed steps came from command buffers recorded while timing was off: they carry "
                        "no stamps until they are recorded again",
                        counted(steps.untimed_dispatches, "launch", "launches")));
    const bool lanes = report.process.level == "lane";
    const char* const what = lanes ? "steps were" : "kernels were";
    if (lanes)
        notes.tell(
            "kernels were not timed: a span of level lane goes from a step's first command to its last on a queue, "
            "with "
            "the pauses between its submits, so GPU and busy times here are upper bounds; --level kernel times each "
            "kernel");
    if (report.sampling)
        notes.tell(
            fmt::format("{} timed in {} of {} steps: counts and totals are those of the timed steps, \"all "
                        "steps\" is scaled up from them, and idle time includes the work of the others",
                        what, report.sampling->timed, report.sampling->steps));
    else if (report.process.every > 1 && times_work(report.process.level))
        notes.tell(
            fmt::format("{} timed in one step of {}: rows hold those steps alone, and idle time includes "
                        "the work of all others",
                        what, report.process.every));
    if (const auto untimed = detail::why_no_step_was_timed(report.process, report.stats, steps.count))
        notes.warn(*untimed);
    const RecordingStats& stats = report.stats;
    if (stats.budget_share_ppm && *stats.budget_share_ppm > int64_t{stats.budget_ppm})
        notes.warn(fmt::format(
            "the budget was not held: Lapwing's own cost came to {} of wall, {} were allowed; with "
            "--level basic nothing is stamped",
            percent_text(static_cast<double>(*stats.budget_share_ppm) / 1e6), percent_text(stats.budget_ppm / 1e6)));
    if (steps.count != 0 && report.outside_steps != 0)
        notes.tell(
            fmt::format("{} to no finished step (work after the last moment at which the program saw all of it "
                        "complete)",
                        counted(report.outside_steps, "span belongs", "spans belong")));
}

void note_floor(const Report& report, Notes& notes) {
    uint64_t below = 0;
    for (const ReportRow& row : report.rows) below += row.below_floor;
    const bool measured = std::any_of(report.devices.begin(), report.devices.end(),
                                      [](const DeviceInfo& device) { return device.clock.floor_ns.has_value(); });
    const bool subtracted = report.floor == FloorTime::kSubtracted;
    if (subtracted && !measured)
        notes.warn("nothing was subtracted: this recording does not say what an empty pair of stamps reads");
    if (subtracted && measured)
        notes.tell(fmt::format(
            "rows are without what an empty pair of stamps reads; {} shorter than that and count as 0; busy "
            "time, steps and the headline are as they were read",
            counted(below, "span was", "spans were")));
    if (!subtracted && below != 0)
        notes.tell(
            fmt::format("{} no more than an empty pair of stamps on its device: what such work takes cannot be told "
                        "from the stamps' own time (--subtract-floor takes that off every span)",
                        counted(below, "span reads", "spans read")));
}

void note_times(const Report& report, Notes& notes) {
    if (report.device_total_ns > report.busy_ns && report.busy_ns > 0) {
        notes.tell(
            fmt::format("spans overlap on the device: they sum to {}, their union (busy) is {}, so sums of rows may "
                        "exceed busy time and wall",
                        duration_text(report.device_total_ns), duration_text(report.busy_ns)));
    }
    const bool hosts_too = std::any_of(report.rows.begin(), report.rows.end(),
                                       [](const ReportRow& row) { return row.kind == to_text(SpanKind::kHost); });
    if (hosts_too) notes.tell("rows hold host spans too: the sum, and shares of it, mix host and device time");
    if (report.ungrouped != 0)
        notes.tell(fmt::format("{} in no row: the program says no {} of {}",
                               counted(report.ungrouped, "device span is", "device spans are"), to_text(report.by),
                               report.ungrouped == 1 ? "it" : "them"));
    if (report.rows.empty() && is_by_mark(report.by))
        notes.warn(fmt::format("no rows: nothing in this recording has a {}; --by op, kernel or name shows what it has",
                               to_text(report.by)));
    note_floor(report, notes);
    if (report.estimated != 0)
        notes.tell(
            fmt::format("{} in the rows", counted(report.estimated, "span is an estimate", "spans are estimates")));
    double coarsest_ns = 0;
    for (const DeviceInfo& device : report.devices) coarsest_ns = std::max(coarsest_ns, device.clock.resolution_ns);
    uint64_t coarse_rows = 0;
    for (const ReportRow& row : report.rows) {
        const bool measured_by_device = row.spans.count != 0 && row.kind != to_text(SpanKind::kHost);
        coarse_rows += measured_by_device && static_cast<double>(row.spans.p50_ns) < kCoarseTicks * coarsest_ns ? 1 : 0;
    }
    if (coarse_rows != 0)
        notes.tell(
            fmt::format("{} a p50 below {} clock ticks of {:.6g} ns: single times there are coarse, means are better",
                        counted(coarse_rows, "row has", "rows have"), kCoarseTicks, coarsest_ns));
}

void note_nothing(const Report& report, Notes& notes) {
    // Where all spans were lost, note_losses() says why.
    if (!report.device_figures.empty() || report.stats.lost.total() != 0) return;
    if (detail::why_no_step_was_timed(report.process, report.stats, report.steps.count)) return;    // note_steps()
    const RecordingStats& stats = report.stats;
    if (!times_work(report.process.level)) {
        notes.warn(
            fmt::format("no device spans: level {} takes no stamps; record with --level kernel", report.process.level));
    } else if (report.has_stats && stats.executed_dispatches != 0) {
        notes.warn(
            fmt::format("no device spans, although {} executed: none of their steps was armed, or the recording was "
                        "cut off before the first results came",
                        counted(stats.executed_dispatches, "dispatch was", "dispatches were")));
    } else if (!report.has_stats) {
        notes.warn(
            "no device spans: the recording ended before the first result came, or the program dispatched nothing");
    } else {
        notes.warn(
            "no device spans: the program dispatched nothing on a GPU that Lapwing can see. llama.cpp silently runs "
            "on the CPU without -ngl 99, and on a machine without a GPU also without GGML_VK_VISIBLE_DEVICES=0");
    }
}

}    // namespace

std::vector<ReportNote> notes_of(const Report& report) {
    Notes notes;
    note_nothing(report, notes);
    note_file(report, notes);
    note_losses(report, notes);
    note_steps(report, notes);
    note_times(report, notes);
    for (ReportNote& note : detail::roofline_notes(report))
        note.warning ? notes.warn(std::move(note.text)) : notes.tell(std::move(note.text));
    return notes.take();
}

}    // namespace lapwing
