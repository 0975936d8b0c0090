// Every OpenCL entry point that the backend calls: one list, loaded at run time.
#pragma once

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 300
#endif
#include <CL/cl.h>

#include "lapwing/result.hpp"

/// X(name without "cl"). All are in OpenCL 1.2.
#define LAPWING_CL_ENTRY_POINTS(X) \
    X(GetPlatformIDs)              \
    X(GetPlatformInfo)             \
    X(GetDeviceIDs)                \
    X(GetDeviceInfo)               \
    X(CreateContext)               \
    X(ReleaseContext)              \
    X(CreateCommandQueue)          \
    X(ReleaseCommandQueue)         \
    X(GetCommandQueueInfo)         \
    X(GetEventInfo)                \
    X(GetEventProfilingInfo)       \
    X(RetainEvent)                 \
    X(ReleaseEvent)                \
    X(EnqueueMarkerWithWaitList)   \
    X(Flush)

/// As above, where a loader may lack it: null then.
#define LAPWING_CL_OPTIONAL_ENTRY_POINTS(X) X(GetDeviceAndHostTimer)

namespace lapwing::opencl {

/// How a function is found by its full name; null where there is none.
using FindFunction = void* (*)(const char* name);

struct EntryPoints {
#define LAPWING_CL_MEMBER(name) decltype(&::cl##name) name = nullptr;
    LAPWING_CL_ENTRY_POINTS(LAPWING_CL_MEMBER)
    LAPWING_CL_OPTIONAL_ENTRY_POINTS(LAPWING_CL_MEMBER)
#undef LAPWING_CL_MEMBER

    /// Errors:  kUnsupported naming the function that is missing.
    [[nodiscard]] static Result<EntryPoints> load(FindFunction find);

    /// From a loader that is opened here, and stays open: drivers start threads.
    /// Errors:  kNotFound where it cannot be opened, with the package to install; kUnsupported.
    [[nodiscard]] static Result<EntryPoints> open(const char* loader);
};

}    // namespace lapwing::opencl
