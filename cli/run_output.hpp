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
    ///          refused, and so is what another run records to, from its begin to its end. `run` tells the recordings
    ///          of this run from others.
    /// Errors:  kUnwritable, naming the path and the remedy.
    [[nodiscard]] static Result<RecordingPlace> claim(const std::string& path, uint64_t run);

    /// Absolute.
    [[nodiscard]] const std::string& path() const noexcept { return path_; }

    /// Whether an earlier recording was set aside: settle() puts it back where this run makes none.
    [[nodiscard]] bool has_earlier() const noexcept { return !earlier_.empty(); }

    /// Paths of the recordings that child processes of this run left beside it (FILE.<pid>), sorted.
    [[nodiscard]] std::vector<std::string> children() const;

    /// "NAME=value" in the environment of every process of this run.
    [[nodiscard]] std::string run_variable() const { return "LAPWING_RUN=" + std::to_string(run_); }

    RecordingPlace(RecordingPlace&& other) noexcept;
    RecordingPlace& operator=(RecordingPlace&&) = delete;
    RecordingPlace(const RecordingPlace&) = delete;
    RecordingPlace& operator=(const RecordingPlace&) = delete;
    ~RecordingPlace();

    /// Drops the earlier recording if this run made one, else puts it back.
    void settle();

private:
    RecordingPlace() = default;
    [[nodiscard]] Status lock(const std::string& shown);

    std::string path_;
    uint64_t run_ = 0;
    std::string earlier_;                       // empty = there was none
    std::vector<std::string> earlier_parts_;    // of it
    int lock_ = -1;                             // on FILE.lock, as long as the run lasts
};

/// What a recording holds, in figures.
struct RecordingTotals {
    uint64_t spans = 0;    ///< of device queues
    uint64_t steps = 0;
    uint64_t processes = 0;
    ProcessInfo process;     ///< the first
    int64_t end_ns = 0;      ///< of the last span or step
    RecordingStats stats;    ///< the last ones written
    bool has_stats = false;
    bool torn = false;
};

/// Whether a process holds the recording's lock: it is still writing it.
[[nodiscard]] bool is_in_use(const std::string& path);

/// Of a recording and its parts.
/// Errors:  those of read_recording().
[[nodiscard]] Result<RecordingTotals> read_totals(const std::string& path);

/// "1155 spans, 33 steps, 0 lost", with the reasons where spans were lost, and whether the recording ends early and
/// why: `killed` = a signal ended the program.
[[nodiscard]] std::string to_text(const RecordingTotals& totals, bool killed);

}    // namespace lapwing::cli
