// lapwing bench: what Lapwing itself costs on this machine, beside the floors measured in the same run.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cmath>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "bench_figures.hpp"
#include "commands.hpp"
#include "lapwing/clock.hpp"
#include "peaks.hpp"

namespace lapwing::cli {
namespace {

struct Options {
    std::string format = "text";
    std::string folder = "/dev/shm";
    bool quick = false;
    bool peaks = false;
    bool startup_probe = false;
};

std::string number(double value) {
    if (value != 0 && std::abs(value) < 1) return fmt::format("{:.2f}", value);
    return std::abs(value) < 1000 ? fmt::format("{:.1f}", value) : fmt::format("{:.0f}", value);
}

std::string floor_cell(const BenchRow& row) {
    return row.floor_value ? fmt::format("{}, {} {}", row.floor, number(*row.floor_value), row.unit) : row.floor;
}
std::string value_cell(const BenchRow& row) {
    return row.value ? fmt::format("{} {}", number(*row.value), row.unit) : "not measured: " + row.reason;
}
std::string ratio_cell(const BenchRow& row) {
    return row.ratio ? fmt::format("{:.3f}", *row.ratio) : "";
}

std::string to_markdown(const std::vector<BenchRow>& rows) {
    std::string out = "| what | floor in the same run | Lapwing | ratio |\n|---|---|---|---|\n";
    for (const BenchRow& row : rows)
        out += fmt::format("| {} | {} | {} | {} |\n", row.what, floor_cell(row), value_cell(row), ratio_cell(row));
    return out;
}

std::string to_text(const std::vector<BenchRow>& rows) {
    std::size_t what = 4;
    std::size_t value = 7;
    for (const BenchRow& row : rows) {
        what = std::max(what, row.what.size());
        if (row.value) value = std::max(value, value_cell(row).size());
    }
    std::string out = fmt::format("{:<{}}  {:>{}}  {:>7}  {}\n", "what", what, "Lapwing", value, "ratio", "floor");
    for (const BenchRow& row : rows)
        out += fmt::format("{:<{}}  {:>{}}  {:>7}  {}\n", row.what, what, value_cell(row), value, ratio_cell(row),
                           floor_cell(row));
    return out;
}

std::string to_json(const std::vector<BenchRow>& rows, int rounds) {
    using Json = nlohmann::ordered_json;
    const auto or_null = [](const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); };
    Json list = Json::array();
    for (const BenchRow& row : rows)
        list.push_back({{"what", row.what},
                        {"unit", row.unit},
                        {"value", or_null(row.value)},
                        {"ratio", or_null(row.ratio)},
                        {"floor", row.floor.empty() ? Json(nullptr) : Json(row.floor)},
                        {"floor_value", or_null(row.floor_value)},
                        {"reason", row.reason.empty() ? Json(nullptr) : Json(row.reason)}});
    const Json document = {{"schema", "lapwing.bench/1"},
                           {"lapwing_version", LAPWING_VERSION},
                           {"host_clock", lapwing::to_text(host_clock().source)},
                           {"rounds", rounds},
                           {"rows", list}};
    return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

void show_progress(int done, int all) {
    std::fprintf(stderr, "\rmeasuring  round %d of %d%s", done, all, done == all ? "\r\033[K" : "");
    std::fflush(stderr);
}

int run_bench(const Options& options) {
    if (options.startup_probe) return bench_startup_probe();
    if (options.format != "text" && options.format != "json" && options.format != "md")
        return fail(kBadUse, "--format '" + options.format + "' is not one of: text, json, md");
    if (::access(options.folder.c_str(), W_OK | X_OK) != 0)
        return fail(kBadUse, "--folder '" + options.folder + "' is no folder that can be written to; give another");
    BenchEffort effort{.rounds = options.quick ? 3 : 12,
                       .progress = ::isatty(STDERR_FILENO) != 0 ? show_progress : nullptr};
    if (options.peaks) {
        effort.progress = nullptr;
        return run_peaks(effort, options.format);
    }
    std::vector<BenchRow> rows = bench_host(effort);
    for (BenchRow& row : bench_writer(effort, options.folder)) rows.push_back(std::move(row));
    rows.push_back(bench_layer_start(effort, options.folder));
    for (BenchRow& row : bench_devices(effort)) rows.push_back(std::move(row));
    const std::string text = options.format == "json" ? to_json(rows, effort.rounds)
                             : options.format == "md" ? to_markdown(rows)
                                                      : to_text(rows);
    return print(text, "the figures");
}

}    // namespace

void add_bench_command(CLI::App& app, int& exit_code) {
    auto options = std::make_shared<Options>();
    CLI::App* command = app.add_subcommand("bench", "Measure what Lapwing itself costs on this machine");
    command->add_option("--format", options->format, "text (default), json or md: the README's table")
        ->type_name("FORMAT");
    command->add_option("--folder", options->folder, "where recordings are written meanwhile (default /dev/shm)")
        ->type_name("DIR");
    command->add_flag("--peaks", options->peaks,
                      "Measure what this machine's devices can do at best instead: FLOP/s, memory, launches;\n"
                      "the json is what report --peaks and tune --peaks take");
    command->add_flag("--quick", options->quick, "3 rounds instead of 12");
    command->add_flag("--startup-probe", options->startup_probe)->group("");    // what it runs as a child
    command->callback([options, &exit_code] { exit_code = run_bench(*options); });
}

}    // namespace lapwing::cli
