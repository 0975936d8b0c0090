// What a driver's answer means for us.
#pragma once

#include "backends/cuda/driver_types.hpp"
#include "lapwing/result.hpp"

namespace lapwing::cuda {

/// Whether the context, the driver or the device is beyond use: nothing may be called on it any more. Errors of kernels
/// are such: they stay with the context for good.
[[nodiscard]] bool is_fatal(Code code) noexcept;

/// In words.
/// Shape:  static, never null.
[[nodiscard]] const char* describe(Code code) noexcept;

/// Why the driver did not start, and what to do.
[[nodiscard]] Error describe_start(Code code);

/// "cuEventQuery failed: ..." as an Error.
[[nodiscard]] Error call_error(Errc errc, const char* call, Code code);

}    // namespace lapwing::cuda
