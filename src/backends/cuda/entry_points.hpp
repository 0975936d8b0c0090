// Every driver entry point that the backend calls: one list, found at run time.
#pragma once

#include "backends/cuda/driver_types.hpp"
#include "lapwing/result.hpp"

// backends/hip/renames.hpp gives other symbols for the same table.
#ifndef LAPWING_GPU_SYMBOLS
#define LAPWING_GPU_SYMBOLS

/// X(member, symbol, type of the function). The symbols are what cuda.h of CUDA 12 and 13 maps the names to.
#define LAPWING_GPU_ENTRY_POINTS(X)                                               \
    X(Init, "cuInit", Code(unsigned))                                             \
    X(DriverGetVersion, "cuDriverGetVersion", Code(int*))                         \
    X(DeviceGetCount, "cuDeviceGetCount", Code(int*))                             \
    X(DeviceGet, "cuDeviceGet", Code(Device*, int))                               \
    X(DeviceGetName, "cuDeviceGetName", Code(char*, int, Device))                 \
    X(DeviceGetAttribute, "cuDeviceGetAttribute", Code(int*, int, Device))        \
    X(DevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", Code(Context*, Device)) \
    X(DevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2", Code(Device))      \
    X(CtxGetCurrent, "cuCtxGetCurrent", Code(Context*))                           \
    X(CtxPushCurrent, "cuCtxPushCurrent_v2", Code(Context))                       \
    X(CtxPopCurrent, "cuCtxPopCurrent_v2", Code(Context*))                        \
    X(StreamCreate, "cuStreamCreate", Code(Stream*, unsigned))                    \
    X(StreamDestroy, "cuStreamDestroy_v2", Code(Stream))                          \
    X(StreamIsCapturing, "cuStreamIsCapturing", Code(Stream, int*))               \
    X(ExchangeCaptureMode, "cuThreadExchangeStreamCaptureMode", Code(int*))       \
    X(EventCreate, "cuEventCreate", Code(Event*, unsigned))                       \
    X(EventRecord, "cuEventRecord", Code(Event, Stream))                          \
    X(EventQuery, "cuEventQuery", Code(Event))                                    \
    X(EventDestroy, "cuEventDestroy_v2", Code(Event))                             \
    X(EventElapsedTime, "cuEventElapsedTime", Code(float*, Event, Event))

/// As above, where a driver may lack it: null then.
#define LAPWING_GPU_OPTIONAL_ENTRY_POINTS(X)                  \
    X(StreamGetCtx, "cuStreamGetCtx", Code(Stream, Context*)) \
    X(EventElapsedTime2, "cuEventElapsedTime_v2", Code(float*, Event, Event))

#endif

namespace lapwing::cuda {

/// How a function is found by its symbol; null where there is none.
using FindFunction = void* (*)(const char* symbol);

struct EntryPoints {
#define LAPWING_GPU_MEMBER(name, symbol, ...) \
    using name##Function = __VA_ARGS__;       \
    name##Function* name = nullptr;
    LAPWING_GPU_ENTRY_POINTS(LAPWING_GPU_MEMBER)
    LAPWING_GPU_OPTIONAL_ENTRY_POINTS(LAPWING_GPU_MEMBER)
#undef LAPWING_GPU_MEMBER

    /// By `find`, or where that is null from the driver's library, which is opened here and stays open.
    /// Errors:  kNotFound where it cannot be opened, with what to install; kUnsupported naming what is missing.
    [[nodiscard]] static Result<EntryPoints> load(FindFunction find);

    /// Also initialises the driver.
    /// Errors:  those of load(), and what the driver answers, in words (describe_start()).
    [[nodiscard]] static Result<EntryPoints> start(FindFunction find);
};

}    // namespace lapwing::cuda
