// What the driver is called in messages, and what else differs between CUDA and what follows it.
#pragma once

#include "backends/cuda/driver_types.hpp"

// backends/hip/renames.hpp has its own.
#ifndef LAPWING_GPU_NAMES
#define LAPWING_GPU_NAMES

namespace lapwing::cuda {

inline constexpr const char* kApi = "CUDA";
inline constexpr const char* kLibraries[] = {"libcuda.so.1"};
inline constexpr const char* kInstall = "install the NVIDIA driver";
inline constexpr const char* kPermissions = "is /dev/nvidia* readable, and is the GPU passed into this container?";
inline constexpr int kOldestDriver = 11000;    // cuThreadExchangeStreamCaptureMode is of 10.1, graphs' last rules of 11
inline constexpr const char* kOldestDriverText = "11.0";
inline constexpr int kVersionMajor = 1000;    // 13000 = 13.0
inline constexpr int kVersionMinor = 10;
inline constexpr int kCapabilityMajor = 75;    // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR
inline constexpr int kCapabilityMinor = 76;

/// A stream as the driver wants it: CU_STREAM_LEGACY is a handle there too.
[[nodiscard]] inline Stream driver_stream(Stream stream) noexcept {
    return stream;
}

}    // namespace lapwing::cuda

#endif
