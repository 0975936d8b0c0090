// Where the program learns of completion, and what it may see of its events.
#include <cstring>

#include "attach/opencl_layer/queue_table.hpp"
#include "attach/session/cost_meter.hpp"
#include "attach/session/host_time.hpp"
#include "attach/session/host_track.hpp"
#include "attach/session/process_state.hpp"

namespace lapwing::attach::opencl_layer {

namespace {
// The program knows that the command of an event is complete. On a queue that runs out of order nothing follows for the
// commands before it but what their own statuses say.
void seen(cl_event event) {
    Queue* const queue = queues().of_event(event);
    if (queue == nullptr) return;
    const std::optional<uint64_t> number = queue->in_order() ? queue->number_of(event) : std::nullopt;
    queue->seen_complete(number);
}

template <class See>
void note(Session& session, HostCall call, int64_t begin_ns, See&& see) noexcept {
    const CostMeter cost(session.counters());
    try {
        record_host_call(session, call, begin_ns, host_now_ns());
        see();
        queues().harvest_released();
    } catch (...) {
        Counters::add(session.counters().faults);
    }
}

cl_int CL_API_CALL Finish(cl_command_queue handle) {
    Queue* const queue = process_live() ? queues().find(handle) : nullptr;
    if (queue == nullptr) return next().clFinish(handle);
    const uint64_t newest = queue->newest();
    const int64_t begin_ns = host_now_ns();
    const cl_int result = next().clFinish(handle);
    if (result == CL_SUCCESS)
        note(queue->session(), HostCall::kFinish, begin_ns, [&] { queue->seen_complete(newest); });
    return result;
}

cl_int CL_API_CALL WaitForEvents(cl_uint count, const cl_event* events) {
    Session* const session = process_live() ? process_session() : nullptr;
    if (session == nullptr) return next().clWaitForEvents(count, events);
    const int64_t begin_ns = host_now_ns();
    const cl_int result = next().clWaitForEvents(count, events);
    if (result == CL_SUCCESS)
        note(*session, HostCall::kWaitForEvents, begin_ns, [&] {
            for (cl_uint i = count; i-- > 0;) seen(events[i]);
        });
    return result;
}

cl_int CL_API_CALL GetEventInfo(cl_event event, cl_event_info what, std::size_t room, void* out, std::size_t* needed) {
    const bool status = what == CL_EVENT_COMMAND_EXECUTION_STATUS;
    Session* const session = status && process_live() ? process_session() : nullptr;
    const int64_t begin_ns = session != nullptr ? host_now_ns() : 0;
    const cl_int result = next().clGetEventInfo(event, what, room, out, needed);
    if (result != CL_SUCCESS || out == nullptr) return result;
    if (what == CL_EVENT_REFERENCE_COUNT) {
        if (Queue* const queue = queues().of_event(event); queue != nullptr) {
            cl_uint references = 0;
            std::memcpy(&references, out, sizeof references);
            references -= queue->references_to(event);
            std::memcpy(out, &references, sizeof references);
        }
    }
    if (session == nullptr) return result;
    cl_int found = CL_QUEUED;
    std::memcpy(&found, out, sizeof found);
    if (found > CL_COMPLETE)
        note_poll(*session, HostCall::kEventStatus, begin_ns, host_now_ns());
    else
        note(*session, HostCall::kEventStatus, begin_ns, [&] { seen(event); });
    return result;
}

cl_int CL_API_CALL GetEventProfilingInfo(cl_event event, cl_profiling_info what, std::size_t room, void* out,
                                         std::size_t* needed) {
    const Queue* const queue = queues().of_event(event);
    if (queue != nullptr && queue->view().forced) return CL_PROFILING_INFO_NOT_AVAILABLE;
    return next().clGetEventProfilingInfo(event, what, room, out, needed);
}
}    // namespace

void hook_events(cl_icd_dispatch& table) noexcept {
    hook(table.clFinish, Finish);
    hook(table.clWaitForEvents, WaitForEvents);
    hook(table.clGetEventInfo, GetEventInfo);
    hook(table.clGetEventProfilingInfo, GetEventProfilingInfo);
}

}    // namespace lapwing::attach::opencl_layer
