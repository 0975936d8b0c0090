#include "lapwing/telemetry_config.hpp"

#include <string>

namespace lapwing {
namespace {
constexpr int64_t kShortestPeriodNs = 10'000'000;
constexpr int64_t kLongestPeriodNs = 10'000'000'000;
}    // namespace

const char* to_text(ConfigFault fault) noexcept {
    switch (fault) {
        case ConfigFault::kNone:
            return "";
        case ConfigFault::kUnknownLevel:
            return "UnknownLevel";
        case ConfigFault::kDevicePeriodOutOfRange:
            return "DevicePeriodOutOfRange";
        case ConfigFault::kZeroKernelSpanStride:
            return "ZeroKernelSpanStride";
    }
    return "";
}

ConfigFault TelemetryConfig::fault_of(const TelemetryOptions& options) noexcept {
    bool known = false;
    for (const Level level : {Level::kOff, Level::kBasic, Level::kLane, Level::kKernel})
        known |= options.level == to_text(level);
    if (!known) return ConfigFault::kUnknownLevel;
    if (options.device_period_ns < kShortestPeriodNs || options.device_period_ns > kLongestPeriodNs)
        return ConfigFault::kDevicePeriodOutOfRange;
    if (options.kernel_span_every == 0) return ConfigFault::kZeroKernelSpanStride;
    return ConfigFault::kNone;
}

Result<TelemetryConfig> TelemetryConfig::make(const TelemetryOptions& options) {
    const ConfigFault fault = fault_of(options);
    std::string text = to_text(fault);
    switch (fault) {
        case ConfigFault::kNone:
            break;
        case ConfigFault::kUnknownLevel:
            text += ": " + parse_level(options.level).error().message;
            break;
        case ConfigFault::kDevicePeriodOutOfRange:
            text += ": " + std::to_string(options.device_period_ns) +
                    " ns: choose a device period from 10 ms to 10 s (10000000 to 10000000000 ns)";
            break;
        case ConfigFault::kZeroKernelSpanStride:
            text +=
                ": no step can be one in 0: choose 1 to time the kernels of every step, 64 for one in 64, or a "
                "lower level to time none";
            break;
    }
    if (fault != ConfigFault::kNone) return Error{Errc::kInvalidArgument, 0, std::move(text)};
    TelemetryConfig out = serving(parse_level(options.level).value(), options.device_index);
    out.device_period_ns_ = options.device_period_ns;
    out.kernel_span_every_ = options.kernel_span_every;
    return out;
}

TelemetryConfig TelemetryConfig::serving(Level level, uint32_t device_index) noexcept {
    TelemetryConfig out;
    out.level_ = level;
    out.device_index_ = device_index;
    return out;
}

}    // namespace lapwing
