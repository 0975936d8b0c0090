// Named probes as spans of a recording: where the results of traced probe timers go.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "lapwing/result.hpp"
#include "lapwing/sink.hpp"
#include "lapwing/site_table.hpp"
#include "lapwing/timer_reading.hpp"

namespace lapwing {

/// What a ProbeTrace tells its sink beside the spans.
struct ProbeTraceOptions {
    ProcessInfo process{};          ///< announced before the first span
    TrackId first_track = 1;        ///< further tracks count up from it; >= 1
    uint16_t max_tracks = 1024;     ///< tracks that are told apart, >= 1; further ones share the last, "other probes"
    bool whole_recording = true;    ///< false: the sink's owner announces the process, writes the stats and closes it
    SiteTable* sites = nullptr;     ///< shared with the sink's other producers; null: a table of its own
};

/// Turns readings with a name, a category and a track number into spans of a sink: a Chrome or Perfetto writer, a view.
/// Shape:   a probe's site has `op` = name and `category`; its track belongs to its source (the queue, the host) and is
///          called "tid N". Losses are counted by reason in the sink's stats.
/// Errors:  the sink's first error is kept and returned by flush() and close().
/// Cost:    cold: a lock, a look-up of the name, and the sink's own cost.
/// Threads: any; the sink is called under the trace's lock.
class ProbeTrace {
public:
    /// The sink outlives the trace.
    explicit ProbeTrace(SpanSink& sink, const ProbeTraceOptions& options = {});
    /// Flushes nothing: call close().
    ~ProbeTrace();
    ProbeTrace(const ProbeTrace&) = delete;
    ProbeTrace& operator=(const ProbeTrace&) = delete;

    /// Where a probe's spans go.
    struct Place {
        SiteId site = 0;
        TrackId track = 0;
    };

    /// What the probes of one place have in common. `source` names the queue; `host` says that it is the host.
    struct Probe {
        std::string_view source;
        bool host = false;
        std::string_view name;
        std::string_view category;
        uint32_t tid = 0;    ///< track number: a layer, a stream; 0 for the engine
    };
    [[nodiscard]] Place place(const Probe& probe);

    /// A finished reading: a span where there is a time, else a loss.
    void add(const Place& place, const TimerReading& reading) noexcept;

    [[nodiscard]] uint64_t recorded() const noexcept;
    [[nodiscard]] LossCounts lost() const noexcept;

    /// Everything added so far is in the file when this returns, and so are the losses.
    Status flush();
    /// Flushes; in a whole recording also closes the sink. Idempotent; what is added later is lost as abandoned.
    Status close();

private:
    struct State;
    std::unique_ptr<State> state_;
};

}    // namespace lapwing
