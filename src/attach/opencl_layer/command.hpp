// What the layer keeps of a command until its times are read.
#pragma once

#include <array>
#include <cstdint>

#include "attach/opencl_layer/dispatch.hpp"
#include "attach/opencl_layer/kernels.hpp"
#include "lapwing/record.hpp"

namespace lapwing::attach::opencl_layer {

/// What a command does, by the call that enqueues it. Static.
struct CommandType {
    const char* label;    ///< "clEnqueueReadBuffer"
    SpanKind kind;
};

struct Command {
    cl_event event = nullptr;    ///< owned: one reference
    uint64_t number = 0;         ///< on its queue, from 1
    int64_t submitted_ns = 0;
    int64_t enqueued_ns = 0;    ///< after the driver's call, where its QUEUED time is wanted as a clock pair; else 0
    const CommandType* type = nullptr;
    KernelInfo* kernel = nullptr;    ///< null where it runs none
    std::array<uint32_t, 3> grid{};
    uint32_t step = 0;
    bool first_use = false;
};

}    // namespace lapwing::attach::opencl_layer
