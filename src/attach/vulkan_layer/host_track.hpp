// The calls of each thread of the program in which it submits and waits, as spans on a track of its own.
#pragma once

#include <cstdint>

#include "attach/vulkan_layer/session.hpp"

namespace lapwing::vulkan_layer {

/// A call of the calling thread that took from `begin_ns` to `end_ns`. A fence status that ends no run of polls and
/// took less than 10 us makes no span. Cost:    cold: one short lock; a new track at a thread's first call. Swallows
/// bad_alloc as a fault.
void record_host_call(Session& session, HostCall call, int64_t begin_ns, int64_t end_ns) noexcept;

/// A fence status call found the fence unsignalled: begins or continues a run of polls, whose end record_host_call()
/// with kFenceStatus writes as one span. Another call, or a pause of more than 100 ms, ends the run where it last was.
/// Cost:    hot: no lock, no allocation; programs spin in this call.
void note_unsignalled_poll(Session& session, int64_t begin_ns, int64_t end_ns) noexcept;

}    // namespace lapwing::vulkan_layer
