// The calls of each thread of the program in which it submits and waits, as spans on a track of its own.
#pragma once

#include <cstdint>

#include "attach/session/session.hpp"

namespace lapwing::attach {

/// A call of the calling thread that took from `begin_ns` to `end_ns` and got what it asked for.
/// Shape:   it ends a run of polls of the same call, as one span over the run. A status or value that was asked for
///          once and came in less than 10 us is no wait and makes no span.
/// Cost:    cold: one short lock; a new track at a thread's first call. Swallows bad_alloc as a fault.
void record_host_call(Session& session, HostCall call, int64_t begin_ns, int64_t end_ns) noexcept;

/// A call found its fence or semaphore not there yet: begins a run of polls, or goes on with it. Another call, or a
/// pause of more than 100 ms, ends the run where it last was.
/// Cost:    hot: no lock, no allocation; programs spin in such calls.
void note_poll(Session& session, HostCall call, int64_t begin_ns, int64_t end_ns) noexcept;

}    // namespace lapwing::attach
