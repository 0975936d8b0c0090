// Trace files of any kind that Lapwing reads, as one stream of spans.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "lapwing/perfetto.hpp"
#include "lapwing/result.hpp"
#include "lapwing/sink.hpp"

namespace lapwing {

/// What a file turned out to be.
enum class TraceFormat : uint8_t {
    kRecording = 0,    ///< Lapwing's own (perfetto.hpp)
    kChrome,           ///< Chrome trace JSON
};

/// What the events of a Chrome trace came to.
/// Shape:   events = complete + begins + ends + async + flow + counter + instant + metadata + other.
struct ChromeCounts {
    uint64_t events = 0;
    uint64_t complete = 0;    ///< "X"
    uint64_t begins = 0;      ///< "B"
    uint64_t ends = 0;        ///< "E"
    uint64_t async = 0;       ///< passed over, as all below: "b", "e", "n", "S", "T", "F", "p"
    uint64_t flow = 0;        ///< "s", "t", "f"
    uint64_t counter = 0;     ///< "C"
    uint64_t instant = 0;     ///< "i", "I", "R"
    uint64_t metadata = 0;    ///< "M": names are taken from it
    uint64_t other = 0;       ///< objects, samples, memory dumps, clock syncs, and events without a phase

    uint64_t pairs = 0;             ///< spans made of a "B" and an "E"
    uint64_t unmatched_ends = 0;    ///< "E" without a "B" before it on its thread
    uint64_t bad_times = 0;         ///< spans left out: `ts` or `dur` is missing, no number, negative, or out of range
    uint64_t first_bad_at = 0;      ///< byte at which the first of them begins
    uint64_t names_folded = 0;      ///< spans named "(other names)", because there were too many names
    uint64_t tracks_folded = 0;     ///< spans on a track for all others, because there were too many threads
    bool open_array = false;    ///< the closing bracket is missing: the format allows it, but the writer may have died
};

/// What reading a file came to.
struct TraceSummary {
    TraceFormat format = TraceFormat::kRecording;
    std::string
        flavour{};          ///< who seems to have written it: "PyTorch (Kineto)", "ONNX Runtime", ...; empty = unknown
    bool packed = false;    ///< it was gzip-compressed; offsets and bytes count what it unpacks to
    ReadSummary read{};     ///< bytes, spans, torn, torn_at and unclosed, whatever the format
    ChromeCounts chrome{};
    std::optional<int64_t> base_time_ns{};    ///< baseTimeNanoseconds: what the file says its times count from
};

/// Reads a Chrome trace (JSON, or that gzip-compressed) and drives `sink` with its content; `sink.close()` is not
/// called. `path` "-" is standard input.
/// Shape:   an array of events, or an object with "traceEvents", in pieces: memory is bounded (64 MiB at most), however
///          large the file. "X" events and pairs of "B" and "E" (matched on their thread in file order) become spans,
///          in file order: a track's spans need not come sorted. All else is counted. Events whose `cat` says that a
///          GPU did the work become device spans: kernel, gpu_memcpy, gpu_memset (PyTorch: pid is the device, tid the
///          stream), Kernel and Api of pid -1 (ONNX Runtime), OpenCL on "Device" (ggml), and Lapwing's own. Names are
///          unescaped and otherwise the bytes of the file. `TrackInfo::process` is the pid as the file writes it.
///          Tracks and devices are announced when they are first seen, and again at the end where metadata named them.
/// Units:   nanoseconds, exact; `begin_ns` is `ts` as it stands in the file. `base_time_ns` is not added.
/// Errors:  kNotFound, kUnreadable, kBadFormat (no JSON, no trace, damaged: names the byte, what was expected and how
///          many events were read), kExhausted (an event beyond 16 MiB; 2^18 slices open at once). The sink's own first
///          error is returned as it is. A torn tail is no error: everything before it is read.
/// Cost:    cold; about 0.2 us an event of 120 bytes.
/// Threads: one at a time.
/// Source:  "Trace Event Format", Google, 2016; pytorch/kineto output_json; onnxruntime profiler; ggml-opencl
/// profiling.
[[nodiscard]] Result<TraceSummary> read_chrome(const std::string& path, SpanSink& sink);

/// Finds out by its content what `path` is, and reads it: read_recording() or read_chrome(). "-" is standard input.
/// Errors:  those of both; kBadFormat saying what the file looks like where it is neither.
[[nodiscard]] Result<TraceSummary> read_trace(const std::string& path, SpanSink& sink);

}    // namespace lapwing
