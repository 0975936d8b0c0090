// The recording that `lapwing run` asks for: making room for it, and saying what came of it.
#pragma once

#include <string>
#include <vector>

#include "lapwing/result.hpp"
#include "lapwing/sink.hpp"

namespace lapwing::cli {

/// Makes sure that a recording can be written to `path`, and returns its absolute path.
/// Shape:   what is at `path` is removed only if it is a regular file that is empty or a Lapwing recording, and so are
///          the recordings of child processes of an earlier run (`path`.<pid>); anything else is left alone and
///          refused. Nothing is at the returned path afterwards, so a program that records nothing leaves nothing.
/// Errors:  kUnwritable, naming the path and the remedy.
[[nodiscard]] Result<std::string> prepare_output(const std::string& path);

/// The recordings that child processes left beside `path`, sorted.
[[nodiscard]] std::vector<std::string> child_recordings(const std::string& path);

/// What a recording holds, in figures.
struct RecordingTotals {
    uint64_t spans = 0;    ///< of device queues
    uint64_t steps = 0;
    RecordingStats stats;    ///< the last ones written
    bool has_stats = false;
    bool torn = false;
};

/// Errors:  those of read_perfetto().
[[nodiscard]] Result<RecordingTotals> read_totals(const std::string& path);

/// "1155 spans, 33 steps, 0 lost", with the reasons where spans were lost, and whether the recording ends early.
[[nodiscard]] std::string to_text(const RecordingTotals& totals);

}    // namespace lapwing::cli
