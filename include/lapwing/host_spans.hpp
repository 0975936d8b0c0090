// Where host spans come out: the rings of all threads, drained into a sink. The cold side of span.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "lapwing/loss.hpp"
#include "lapwing/result.hpp"
#include "lapwing/sink.hpp"
#include "lapwing/site_table.hpp"

namespace lapwing {

/// How much memory host spans may hold. 16 bytes a span; a thread's ring is mapped and touched at its first span and
/// reused by a later thread when its own has ended and its spans were drained.
struct HostSpanOptions {
    /// A ring's size. Units: bytes, rounded up to 64 KiB; 192 KiB to 1 GiB. It is the time a drain may be late: 4 MiB
    /// are 253 890 spans, a quarter of a second at 1 M spans/s.
    std::size_t bytes_per_thread = std::size_t{4} << 20;

    /// All rings together. Units: bytes; at least bytes_per_thread. Threads beyond it record nothing, and their spans
    /// are counted as lost (ring_full).
    std::size_t max_bytes = std::size_t{256} << 20;
};

/// Sets the sizes of rings that are made from now on; rings in use keep theirs.
/// Errors:  kInvalidArgument naming the field and its range; nothing is changed.
/// Threads: any.
Status configure_host_spans(const HostSpanOptions& options);

/// What a collector's sink is told beside the spans.
struct HostSpanCollectorOptions {
    /// The numbers of the recording's sites, shared with its other producers. Null: a table of the collector's own, for
    /// a recording that nobody else writes to. Outlives the collector.
    SiteTable* sites = nullptr;

    /// The track of the first thread; further threads count up from it. >= 1.
    TrackId first_track = 1;

    /// Tracks that are told apart, >= 1; further threads share the last one, named "other threads".
    uint16_t max_tracks = 256;

    /// The collector is the sink's only producer: it announces the process, and close() writes the final stats and
    /// closes the sink. False: the sink's owner does all that, and adds lost() to its own stats.
    bool whole_recording = true;
};

/// Drains the host spans of every thread of the process into a sink.
/// Shape:   spans come as `SpanKind::kHost` on one track a thread ("thread 4711"), each batch in order of begin. A
///          thread's spans stay readable after the thread has ended, until they are drained. Two collectors share the
///          spans out: each span goes to the one that drained it.
/// Errors:  the sink's first error is returned by drain() and by every later call; the batch it refused is lost as
///          `abandoned`. The destructor drains nothing.
/// Cost:    cold: about 5 ns a span and the sink's own cost; allocates for new names and threads.
/// Threads: one at a time; recording threads are never made to wait, beyond a lock of nanoseconds when one starts or
///          ends. A drain that meets another collector's drain returns at once and drains nothing.
class HostSpanCollector {
public:
    explicit HostSpanCollector(SpanSink& sink, const HostSpanCollectorOptions& options = {});
    ~HostSpanCollector();
    HostSpanCollector(const HostSpanCollector&) = delete;
    HostSpanCollector& operator=(const HostSpanCollector&) = delete;

    /// Hands the sink all spans that were finished before the call, and settles the drop counts.
    /// Shape:   call it often enough that no ring fills meanwhile (HostSpanOptions): once a step of an engine, or from
    ///          a thread of the program's own.
    Status drain();

    /// Drains; in a whole recording also writes the final stats and closes the sink. Does not change the level.
    /// Shape:   idempotent; call it when the recording threads are done.
    Status close();

    /// Spans handed to the sink.
    [[nodiscard]] uint64_t recorded() const noexcept;

    /// Spans begun that this collector knows to be lost: `ring_full` (exact once the thread is idle or has ended; while
    /// it runs up to 64 spans late), `reversed` (its end tick is before its begin), `abandoned` (the sink refused it).
    [[nodiscard]] LossCounts lost() const noexcept;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}    // namespace lapwing
