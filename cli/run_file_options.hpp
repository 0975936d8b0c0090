// The options of `lapwing run` that say how the recording is kept: size, age, compression.
#pragma once

#include <CLI/App.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "run_output.hpp"

namespace lapwing::cli {

struct FileOptions {
    std::optional<std::string> max_size;
    std::optional<std::string> keep;
    std::optional<std::string> last;
    bool compress = false;
};

void add_file_options(CLI::App& command, FileOptions& options);

/// A sentence about the first option whose value is out of its range.
[[nodiscard]] std::optional<std::string> find_bad_option(const FileOptions& options);

/// A number that tells this run's recordings from all others. Never 0.
[[nodiscard]] uint64_t new_run_id();

/// The variables that tell the layer.
/// Shape:   `options` without a bad one.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> file_settings(const FileOptions& options, uint64_t run);

/// Makes one file of what child processes recorded, and of the parts of a ring. Parts of a bounded size stay as they
/// are, and so does everything where that fails: one line then says why.
void join_recordings(const FileOptions& options, const RecordingPlace& place);

}    // namespace lapwing::cli
