// A thread-safe front of a sink: producers hand spans over and go on, one writer thread feeds the sink.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "lapwing/sink.hpp"

namespace lapwing {

struct RecorderOptions {
    std::size_t max_pending_spans =
        1u << 20;    ///< spans waiting for the writer; beyond it the newest are dropped and counted
    int64_t flush_interval_ns =
        500'000'000;    ///< the sink gets all that is pending, and fresh stats, at least this often; > 0
};

/// Makes a sink usable from any thread and keeps its work off the program's threads.
/// Shape:   calls return at once with the sink's first kept error, if any. Order per calling thread is kept.
/// Cost:    cold: a short lock and a copy of 32 bytes a span.
/// Threads: any. Owns exactly one thread (named "lapwing-writer"), with all signals blocked, from make_recorder() to
/// close().
class Recorder : public SpanSink {
public:
    /// Spans that were dropped because the writer was too far behind; the producer counts them as lost (ring_full).
    [[nodiscard]] virtual uint64_t dropped() const noexcept = 0;

    /// Writes all that is pending, closes the sink and ends the thread. Idempotent.
    /// Errors:  the first error the sink ever returned.
    /// Cost:    waits for the writer, at most `deadline_ns`; what is not written by then is abandoned.
    virtual Status close_within(int64_t deadline_ns) = 0;
};

[[nodiscard]] std::unique_ptr<Recorder> make_recorder(std::unique_ptr<SpanSink> sink,
                                                      const RecorderOptions& options = {});

}    // namespace lapwing
