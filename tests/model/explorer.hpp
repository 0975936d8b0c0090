// Runs a few threads of real code through every interleaving of their atomic operations, and through every value that
// the C++ memory model lets them read.
//
// Threads are fibers of one process; before each atomic operation the running one hands over to a scheduler. A load may
// return any store that the thread is not yet known to have been overtaken by: what it has seen is kept as a view (an
// index a location), release stores carry the view of the thread, acquire loads take it over. Plain fields are watched
// by vector clocks: two accesses, one of them a write, that no release and acquire orders are a race. Executions are
// replayed from the start with the next choice; a state that was reached before by another way is not entered again.
// Two executions are in the same state where every thread has read the same stores and every location has been written
// in the same order: all else follows from that.
//
// Not covered: stores that take effect in another order than the scheduler ran them (two unordered writers of one
// location), sequential consistency fences, and consume.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace lapwing::model {

/// What is explored. A new one is made for every execution.
class Scenario {
public:
    virtual ~Scenario() = default;
    [[nodiscard]] virtual int threads() const = 0;
    virtual void run(int thread) = 0;

    /// Called between any two steps, and when all threads are done: calls fail() where something is wrong.
    virtual void check_step() {}
    virtual void check_end() {}
};

struct Outcome {
    uint64_t executions = 0;
    uint64_t complete = 0;    ///< executions that ran to their end; the others met a known state
    uint64_t states = 0;
    uint64_t steps = 0;
    std::string violation;    ///< the first one, with the steps that led to it; empty = none
};

using MakeScenario = Scenario* (*)();

/// Explores everything, or up to the first violation.
[[nodiscard]] Outcome explore(MakeScenario make);

/// Inside a scenario: this is wrong.
void fail(const std::string& what);

/// Inside a scenario: one of 0 .. count - 1, all of which are tried.
[[nodiscard]] int choose(int count);

// For model_atomic.hpp. `now` is the value in memory, which is the newest one.
[[nodiscard]] uint64_t load(const void* at, uint64_t now, std::memory_order order);
void store(const void* at, uint64_t now, uint64_t desired, std::memory_order order);
[[nodiscard]] uint64_t exchange_begin(const void* at, uint64_t now, std::memory_order order);
void exchange_end(const void* at, uint64_t desired, std::memory_order order);
void plain_read(const void* at);
void plain_write(const void* at);

}    // namespace lapwing::model
