// What each CUDA device of this machine is, and why there is none. No CUDA header is needed to read this.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lapwing/result.hpp"

namespace lapwing {

/// One device, as the driver lists it (a MIG instance is a device of its own).
struct CudaDeviceInfo {
    std::string name;              ///< as the driver states it
    std::string driver;            ///< version of the driver's API: "13.0"
    std::string capability;        ///< "9.0"; empty where the driver does not say
    double resolution_ns = 500;    ///< of events, as documented (about half a microsecond)
};

/// Opens the driver at run time and asks for its devices. Creates no context.
/// Shape:   in the driver's order. Never empty.
/// Errors:  kNotFound where the driver or every device is missing; kUnsupported for a stub or a driver that is too old;
///          kDriver for the rest. The message says what to do.
/// Cost:    cold: initialises the driver, up to seconds where many GPUs sleep. The driver stays open.
/// Threads: any.
/// `find`:  where the functions come from, for tests; null = libcuda.so.1.
[[nodiscard]] Result<std::vector<CudaDeviceInfo>> list_cuda_devices(void* (*find)(const char* symbol) = nullptr);

}    // namespace lapwing
