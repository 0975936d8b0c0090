// lapwing tune: what to try next, by recordings and the configurations they were run with.
#include <fmt/format.h>
#include <sys/stat.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "commands.hpp"
#include "lapwing/peaks_file.hpp"
#include "lapwing/perfetto.hpp"
#include "lapwing/report.hpp"
#include "lapwing/tuner_report.hpp"

namespace lapwing::cli {
namespace {

struct TuneOptions {
    std::vector<std::string> files;
    std::string config;
    std::string peaks;
    std::string model;
    std::string train;
    std::string format = "text";
    bool compatible = false;
    bool print_config = false;
};

// Where the configuration of a recording is looked for when --config names none.
std::string config_beside(const std::string& file) {
    return file + ".config.json";
}

bool exists(const std::string& path) {
    struct stat found {};
    return ::stat(path.c_str(), &found) == 0;
}

Result<RunConfig> config_of(const std::string& file, const TuneOptions& options) {
    if (!options.config.empty()) return read_run_config(options.config);
    const std::string beside = config_beside(file);
    if (exists(beside)) return read_run_config(beside);
    return Error{Errc::kNotFound, 0,
                 file + ": nobody says how the model was run: write it to " + beside +
                     " (a template: lapwing tune --print-config), or give it with --config"};
}

// A recording, its configuration and what they say together.
struct Run {
    TunerSubject subject;
    double measured_tps = 0;
};

Result<Run> load(const std::string& file, const TuneOptions& options, const MachinePeaks* peaks) {
    const std::unique_ptr<ReportBuilder> builder = make_report_builder();
    const Result<ReadSummary> read = read_recording(file, *builder);
    if (!read.ok()) return read.error();
    if (read->torn) say(file + " is torn: what comes before is used");
    const Result<RunConfig> config = config_of(file, options);
    if (!config.ok()) return config.error();
    Result<TunerProfile> profile = tuner_profile_of(*builder, *config, peaks);
    if (!profile.ok()) return Error{profile.error().code, 0, file + ": " + profile.error().message};
    Run out;
    out.subject.file = file;
    out.subject.config = *config;
    out.subject.device = tuner_device_of(*builder, peaks);
    out.measured_tps = *profile->measured_tps;
    out.subject.profile = std::move(*profile);
    return out;
}

Result<std::string> recommendation_text(Run& run, const TunerModel* model, const TuneOptions& options) {
    run.subject.compatible = options.compatible;
    const TunerProfile* const profile = &*run.subject.profile;
    const Result<TunerRecommendation> recommendation =
        options.compatible ? compatible_recommendation(run.subject.config, profile)
                           : recommend(run.subject.config, run.subject.device, profile, model);
    if (!recommendation.ok())
        return Error{recommendation.error().code, 0, run.subject.file + ": " + recommendation.error().message};
    if (options.format == "json") return to_json(run.subject, *recommendation);
    std::string out = to_text(run.subject, *recommendation);
    if (model == nullptr || options.compatible) return out;
    const auto predicted = model->predict(run.subject.config, run.subject.device);
    if (!predicted.ok()) return out;
    const Result<std::string> line = comparison_line(predicted->tokens_per_s, run.measured_tps);
    if (line.ok()) out += fmt::format("{:<11} {}\n", "prediction", *line);
    return out;
}

Result<TunerModel> train(const std::vector<Run>& runs, const std::string& path) {
    std::vector<TrainingRun> training;
    for (const Run& run : runs)
        training.push_back({run.subject.config, run.subject.device, run.measured_tps, run.subject.file});
    Result<TunerModel> model = TunerModel::train(training);
    if (!model.ok()) return model;
    if (Status written = write_model(*model, path); !written.ok()) return written.error();
    say(path + ": " + model->describe());
    return model;
}

int run_tune(const TuneOptions& options) {
    if (options.print_config) return print(to_json(RunConfig{}), "the configuration");
    if (options.format != "text" && options.format != "json")
        return fail(kBadUse, "--format '" + options.format + "' is not one of: text, json");
    if (options.files.empty()) return fail(kBadUse, "name a recording: lapwing tune FILE...");
    if (!options.train.empty() && !options.model.empty())
        return fail(kBadUse, "--train makes a model and --model takes one: give one of them");
    std::optional<MachinePeaks> peaks;
    if (!options.peaks.empty()) {
        Result<MachinePeaks> given = read_peaks(options.peaks);
        if (!given.ok()) return fail(kBadUse, given.error().message);
        peaks = std::move(*given);
    }
    std::optional<TunerModel> model;
    if (!options.model.empty()) {
        Result<TunerModel> given = read_model(options.model);
        if (!given.ok()) return fail(kBadUse, given.error().message);
        model = std::move(*given);
    }
    std::vector<Run> runs;
    for (auto file = options.files.begin(); file != options.files.end(); ++file) {
        std::error_code ignored;
        const auto same = std::find_if(options.files.begin(), file, [&](const std::string& earlier) {
            return earlier == *file || std::filesystem::equivalent(earlier, *file, ignored);
        });
        if (same != file)
            return fail(kBadUse, *file + " is given twice: one run counts once, and cannot be held out from itself");
    }
    for (const std::string& file : options.files) {
        Result<Run> run = load(file, options, peaks ? &*peaks : nullptr);
        if (!run.ok()) return fail(kBadUse, run.error().message);
        runs.push_back(std::move(*run));
    }
    if (!options.train.empty()) {
        Result<TunerModel> trained = train(runs, options.train);
        if (!trained.ok()) return fail(kBadUse, trained.error().message);
        model = std::move(*trained);
    }
    std::string out;
    for (Run& run : runs) {
        const Result<std::string> text = recommendation_text(run, model ? &*model : nullptr, options);
        if (!text.ok()) return fail(kBadUse, text.error().message);
        if (!out.empty() && options.format == "text") out += "\n";
        out += *text;
    }
    return print(out, "the recommendations");
}

}    // namespace

void add_tune_command(CLI::App& app, int& exit_code) {
    auto options = std::make_shared<TuneOptions>();
    CLI::App* command = app.add_subcommand("tune", "Say what to try next, by recordings and how they were run");
    command->add_option("file", options->files, "Recordings, as written by lapwing run")->type_name("FILE");
    command->add_option("--config", options->config, "How the model was run (default: FILE.config.json)")
        ->type_name("JSON");
    command->add_flag("--print-config", options->print_config, "Print such a configuration, to be filled in");
    command->add_option("--peaks", options->peaks, "What the devices can do: lapwing bench --peaks --format json")
        ->type_name("FILE");
    command->add_option("--model", options->model, "Predict by a model that --train wrote")->type_name("MODEL");
    command->add_option("--train", options->train, "Train a model on the recordings (10 or more) and write it")
        ->type_name("MODEL");
    command->add_option("--format", options->format, "text (default) or json, a document a recording")
        ->type_name("FORMAT");
    command->add_flag("--compatible", options->compatible,
                      "Answer as BrickProfiler's tuner: its fixed numbers, no evidence but categories");
    command->callback([options, &exit_code] { exit_code = run_tune(*options); });
}

}    // namespace lapwing::cli
