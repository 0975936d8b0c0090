// The recording that `lapwing run` asks for: making room for it, and saying what came of it.
#pragma once

#include <string>
#include <vector>

#include "lapwing/result.hpp"
#include "lapwing/sink.hpp"

namespace lapwing::cli {

/// Where a run records to. An earlier recording there is set aside and dropped only when this run has made its own.
class RecordingPlace {
public:
    /// Makes sure that a recording can be written to `path`.
    /// Shape:   nothing is at path() afterwards, so a program that records nothing leaves nothing. Only a regular file
    /// that
    ///          is empty or a Lapwing recording is set aside (as `path`.earlier-<pid>); anything else is left alone and
    ///          refused, and so is a recording that another run is writing.
    /// Errors:  kUnwritable, naming the path and the remedy.
    [[nodiscard]] static Result<RecordingPlace> claim(const std::string& path);

    /// Absolute.
    [[nodiscard]] const std::string& path() const noexcept { return path_; }

    /// Names of the recordings that child processes of this run left beside it (FILE.<pid>), sorted.
    [[nodiscard]] std::vector<std::string> children() const;

    /// Drops the earlier recording if this run made one, else puts it back.
    void settle() noexcept;

private:
    std::string path_;
    std::string earlier_;                    // empty = there was none
    std::vector<std::string> neighbours_;    // FILE.<number> that were there before
};

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

/// "1155 spans, 33 steps, 0 lost", with the reasons where spans were lost, and whether the recording ends early and
/// why: `killed` = a signal ended the program.
[[nodiscard]] std::string to_text(const RecordingTotals& totals, bool killed);

}    // namespace lapwing::cli
