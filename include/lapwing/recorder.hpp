// A thread-safe front of a sink: producers hand spans over and go on, one writer thread feeds the sink.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "lapwing/sink.hpp"

namespace lapwing {

struct RecorderOptions {
    /// Spans waiting for the writer, and as many steps and fingerprints; beyond it the newest are dropped and counted.
    /// > 0
    std::size_t max_pending_spans = 1u << 20;
    /// The sink gets all that is pending, and the latest stats, and is flushed, this long after the first of it came.
    /// Half of what is promised (a second), so that a busy machine has the other half. > 0
    int64_t flush_interval_ns = 500'000'000;
};

/// Makes a sink usable from any thread and keeps its work off the program's threads.
/// Shape:   calls return at once with the sink's first kept error, if any. Order per calling thread is kept. Of stats
///          only the latest reaches the sink, once a flush interval.
///          Over a file writer with its default buffers everything is in the file after a second, or when a track has
///          320 KiB of it (raw), whichever is first, as long as the disk keeps up: that is what a kill can take.
/// Cost:    cold: a short lock and a copy of 32 bytes a span. The thread sleeps while nothing is pending.
/// Threads: any. Owns exactly one thread (named "lapwing-writer"), with all signals blocked, from make_recorder() to
///          close(). A forked child has no such thread: there every call is refused without taking a lock, and the
///          destructor leaks the state on purpose.
class Recorder : public SpanSink {
public:
    /// Spans handed over that will never reach the sink, because the writer was too far behind. The producer counts
    /// them as lost (ring_full).
    [[nodiscard]] virtual uint64_t dropped() const noexcept = 0;

    /// Spans handed over that will never reach the sink, because it had failed or was closed. The producer counts them
    /// as lost (unwritten); those that a failed file had taken already are counted by who reads it.
    [[nodiscard]] virtual uint64_t unwritten() const noexcept = 0;

    /// Steps dropped because the writer was too far behind.
    [[nodiscard]] virtual uint64_t dropped_steps() const noexcept = 0;

    /// Fingerprints dropped because the writer was too far behind. The producer counts them as such in its statistics.
    [[nodiscard]] virtual uint64_t dropped_fingerprints() const noexcept = 0;

    /// Writes all that is pending, closes the sink and ends the thread. Idempotent. close() is the same without a
    /// deadline; the destructor allows 5 s.
    /// Errors:  the first error the sink ever returned; kUnwritable where the deadline passed.
    /// Cost:    waits for the writer, at most `deadline_ns`; what is not written by then is abandoned, and the thread
    /// is
    ///          left to end by itself.
    virtual Status close_within(int64_t deadline_ns) = 0;
};

/// Starts the thread. Where none can be started, every call returns kExhausted.
[[nodiscard]] std::unique_ptr<Recorder> make_recorder(std::unique_ptr<SpanSink> sink,
                                                      const RecorderOptions& options = {});

}    // namespace lapwing
