// A tuner's configuration, model and answer as texts and files.
#pragma once

#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

#include "lapwing/result.hpp"
#include "lapwing/tuner.hpp"
#include "lapwing/tuner_model.hpp"

namespace lapwing {

/// JSON, schema "lapwing.run_config/1" (docs/run_config.schema.json).
[[nodiscard]] std::string to_json(const RunConfig& config);
/// Keys that are missing keep their defaults; unknown keys are errors, since they are mostly misspelt.
/// Errors:  kBadFormat or kInvalidArgument naming the key and what it must be.
[[nodiscard]] Result<RunConfig> parse_run_config(std::string_view text);
/// Errors:  also kNotFound and kUnreadable; all name the file.
[[nodiscard]] Result<RunConfig> read_run_config(const std::string& path);

/// Writes a model: 4 bytes "LWT1", the length of its JSON (32 bits, little-endian), the JSON, and the CRC-32 of all of
/// that (IEEE 802.3, little-endian). Whole, or not at all.
/// Errors:  kUnwritable naming the file.
[[nodiscard]] Status write_model(const TunerModel& model, const std::string& path);
/// Errors:  kBadFormat saying that the file is foreign, torn (where), corrupted or of a newer version; kNotFound,
///          kUnreadable. All name the file and say how to make one.
[[nodiscard]] Result<TunerModel> read_model(const std::string& path);
/// The bytes of such a file.
[[nodiscard]] std::string encode_model(const TunerModel& model);
[[nodiscard]] Result<TunerModel> decode_model(std::string_view bytes);

/// What a recommendation is about.
struct TunerSubject {
    std::string file{};    ///< the recording; empty = none
    RunConfig config{};
    TunerDevice device{};
    std::optional<TunerProfile> profile{};
    bool compatible = false;
};

/// JSON, schema "lapwing.tuner/1" (docs/tuner.schema.json): unknown is null; equal recommendations give equal text.
[[nodiscard]] std::string to_json(const TunerSubject& subject, const TunerRecommendation& recommendation);

/// The recommendation for a terminal. What is a rule of thumb says so.
[[nodiscard]] std::string to_text(const TunerSubject& subject, const TunerRecommendation& recommendation);
/// In one line: "459.9 tok/s (rule of thumb), CoalescedQ4K, LaunchBound, try batch_size 1 -> 4".
[[nodiscard]] std::string to_line(const TunerRecommendation& recommendation);
/// "predicted 450.0 tok/s, measured 459.9: off by 2.2 %, excellent".
/// Errors:  as grade_of().
[[nodiscard]] Result<std::string> comparison_line(double predicted_tps, double actual_tps);

/// Writes what get_tuner_recommendations() says of a brick profiler to `out`; nothing where the profiler is off.
/// Errors:  those of get_tuner_recommendations().
Status print_tuner_recommendations(const BrickSnapshot& bricks, const RunConfig& config, std::FILE* out,
                                   const TunerDevice& device = {}, const TunerModel* model = nullptr);

}    // namespace lapwing
