// lapwing divergence: where one run begins to compute something else than another.
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "commands.hpp"
#include "lapwing/divergence_export.hpp"
#include "lapwing/fingerprint_run.hpp"
#include "lapwing/perfetto.hpp"

namespace lapwing::cli {
namespace {

struct DivergenceOptions {
    std::string reference;
    std::string candidate;
    std::string format = "text";
    bool exact = false;
    std::optional<double> nmse;
};

constexpr const char* kHowToRecord =
    "no fingerprints in it: the program takes them, with GgmlFingerprints (ggml.hpp), VulkanFingerprints "
    "(vulkan_fingerprint.hpp), or fingerprint_of() handed to SpanSink::fingerprint(); lapwing run alone does not";

/// Errors:  those of the file; kBadFormat where it is torn; kNotFound where it has no fingerprints. Names the file.
Status read(const std::string& file, FingerprintRun& run) {
    const Result<ReadSummary> read = read_recording(file, run);
    if (!read) return read.error();
    const auto refused = [&](Errc code, const std::string& why) { return Error{code, 0, file + ": " + why}; };
    if (read.value().torn)
        return refused(Errc::kBadFormat, "torn at byte " + std::to_string(read.value().torn_at) +
                                             ": fingerprints behind it are missing; record the run again, to its end");
    if (run.records().empty()) {
        if (run.dropped() + run.left_out() == 0) return refused(Errc::kNotFound, kHowToRecord);
        return refused(Errc::kNotFound, "no fingerprints are left: " + std::to_string(run.dropped()) +
                                            " were dropped, " + std::to_string(run.left_out()) +
                                            " are in parts that are gone; record with larger limits");
    }
    return {};
}

ComparedRun described(const std::string& file, const FingerprintRun& run) {
    return {file, run.records().size(), run.dropped(), run.left_out()};
}

std::optional<std::vector<KernelChecksum>> checksums_of(const FingerprintRun& run) {
    std::vector<KernelChecksum> out;
    for (const FingerprintRecord& record : run.records()) {
        if (record.fingerprint.checksum == 0) return std::nullopt;
        out.push_back({record.name, record.layer < 0 ? 0 : static_cast<uint64_t>(record.layer), record.position,
                       record.fingerprint.checksum});
    }
    return out;
}

int compare_exactly(const DivergenceOptions& options, const FingerprintRun& reference,
                    const FingerprintRun& candidate) {
    const auto expected = checksums_of(reference);
    const auto actual = checksums_of(candidate);
    if (!expected || !actual)
        return fail(kBadUse, (expected ? options.candidate : options.reference) +
                                 ": fingerprints without the checksum of their first values: compare without --exact");
    const std::optional<DivergenceInfo> found = find_divergence(*actual, *expected);
    const int printed = print(found ? to_text(*found) + "\n" : "no divergence\n", "the verdict");
    return printed != kOk ? printed : found ? kFinding : kOk;
}

int run_divergence(const DivergenceOptions& options) {
    FingerprintRun reference;
    FingerprintRun candidate;
    if (const Status status = read(options.reference, reference); !status) return fail(kBadUse, status.error().message);
    if (const Status status = read(options.candidate, candidate); !status) return fail(kBadUse, status.error().message);
    if (options.exact) return compare_exactly(options, reference, candidate);
    const Result<DivergenceReport> report = compare_runs(reference.records(), candidate.records(), {options.nmse});
    if (!report) return fail(kBadUse, report.error().message);
    const ComparedRun a = described(options.reference, reference);
    const ComparedRun b = described(options.candidate, candidate);
    const std::string text = options.format == "json" ? to_json(report.value(), a, b) : to_text(report.value(), a, b);
    const int printed = print(text, "the verdict");
    return printed != kOk ? printed : report.value().diverges() ? kFinding : kOk;
}

}    // namespace

void add_divergence_command(CLI::App& app, int& exit_code) {
    auto options = std::make_shared<DivergenceOptions>();
    CLI::App* command = app.add_subcommand(
        "divergence", "Compare what two runs computed, brick by brick: exits with 1 where they differ");
    command->add_option("reference", options->reference, "The recording that is right")->required()->type_name("A");
    command->add_option("candidate", options->candidate, "The recording to check")->required()->type_name("B");
    auto* format = command->add_option("--format", options->format, "text or json (docs/divergence.schema.json)")
                       ->check(CLI::IsMember({"text", "json"}).description(""))
                       ->type_name("FORMAT");
    auto* nmse = command
                     ->add_option("--nmse", options->nmse,
                                  "The NMSE that rounding may come to, for every type (default: f32 1e-7, f16 1e-6, "
                                  "bf16 1e-4, i8 1e-3); a finding is above twice that")
                     ->type_name("X");
    command
        ->add_flag("--exact", options->exact,
                   "By the FNV-1a of the first 64 values alone, which knows no rounding; names the first brick")
        ->excludes(format)
        ->excludes(nmse);
    command->callback([options, &exit_code] { exit_code = run_divergence(*options); });
}

}    // namespace lapwing::cli
