// What each OpenCL device of this machine can do for timing, and why not. No OpenCL header is needed to read this.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lapwing/result.hpp"

namespace lapwing {

/// One device of one platform.
struct OpenClDeviceInfo {
    std::string name;                  ///< as the driver states it
    std::string platform;              ///< platform name and version
    std::string driver;                ///< driver version
    std::string type;                  ///< "gpu", "cpu", "accelerator" or "other"
    double resolution_ns = 0;          ///< of the profiling timer; 0 where the driver states none
    uint32_t valid_bits = 0;           ///< 64, or 0 where profiles are not times: `reason` says why
    bool out_of_order = false;         ///< queues may run out of order
    bool device_host_timer = false;    ///< clGetDeviceAndHostTimer works
    std::string reason;                ///< empty where there are times
};

/// The OpenCL loader's usual name on Linux.
inline constexpr const char* kOpenClLoader = "libOpenCL.so.1";

/// Opens the OpenCL loader at run time and asks every platform for its devices. Creates no context.
/// Shape:   in the loader's order. Never empty.
/// Errors:  kNotFound where the loader, every driver or every device is missing, with the package to install.
/// Cost:    cold: opens every installed driver, 10 to 500 ms. The loader stays open.
/// Threads: any.
[[nodiscard]] Result<std::vector<OpenClDeviceInfo>> list_opencl_devices(const char* loader = kOpenClLoader);

}    // namespace lapwing
