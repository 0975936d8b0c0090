// Recordings as Perfetto traces: append-only writing, tolerant reading.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "lapwing/result.hpp"
#include "lapwing/sink.hpp"

namespace lapwing {

/// How a recording is written.
struct PerfettoWriterOptions {
    std::size_t buffer_bytes = 256 * 1024;    ///< raw bytes a lane may hold back before they are written; >= 4096
    uint32_t max_lanes = 64;                  ///< lanes a track's overlapping spans may be spread to; 1..255
    bool compress = false;    ///< spans as compressed packets: 8 bytes a span instead of 26, for about 60 ns of time

    /// A recording of several files: FILE, the oldest, then FILE.part2, FILE.part3 and so on. Each opens by itself. A
    /// new one is begun where the last would become larger than this. 0 = no limit; else >= 1 MiB.
    uint64_t max_part_bytes = 0;
    uint32_t keep_parts = 0;    ///< the newest so many files are kept; 0 = all
    /// Files that hold nothing but what is older than this are dropped (a ring of the last moments, in steps of an
    /// eighth of it). ns; 0 = nothing is dropped for its age; else >= 1 s.
    int64_t keep_ns = 0;

    uint64_t run_id = 0;    ///< of the `lapwing run` that asked for it: tells its recordings from others; 0 = none did
};

/// Opens `path` for writing (created or truncated) as a sink that appends a Perfetto trace.
/// Shape:   each lane of a track is a packet sequence of slices that do not overlap; what a slice is (`Site`) is
///          described once, in a packet viewers ignore. A span that no lane can hold, because more than `max_lanes`
///          overlap or its times are no slice, is kept as Lapwing's own data: read back, not shown by viewers. Host
///          spans handed over in one call nest on one lane. Names in slices are valid UTF-8 (U+FFFD for what is not);
///          `Site` keeps the raw bytes. docs/FILE_FORMAT.md has the details.
///          At any moment a prefix of the file is a valid trace; what is held back is written by flush(), stats() and
///          close(), and when a buffer is full; heads of the file and the process at once.
/// Errors:  kInvalidArgument naming the option; kUnwritable naming the path and the remedy, also where another
///          recording is being written to it. When the disk fills while writing, the file is cut back to its last whole
///          packet, the error is kept, and further spans are refused. In a forked child everything is refused.
/// Cost:    cold: about 10 ns and 26 bytes a span (27 where the site's number is above 127, 28 above 126 lanes).
///          Memory: at most `buffer_bytes` a lane, 64 MiB for all of them, and the names.
/// Threads: one at a time.
[[nodiscard]] Result<std::unique_ptr<SpanSink>> open_perfetto_writer(const std::string& path,
                                                                     const PerfettoWriterOptions& options = {});

/// What reading a file came to, beside what the sink was told.
struct ReadSummary {
    uint64_t bytes = 0;
    uint64_t packets = 0;
    uint64_t parts = 1;            ///< files that were read
    uint64_t spans = 0;            ///< handed to the sink
    uint64_t loose_spans = 0;      ///< of these, kept outside the slices: no viewer shows them
    bool torn = false;             ///< the last packet is incomplete: everything before it was read
    uint64_t torn_at = 0;          ///< byte offset of the incomplete packet, in the last file
    uint64_t unclosed = 0;         ///< slices that were begun and never ended
    uint64_t unknown_sites = 0;    ///< spans whose site was never described; their name is used as op
};

/// Reads a recording and drives `sink` with its content, in file order; `sink.close()` is not called.
/// Shape:   memory is bounded by lanes and sites, not by spans. A repeated device, track or site replaces the earlier
///          one. Names come as they were recorded and need not be valid UTF-8. Spans come before the step records that
///          they belong to, or after them. Where the disk was full before the program ended, what was begun and is
///          not in the file is told as lost (unwritten).
/// Errors:  kNotFound, kUnreadable, kBadFormat (empty, not a trace, no Lapwing recording, damaged), kUnsupported (a
///          newer format, packets compressed by zstd, two recordings in one file): the message names the file, the
///          place and what to do. The sink's own first error is returned as it is. A torn tail is not an error.
[[nodiscard]] Result<ReadSummary> read_perfetto(const std::string& path, SpanSink& sink);

/// read_perfetto() of the file and of all later parts of the same recording beside it, oldest first.
/// Shape:   `RecordingStats::left_out` is what the parts that are not there held.
[[nodiscard]] Result<ReadSummary> read_recording(const std::string& path, SpanSink& sink);

}    // namespace lapwing
