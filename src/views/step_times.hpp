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
    bool cut = false;        ///< finished and armed, and part of it is not in the stream: StreamModel::beyond_edges()
    bool counted = false;    ///< finished, armed, timed and without warm-up: part of the headline

    /// Of `dispatches`: those without a time.
    [[nodiscard]] uint64_t missing(uint64_t dispatches) const noexcept {
        return whole || dispatch_spans >= dispatches ? 0 : dispatches - dispatch_spans;
    }
};

struct DeviceTimes {
    std::vector<DeviceFigures> devices;    ///< those with spans, by id
    uint32_t gpus = 0;                     ///< how many GPUs they are: several may be one (DeviceInfo::uuid)
    int64_t busy_ns = 0;                   ///< union of each GPU's spans, summed over GPUs
    std::vector<uint32_t> process_gpus;    ///< GPUs with spans of each process; indexed by ModelStep::process
    std::vector<StepUse> steps;
};

/// Cost:    linear for a GPU with one queue in order; else a merge, and 48 bytes a span of the GPU.
[[nodiscard]] DeviceTimes measure_devices(const StreamModel& model);

[[nodiscard]] StepSummary summarise_steps(const StreamModel& model, const DeviceTimes& times);

}    // namespace lapwing::detail
