// An OpenCL driver whose every answer is scripted: for what no driver at hand does.
#pragma once

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 300
#endif
#include <CL/cl.h>

#include <cstdint>
#include <vector>

namespace lapwing::testing {

/// One driver a process at a time; its functions are found by FakeOpenCl::find.
class FakeOpenCl {
public:
    /// The times of one command, ns.
    struct Profile {
        cl_ulong queued = 0;
        cl_ulong start = 0;
        cl_ulong end = 0;
    };
    struct Event {
        cl_int status = CL_COMPLETE;
        Profile profile;
        bool profile_fails = false;
        int references = 1;
    };

    FakeOpenCl();
    ~FakeOpenCl();
    FakeOpenCl(const FakeOpenCl&) = delete;
    FakeOpenCl& operator=(const FakeOpenCl&) = delete;

    [[nodiscard]] static void* find(const char* name);
    [[nodiscard]] static cl_context context() { return reinterpret_cast<cl_context>(0x10); }
    [[nodiscard]] static cl_device_id device() { return reinterpret_cast<cl_device_id>(0x20); }
    [[nodiscard]] static cl_device_id other_device() { return reinterpret_cast<cl_device_id>(0x21); }
    [[nodiscard]] static cl_command_queue queue() { return reinterpret_cast<cl_command_queue>(0x30); }

    /// An event of the program's.
    [[nodiscard]] cl_event make_event(const Profile& profile, cl_int status = CL_COMPLETE);
    [[nodiscard]] Event& at(cl_event event);
    /// References to all events that the program did not release itself.
    [[nodiscard]] int references() const;

    cl_command_queue_properties queue_properties = CL_QUEUE_PROFILING_ENABLE;
    cl_device_id queue_device = device();
    std::size_t resolution_ns = 1;
    cl_int device_timer_result = CL_INVALID_OPERATION;
    std::vector<cl_ulong> device_times;    ///< what the device's timer answers in turn; the last one for ever
    bool markers_fail = false;
    Profile marker;    ///< the profile of markers to come; QUEUED 0 = the host's time
    cl_int marker_status = CL_COMPLETE;
    const char* missing = "";    ///< a function that the library lacks
    uint64_t status_checks = 0;
    uint64_t profile_reads = 0;
    uint64_t reads_before_complete = 0;    ///< profiles asked for while the command was not known to be complete

private:
    friend struct FakeOpenClCalls;
    std::vector<Event*> events_;
    std::size_t timer_reads_ = 0;
};

}    // namespace lapwing::testing
