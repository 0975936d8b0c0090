#include "unit/opencl_fake_driver.hpp"

#include <algorithm>
#include <cstring>

#include "lapwing/clock.hpp"

namespace lapwing::testing {
namespace {
FakeOpenCl* g_driver = nullptr;

template <class Value>
cl_int answer(Value value, std::size_t size, void* out) {
    if (size < sizeof value) return CL_INVALID_VALUE;
    std::memcpy(out, &value, sizeof value);
    return CL_SUCCESS;
}
}    // namespace

struct FakeOpenClCalls {
    static cl_int CL_API_CALL get_device_info(cl_device_id, cl_device_info what, std::size_t size, void* out,
                                              std::size_t*) {
        if (what != CL_DEVICE_PROFILING_TIMER_RESOLUTION) return CL_INVALID_VALUE;
        return answer(g_driver->resolution_ns, size, out);
    }
    static cl_int CL_API_CALL get_queue_info(cl_command_queue, cl_command_queue_info what, std::size_t size, void* out,
                                             std::size_t*) {
        if (what == CL_QUEUE_DEVICE) return answer(g_driver->queue_device, size, out);
        return answer(g_driver->queue_properties, size, out);
    }
    static cl_command_queue CL_API_CALL create_queue(cl_context, cl_device_id, cl_command_queue_properties,
                                                     cl_int* result) {
        *result = CL_SUCCESS;
        return reinterpret_cast<cl_command_queue>(0x40);
    }
    static cl_int CL_API_CALL release_queue(cl_command_queue) { return CL_SUCCESS; }
    static cl_int CL_API_CALL flush(cl_command_queue) { return CL_SUCCESS; }
    static cl_int CL_API_CALL get_event_info(cl_event event, cl_event_info, std::size_t size, void* out, std::size_t*) {
        ++g_driver->status_checks;
        return answer(g_driver->at(event).status, size, out);
    }
    static cl_int CL_API_CALL get_profile(cl_event event, cl_profiling_info what, std::size_t size, void* out,
                                          std::size_t*) {
        const FakeOpenCl::Event& asked = g_driver->at(event);
        ++g_driver->profile_reads;
        if (asked.status != CL_COMPLETE) ++g_driver->reads_before_complete;
        if (asked.profile_fails) return CL_PROFILING_INFO_NOT_AVAILABLE;
        if (what == CL_PROFILING_COMMAND_QUEUED) return answer(asked.profile.queued, size, out);
        return answer(what == CL_PROFILING_COMMAND_START ? asked.profile.start : asked.profile.end, size, out);
    }
    static cl_int CL_API_CALL retain(cl_event event) {
        ++g_driver->at(event).references;
        return CL_SUCCESS;
    }
    static cl_int CL_API_CALL release(cl_event event) {
        --g_driver->at(event).references;
        return CL_SUCCESS;
    }
    static cl_int CL_API_CALL marker(cl_command_queue, cl_uint, const cl_event*, cl_event* event) {
        if (g_driver->markers_fail) return CL_OUT_OF_RESOURCES;
        FakeOpenCl::Profile profile = g_driver->marker;
        if (profile.queued == 0) profile.queued = static_cast<cl_ulong>(host_now().value);
        if (profile.end == 0) profile.end = profile.queued + 1000;
        *event = g_driver->make_event(profile, g_driver->marker_status);
        return CL_SUCCESS;
    }
    static cl_int CL_API_CALL device_timer(cl_device_id, cl_ulong* device, cl_ulong* host) {
        if (g_driver->device_timer_result != CL_SUCCESS) return g_driver->device_timer_result;
        const auto& times = g_driver->device_times;
        *device = times.empty() ? static_cast<cl_ulong>(host_now().value) + 5'000'000'000
                                : times[std::min(g_driver->timer_reads_++, times.size() - 1)];
        *host = 1;    // some clock: the backend goes by its own readings
        return CL_SUCCESS;
    }
    static cl_int CL_API_CALL unused() { return CL_INVALID_OPERATION; }
};

FakeOpenCl::FakeOpenCl() {
    g_driver = this;
}
FakeOpenCl::~FakeOpenCl() {
    g_driver = nullptr;
    for (Event* event : events_) delete event;
}

cl_event FakeOpenCl::make_event(const Profile& profile, cl_int status) {
    events_.push_back(new Event{status, profile, false, 1});
    return reinterpret_cast<cl_event>(events_.back());
}

FakeOpenCl::Event& FakeOpenCl::at(cl_event event) {
    return *reinterpret_cast<Event*>(event);
}

int FakeOpenCl::references() const {
    int out = 0;
    for (const Event* event : events_) out += event->references;
    return out;
}

void* FakeOpenCl::find(const char* name) {
    using Calls = FakeOpenClCalls;
    static const struct {
        const char* name;
        void* function;
    } kFunctions[] = {
        {"clGetDeviceInfo", reinterpret_cast<void*>(Calls::get_device_info)},
        {"clGetCommandQueueInfo", reinterpret_cast<void*>(Calls::get_queue_info)},
        {"clCreateCommandQueue", reinterpret_cast<void*>(Calls::create_queue)},
        {"clReleaseCommandQueue", reinterpret_cast<void*>(Calls::release_queue)},
        {"clFlush", reinterpret_cast<void*>(Calls::flush)},
        {"clGetEventInfo", reinterpret_cast<void*>(Calls::get_event_info)},
        {"clGetEventProfilingInfo", reinterpret_cast<void*>(Calls::get_profile)},
        {"clRetainEvent", reinterpret_cast<void*>(Calls::retain)},
        {"clReleaseEvent", reinterpret_cast<void*>(Calls::release)},
        {"clEnqueueMarkerWithWaitList", reinterpret_cast<void*>(Calls::marker)},
        {"clGetDeviceAndHostTimer", reinterpret_cast<void*>(Calls::device_timer)},
    };
    if (std::strcmp(name, g_driver->missing) == 0) return nullptr;
    for (const auto& function : kFunctions)
        if (std::strcmp(name, function.name) == 0) return function.function;
    return reinterpret_cast<void*>(Calls::unused);
}

}    // namespace lapwing::testing
