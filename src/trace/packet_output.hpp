// What a trace writer appends to its file: descriptions before what refers to them, and nothing after the first error.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "lapwing/sink.hpp"
#include "trace/compression.hpp"
#include "trace/trace_file.hpp"

namespace lapwing::trace {

/// Whole packets on their way to a file.
/// Errors:  the first one of the file is kept; from then on nothing is written but the last word.
/// Threads: one at a time.
class PacketOutput {
public:
    PacketOutput(TraceFile file, bool compress);

    /// Packets of the meta sequence. They wait to be written, at most 64 KiB of them, but never longer than spans that
    /// come after them.
    void describe(std::string_view packets);
    void flush_descriptions();

    /// Packets of a lane, compressed where that was asked for.
    void write_lane(std::span<const uint8_t> packets);
    /// The same of a packet that no lane's buffer can hold, never compressed.
    void write_large(std::string_view packet);

    /// The statistics to end a failed file with; a file that did not fail needs none. The latest count.
    void set_last_word(const RecordingStats& stats);

    /// Writes the descriptions and, after an error, the last word, for which a full disk has room: TraceFile::append.
    /// Errors:  the first one of the file. Idempotent.
    Status close();

    [[nodiscard]] bool closed() const noexcept { return closed_; }
    /// Whether anything is still written.
    [[nodiscard]] bool ok() const noexcept { return status_.ok() && !closed_; }
    /// The first error, or that the recording is closed.
    [[nodiscard]] Status state() const;
    /// Bytes in the file and waiting for it.
    [[nodiscard]] uint64_t size() const noexcept { return file_.size() + descriptions_.size(); }

private:
    Status append(std::string_view packets);
    void keep(Status status);

    TraceFile file_;
    std::optional<Compressor> compressor_;
    std::string descriptions_;
    Status status_;
    bool closed_ = false;
    std::optional<RecordingStats> last_word_;
};

}    // namespace lapwing::trace
