// What telemetry is told to do: validated before it is used.
#pragma once

#include <cstdint>
#include <string_view>

#include "lapwing/level.hpp"
#include "lapwing/result.hpp"

namespace lapwing {

/// Telemetry's settings as a user writes them.
struct TelemetryOptions {
    std::string_view level = "off";    ///< "off", "basic", "lane" or "kernel": strict, see parse_level()
    /// Time between two readings of the device's sensors. Units: ns; 10 ms .. 10 s. Kept for the device sampler.
    int64_t device_period_ns = 100'000'000;
    uint32_t kernel_span_every = 64;    ///< time the kernels of one step in this many, the first included; >= 1
    uint32_t device_index = 0;          ///< the device whose sensors are read. Kept for the device sampler
};

/// What is wrong with TelemetryOptions.
enum class ConfigFault : uint8_t {
    kNone = 0,                  ///< nothing
    kUnknownLevel,              ///< `level` is no level's name
    kDevicePeriodOutOfRange,    ///< `device_period_ns` is not within 10 ms .. 10 s
    kZeroKernelSpanStride,      ///< `kernel_span_every` is 0
};

/// "UnknownLevel", ...; "" for kNone. Static string.
[[nodiscard]] const char* to_text(ConfigFault fault) noexcept;

/// Settings that hold. The default is level off.
class TelemetryConfig {
public:
    TelemetryConfig() = default;

    /// Errors:  kInvalidArgument: the fault's name, the value, and what is accepted.
    [[nodiscard]] static Result<TelemetryConfig> make(const TelemetryOptions& options);
    /// The first fault, without its sentence.
    [[nodiscard]] static ConfigFault fault_of(const TelemetryOptions& options) noexcept;
    /// As servers want it: a device reading each 100 ms, kernels of one step in 64.
    [[nodiscard]] static TelemetryConfig serving(Level level, uint32_t device_index) noexcept;

    [[nodiscard]] Level level() const noexcept { return level_; }
    [[nodiscard]] int64_t device_period_ns() const noexcept { return device_period_ns_; }
    [[nodiscard]] uint32_t kernel_span_every() const noexcept { return kernel_span_every_; }
    [[nodiscard]] uint32_t device_index() const noexcept { return device_index_; }

private:
    Level level_ = Level::kOff;
    int64_t device_period_ns_ = 100'000'000;
    uint32_t kernel_span_every_ = 64;
    uint32_t device_index_ = 0;
};

}    // namespace lapwing
