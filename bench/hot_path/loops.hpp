// The loops that are measured: n operations each, not inlined, with compiler barriers where an engine's work would be.
// Floors are what the hardware charges for the bare thing; ours are the library as a user calls it.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace lapwing::bench {

using Loop = void (*)(int n);

void loop_load_branch(int n);       // a relaxed load of a level that is off, and a branch
void loop_one_tick(int n);          // a bare read of the counter
void loop_two_ticks(int n);         // two of them
void loop_two_ticks_ring(int n);    // two of them, and 32 bytes into a ring that is in the cache
void loop_span(int n);              // a Span at whatever level is set
void loop_lap(int n);               // a Lap
void loop_histogram(int n);         // two ticks, and their distance into a LogLinearHistogram
void loop_brick_off(int n);         // a brick of a profiler that is off
void loop_brick(int n);             // bricks of 16 ids, folded by the thread: all that they cost until a snapshot
void loop_brick_deferred(int n);    // deferred records of 16 ids, and finalize() once a loop

/// One row of the table: a loop, the level it runs at, the floor it is compared with.
struct Row {
    const char* name;
    Loop loop;
    bool enabled;
    const char* floor;    // null = a floor itself
};
[[nodiscard]] const std::vector<Row>& rows();
[[nodiscard]] const Row* find_row(std::string_view name);

/// Sets the level that a row runs at.
void set_level_for(const Row& row);

/// Discards what the spans left, so that rings do not fill. Returns how many spans were dropped since the last call.
uint64_t discard_spans();

/// Samples of loop_brick() in the statistics, of all threads.
[[nodiscard]] uint64_t bricks_kept();

/// Device spans on the sim backend: begin + end in the ring, the bare marks, and the harvest.
class SimSpans {
public:
    SimSpans();
    ~SimSpans();
    SimSpans(const SimSpans&) = delete;
    SimSpans& operator=(const SimSpans&) = delete;

    void mark(int n);              // two marks a span, nothing else
    void begin_end(int n);         // n spans
    std::size_t harvest(int n);    // calls until n spans came out or nothing more comes; returns how many

private:
    struct State;
    std::unique_ptr<State> state_;
};

/// Reads the counter as the floors do.
[[nodiscard]] uint64_t counter() noexcept;

/// Nanoseconds a tick of counter().
[[nodiscard]] double counter_ns();

}    // namespace lapwing::bench
