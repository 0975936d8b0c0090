// Device busy time and what each step took of it.
#pragma once

#include <cstdint>
#include <vector>

#include "lapwing/report.hpp"
#include "views/stream_model.hpp"

namespace lapwing::detail {

/// What the spans of one step come to; indexed like StreamModel::steps().
struct StepUse {
    int64_t gpu_ns = 0;    ///< union of its device spans, summed over devices
    uint64_t device_spans = 0;
    uint64_t dispatch_spans = 0;
    bool whole = false;      ///< one of its device spans holds all of its dispatches
    bool warmup = false;     ///< at least one of its device spans is a first use
    bool counted = false;    ///< finished, armed, timed and without warm-up: part of the headline

    /// Of `dispatches`: those without a time.
    [[nodiscard]] uint64_t missing(uint64_t dispatches) const noexcept {
        return whole || dispatch_spans >= dispatches ? 0 : dispatches - dispatch_spans;
    }
};

struct DeviceTimes {
    std::vector<DeviceFigures> devices;    ///< those with spans, by id
    std::vector<StepUse> steps;
};

/// Cost:    linear for a device with one queue in order; else a sort, and 24 bytes a span of the device.
[[nodiscard]] DeviceTimes measure_devices(const StreamModel& model);

[[nodiscard]] StepSummary summarise_steps(const StreamModel& model, const std::vector<StepUse>& uses);

}    // namespace lapwing::detail
