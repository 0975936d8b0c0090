// lapwing report: where the GPU time of a recording went.
#include "lapwing/report.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "commands.hpp"
#include "lapwing/peaks_file.hpp"
#include "lapwing/perfetto.hpp"

namespace lapwing::cli {
namespace {

constexpr int64_t kDefaultTop = 20;
constexpr int64_t kDefaultWidth = 120;
constexpr int64_t kMaxTop = 1'000'000'000;
constexpr int64_t kMinWidth = 60;
constexpr int64_t kMaxWidth = 1000;

struct ReportOptions {
    std::string file;
    std::string by;
    std::string format = "text";
    std::string peaks;
    std::string arithmetic = "f32";
    std::optional<int64_t> top;    // signed, because CLI11 takes "-1" for an unsigned option as 2^64 - 1
    std::optional<int64_t> width;
    bool subtract_floor = false;
};

// The terminal's own width where there is one, so that no line wraps.
int64_t output_width() {
    winsize size{};
    if (::isatty(STDOUT_FILENO) == 0 || ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
        return kDefaultWidth;
    return size.ws_col < kMinWidth ? kMinWidth : size.ws_col;
}

// https://no-color.org: any value but the empty one turns colour off.
bool wants_colour() {
    const char* no_colour = std::getenv("NO_COLOR");
    const char* terminal = std::getenv("TERM");
    if (no_colour != nullptr && *no_colour != '\0') return false;
    return ::isatty(STDOUT_FILENO) != 0 && terminal != nullptr && std::strcmp(terminal, "dumb") != 0;
}

std::string render(const Report& report, const ReportOptions& options) {
    const bool text = options.format == "text";
    const auto top = static_cast<std::size_t>(options.top.value_or(text ? kDefaultTop : 0));
    if (options.format == "json") return to_json(report, top);
    if (options.format == "csv") return to_csv(report, top);
    if (options.format == "md") return to_markdown(report, top);
    const auto width = static_cast<std::size_t>(options.width ? *options.width : output_width());
    return to_text(report, TextOptions{.top = top, .width = width, .colour = wants_colour()});
}

/// A sentence about the first option whose value is out of its range.
std::optional<std::string> find_bad_option(const ReportOptions& options) {
    const std::string& format = options.format;
    if (format != "text" && format != "json" && format != "csv" && format != "md")
        return "--format '" + format + "' is not one of: text, json, csv, md";
    if (options.top && (*options.top < 0 || *options.top > kMaxTop))
        return "--top " + std::to_string(*options.top) + " is not from 0 (all rows) to " + std::to_string(kMaxTop);
    if (options.width && (*options.width < kMinWidth || *options.width > kMaxWidth))
        return "--width " + std::to_string(*options.width) + " is not from " + std::to_string(kMinWidth) + " to " +
               std::to_string(kMaxWidth);
    return std::nullopt;
}

int run_report(const ReportOptions& options) {
    if (const std::optional<std::string> bad = find_bad_option(options)) return fail(kBadUse, *bad);
    std::optional<GroupBy> by;
    if (!options.by.empty()) {
        const Result<GroupBy> parsed = parse_group_by(options.by);
        if (!parsed) return fail(kBadUse, "--by: " + parsed.error().message);
        by = parsed.value();
    }
    const Result<Arithmetic> arithmetic = parse_arithmetic(options.arithmetic);
    if (!arithmetic) return fail(kBadUse, "--arithmetic: " + arithmetic.error().message);
    MachinePeaks peaks;
    if (!options.peaks.empty()) {
        Result<MachinePeaks> given = read_peaks(options.peaks);
        if (!given) return fail(kBadUse, given.error().message);
        peaks = std::move(*given);
    }
    const std::unique_ptr<ReportBuilder> builder = make_report_builder();
    const Result<ReadSummary> read = read_recording(options.file, *builder);
    if (!read) return fail(kBadUse, read.error().message);

    Report report = builder->build(by, options.subtract_floor ? FloorTime::kSubtracted : FloorTime::kKept);
    report.file = options.file;
    report.source = SourceState{.torn = read.value().torn,
                                .torn_at = read.value().torn_at,
                                .unclosed = read.value().unclosed,
                                .unknown_sites = read.value().unknown_sites};
    if (!options.peaks.empty()) apply_peaks(report, peaks, *arithmetic);
    return print(render(report, options), "the report");
}

}    // namespace

void add_report_command(CLI::App& app, int& exit_code) {
    auto options = std::make_shared<ReportOptions>();
    CLI::App* command = app.add_subcommand("report", "Show where the GPU time of a recording went");
    command->add_option("file", options->file, "The recording, as written by lapwing run")
        ->required()
        ->type_name("FILE");
    command
        ->add_option("--by", options->by,
                     "Rows: op, kernel, layer, step, queue or name (default: op where ops are named,\n"
                     "else kernel, else lane, else name). queue and name show host spans too.\n"
                     "Of programs that are marked: brick, category, family, phase, lane")
        ->type_name("HOW");
    command
        ->add_option("--top", options->top,
                     "The N largest rows, the others in one (text: default 20; other formats: all; 0: all)")
        ->type_name("N");
    command->add_flag("--subtract-floor", options->subtract_floor,
                      "Take off every device span what an empty pair of stamps reads on its device, where measured");
    command->add_option("--format", options->format, "text (default), json, csv or md")->type_name("FORMAT");
    command
        ->add_option("--peaks", options->peaks,
                     "Shares of what the devices can do at best, for work whose FLOPs and bytes the program states;\n"
                     "FILE as written by: lapwing bench --peaks --format json")
        ->type_name("FILE");
    command->add_option("--arithmetic", options->arithmetic, "Whose peak that is: f32 (default), f16 or int8")
        ->type_name("TYPE");
    command
        ->add_option("--width", options->width, "Columns of the text, 60 to 1000 (default: the terminal's, else 120)")
        ->type_name("N");
    command->callback([options, &exit_code] { exit_code = run_report(*options); });
}

}    // namespace lapwing::cli
