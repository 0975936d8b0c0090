// Recordings as Perfetto traces: append-only writing, tolerant reading.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "lapwing/result.hpp"
#include "lapwing/sink.hpp"

namespace lapwing {

/// How a recording is written.
struct PerfettoWriterOptions {
    std::size_t buffer_bytes = 256 * 1024;    ///< raw bytes a track may hold back before they are written; >= 4096
    uint32_t max_lanes = 64;                  ///< lanes a queue's overlapping spans may be spread to; 1..255
};

/// Opens `path` for writing (created or truncated) as a sink that appends a Perfetto trace.
/// Shape:   each track is a packet sequence of slices; what a slice is (`Site`) is described once, in a packet viewers
/// ignore.
///          At any moment a prefix of the file is a valid trace; what is held back is written by close(), by stats()
///          and when a buffer is full.
/// Errors:  kUnwritable naming the path and the remedy. When the disk fills while writing, the file is cut back to its
/// last
///          whole packet, the error is kept, and further spans are refused.
/// Cost:    cold: about 10 ns and 26 bytes a span.
/// Threads: one at a time.
[[nodiscard]] Result<std::unique_ptr<SpanSink>> open_perfetto_writer(const std::string& path,
                                                                     const PerfettoWriterOptions& options = {});

/// What reading a file came to, beside what the sink was told.
struct ReadSummary {
    uint64_t bytes = 0;
    uint64_t packets = 0;
    uint64_t spans = 0;
    bool torn = false;             ///< the last packet is incomplete: everything before it was read
    uint64_t torn_at = 0;          ///< byte offset of the incomplete packet
    uint64_t unclosed = 0;         ///< slices that were begun and never ended
    uint64_t unknown_sites = 0;    ///< spans whose site was never described; their name is used as op
};

/// Reads a recording and drives `sink` with its content, in file order; `sink.close()` is not called.
/// Errors:  kNotFound, kUnreadable, kBadFormat (empty, not a trace, no Lapwing recording): the message names the file,
/// the place
///          and what to do. A torn tail is not an error.
[[nodiscard]] Result<ReadSummary> read_perfetto(const std::string& path, SpanSink& sink);

}    // namespace lapwing
