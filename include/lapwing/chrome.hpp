// Span streams as Chrome traces: the JSON that chrome://tracing, Perfetto's UI and many scripts read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "lapwing/result.hpp"
#include "lapwing/sink.hpp"

namespace lapwing {

/// How a Chrome trace is written.
struct ChromeWriterOptions {
    /// Spans held back before they are sorted and written. 32 bytes each; 1 .. 2^20.
    std::size_t max_buffered_spans = 16384;
    /// Threads that the overlapping spans of one track may be spread to; 1 .. 1000.
    uint32_t max_lanes = 64;
    /// Size at which the file stops growing: later spans are dropped and counted. Viewers open some hundred MB.
    /// Units: bytes; 0 = no limit; else >= 64 KiB.
    uint64_t max_bytes = uint64_t{1} << 30;
    /// False: the file is an array of events, which viewers read also where a kill cut it off. True: it is an object,
    /// with `baseTimeNanoseconds` and Lapwing's counts at its top level, where PyTorch's tools look for them; a kill in
    /// the middle of a write leaves a file that viewers refuse.
    bool object = false;
};

/// Opens `path` for writing (created or truncated) as a sink that writes a Chrome trace.
/// Shape:   complete events ("ph":"X"). `ts` and `dur` are microseconds with three decimals, exact to the nanosecond;
///          `ts` counts from `baseTimeNanoseconds` of CLOCK_MONOTONIC (top level of the object; in the array an
///          argument of its first event). A process is a viewer's process, and each device one more; a track is a
///          viewer's thread, named and sorted once. Ids are dense from 1, whatever the system's are; the system's
///          process id is in the process's name. Spans that overlap in part go to further threads ("lane 2"), so that
///          each thread is sorted and nests. An event is named by the label, else the op, kernel or kind of its site;
///          `cat` is the site's category, else its kind; `args` holds what else is known and is left out where nothing
///          is. Names are escaped, and valid UTF-8 (U+FFFD for what is not).
///          After each flush() and whenever max_buffered_spans were written the file is valid JSON; a later one goes on
///          where the last ended. The last event (in the object: "lapwing") counts spans, dropped ones by reason, and
///          losses of the recording (stats()).
/// Errors:  kInvalidArgument naming the option; kUnwritable naming the path and the remedy, also where it is a pipe or
///          another recording is being written to it. When the disk fills while writing, the file is put back to its
///          last valid state, the error is kept, and further spans are refused. In a forked child everything is
///          refused.
/// Cost:    cold: about 150 ns and 110 bytes a span. Memory: the buffer, once more as text, and the names.
/// Threads: one at a time.
/// Source:  "Trace Event Format", Google, 2016; baseTimeNanoseconds: pytorch/kineto, output_json.
[[nodiscard]] Result<std::unique_ptr<SpanSink>> open_chrome_writer(const std::string& path,
                                                                   const ChromeWriterOptions& options = {});

}    // namespace lapwing
