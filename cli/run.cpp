// lapwing run: a program that nobody changed, started with the layer that times its GPU work.
#include <unistd.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "commands.hpp"
#include "export/untimed.hpp"
#include "lapwing/arming.hpp"
#include "lapwing/level.hpp"
#include "lapwing/step_rule.hpp"
#include "run_environment.hpp"
#include "run_file_options.hpp"
#include "run_output.hpp"
#include "run_process.hpp"

namespace lapwing::cli {
namespace {

struct RunOptions {
    std::string level = "kernel";
    std::string step = "sync";
    std::string every = "1";
    std::string skip = "0";
    std::optional<std::string> duration;    ///< absent = to the end
    std::optional<std::string> budget;      ///< absent = none
    std::optional<std::string> output;      ///< absent = named after the program
    FileOptions file;
    std::vector<std::string> command;
};

/// A sentence about the first option whose value is out of its range.
std::optional<std::string> find_bad_option(const RunOptions& options) {
    if (options.command.empty()) return "run needs a program: lapwing run [options] -- CMD ...";
    if (!parse_level(options.level).ok())
        return "--level '" + options.level + "' is not one of: off, basic, lane, kernel";
    if (options.output && options.output->empty()) return "-o '' names no file";
    std::optional<std::string> bad;
    const auto check = [&bad](const char* option, const auto& parsed) {
        if (!bad && !parsed.ok()) bad = option + (" " + parsed.error().message);
    };
    check("--step", parse_step_rule(options.step));
    check("--every", parse_every(options.every));
    check("--skip", parse_skip(options.skip));
    if (options.duration) check("--duration", parse_duration(*options.duration));
    if (options.budget) check("--budget", parse_budget(*options.budget));
    if (!bad && options.budget && options.level == "basic")
        return "--budget bounds what timing costs, and --level basic times nothing: leave it out, or use --level lane "
               "or "
               "kernel";
    return bad ? bad : find_bad_option(options.file);
}

std::vector<std::string> own_environment() {
    std::vector<std::string> out;
    for (char** entry = environ; *entry != nullptr; ++entry) out.emplace_back(*entry);
    return out;
}

// Without statistics something else went wrong, unless the program was killed before the first came.
bool did_nothing(const RecordingTotals& totals, bool killed) {
    return (totals.has_stats || killed) && totals.stats.write_error == 0 && totals.spans == 0 &&
           totals.stats.begun == 0 && totals.stats.executed_dispatches == 0;
}

/// Why a program did nothing on a GPU, as far as it can be told.
std::string why_nothing(const ProgramEnd& end) {
    if (end.signalled) return ", and was ended by signal " + std::to_string(end.number);
    if (std::getenv("GGML_VK_VISIBLE_DEVICES") != nullptr) return "";
    return " (ggml runs on the CPU unless GGML_VK_VISIBLE_DEVICES is set)";
}

bool is_layer_disabled() {
    const char* const disable = std::getenv("LAPWING_VULKAN_LAYER_DISABLE");
    return disable != nullptr && *disable != '\0';
}

/// The one line at the end: what was recorded, or why nothing was.
void print_outcome(const RunOptions& options, const std::string& shown, const RecordingPlace& place,
                   const ProgramEnd& end) {
    const std::string& program = options.command.front();
    if (options.level == "off") {
        say("level off: nothing was recorded");
        return;
    }
    if (is_layer_disabled()) {
        say("LAPWING_VULKAN_LAYER_DISABLE is set: nothing was recorded");
        return;
    }
    std::error_code ignored;
    if (!std::filesystem::exists(place.path(), ignored)) {
        if (const std::size_t running = count_processes_with(place.run_variable()); running > 0) {
            say("nothing was recorded yet: " + std::to_string(running) +
                (running == 1 ? " process that " : " processes that ") + program +
                " started outlive it, and record to " + shown + " if they use a GPU");
            return;
        }
        say("warning: " + program +
            " used no GPU API that Lapwing can see: it opened no Vulkan device and made no OpenCL queue" +
            why_nothing(end) + (place.has_earlier() ? "; " + shown + " is still that of an earlier run" : ""));
        return;
    }
    // The layer makes the file when the program opens a device, and writes its head at once.
    if (std::filesystem::file_size(place.path(), ignored) == 0) {
        say("warning: nothing could be written to " + shown + " (is its disk full?): there is no recording of " +
            program);
        ::unlink(place.path().c_str());
        return;
    }
    const Result<RecordingTotals> totals = read_totals(place.path());
    if (!totals) {
        fail(kOk, totals.error().message);
        return;
    }
    if (is_in_use(place.path())) {
        say(shown + ": " + std::to_string(totals.value().spans) + " spans so far; a process that " + program +
            " started outlives it and goes on recording");
        return;
    }
    if (did_nothing(totals.value(), end.signalled)) {
        say("warning: " + program + " opened a GPU but " +
            (end.signalled ? "saw no GPU work complete" : "dispatched nothing") + why_nothing(end));
        return;
    }
    std::string also;
    for (const std::string& child : place.children())
        also += (also.empty() ? "" : ", ") + std::filesystem::path(child).filename().string();
    if (!also.empty()) also = "; child processes: " + also;
    const auto untimed = detail::why_no_step_was_timed(totals->process, totals->stats, totals->steps);
    say(shown + ": " + to_text(totals.value(), end.signalled) + also + (untimed ? "; " + *untimed : "") +
        "; see: lapwing report " + shown);
}

int run(const RunOptions& options) {
    if (const std::optional<std::string> bad = find_bad_option(options)) return fail(kBadUse, *bad);
    const std::string& program = options.command.front();
    const std::string output = options.output.value_or(std::filesystem::path(program).filename().string() + ".pftrace");

    const Result<std::string> folder = find_layer_folder();
    if (!folder) return fail(kOwnFailure, folder.error().message);
    const uint64_t run = new_run_id();
    Result<RecordingPlace> place = RecordingPlace::claim(output, run);
    if (!place) return fail(kOwnFailure, place.error().message);

    const LayerSettings settings{.folder = folder.value(),
                                 .opencl = find_opencl_layer(),
                                 .output = place->path(),
                                 .level = options.level,
                                 .step = options.step,
                                 .every = options.every,
                                 .skip = options.skip,
                                 .duration = options.duration.value_or(""),
                                 .budget = options.budget.value_or(""),
                                 .recording = file_settings(options.file, run)};
    const Result<ProgramEnd> end = run_program(options.command, program_environment(own_environment(), settings));
    if (!end) {
        place->settle();
        const Error& error = end.error();
        if (error.code == Errc::kNotFound)
            return fail(kNoProgram, "cannot start " + program + ": there is no such program in PATH or at that path");
        if (error.code == Errc::kUnreadable)
            return fail(kNotExecutable, "cannot start " + program + ": " + error.message + "; is it executable?");
        return fail(kOwnFailure, "cannot start " + program + ": " + error.message);
    }
    join_recordings(options.file, place.value());
    print_outcome(options, output, place.value(), end.value());
    place->settle();
    return end.value().signalled ? kSignalBase + end.value().number : end.value().number;
}

}    // namespace

void add_run_command(CLI::App& app, const std::vector<std::string>& program, int& exit_code) {
    auto options = std::make_shared<RunOptions>();
    CLI::App* command = app.add_subcommand("run", "Run a program, unchanged, and record its GPU work");
    command
        ->add_option("--level", options->level,
                     "off: nothing; basic: steps and launch counts, no device stamps;\n"
                     "lane: the device time of every step on every queue, by two stamps a submit;\n"
                     "kernel: the device time of every kernel, copy and fill (default)")
        ->type_name("LEVEL");
    command
        ->add_option("--step", options->step,
                     "What makes a step: sync: the work between two moments at which the program has seen all it\n"
                     "submitted complete (default); label:REGEX: begins where a matching debug label opens;\n"
                     "submits:N: N submits with a command buffer")
        ->type_name("HOW");
    command->add_option("--every", options->every, "Time the kernels of one step in N, the first included (default 1)")
        ->type_name("N");
    command->add_option("--skip", options->skip, "Leave the first N steps untimed (default 0)")->type_name("N");
    command
        ->add_option("--duration", options->duration,
                     "Time no step that begins later than T after the first timed one: 500ms, 10s, 2m, 1h.\n"
                     "The program goes on")
        ->type_name("T");
    command
        ->add_option("--budget", options->budget,
                     "The share of wall time that timing may cost, such as 1%: fewer steps are timed where it costs\n"
                     "more. --every is then the smallest stride")
        ->type_name("PCT");
    command
        ->add_option("-o,--output", options->output,
                     "The recording (default CMD.pftrace in this folder); child processes write FILE.<pid>, which "
                     "is\njoined into it at the end.\n"
                     "A recording of an earlier run is replaced once there is a new one; any other file is refused")
        ->type_name("FILE");
    add_file_options(*command, options->file);
    command->prefix_command();
    command->footer(
        "Settings of yours are kept and added to: VK_INSTANCE_LAYERS, VK_LAYER_PATH, VK_ADD_LAYER_PATH,\n"
        "OPENCL_LAYERS and GGML_VK_DEBUG_MARKERS, which makes ggml name its operations.\n\n"
        "A program that is killed loses the last second of its recording at most. If lapwing itself is killed (kill "
        "-9),\n"
        "the program goes on and its recording with it: only the joining of files at the end is left undone.");
    command->callback([command, options, &program, &exit_code] {
        // Without a "--" the program begins where CLI11 met the first argument that it does not know.
        std::vector<std::string> rest = command->remaining();
        if (!rest.empty() && (!program.empty() || rest.front().front() == '-')) {
            exit_code = fail(kBadUse, "run does not know '" + rest.front() + "'; see: lapwing run --help");
            return;
        }
        options->command = rest.empty() ? program : rest;
        exit_code = run(*options);
    });
}

}    // namespace lapwing::cli
