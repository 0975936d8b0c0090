// What the modes of cl_run share: a context on the first device, one kernel, and one buffer.
#pragma once

#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>

#include <cstdint>
#include <cstdio>
#include <string>

namespace programs {

void check(cl_int result, const char* call);

struct ClProgram {
    ClProgram();

    cl_device_id device = nullptr;
    cl_context context = nullptr;
    cl_program program = nullptr;
    cl_kernel kernel = nullptr;
    cl_mem buffer = nullptr;

    [[nodiscard]] cl_command_queue make_queue(const cl_queue_properties* properties) const;
    /// Enqueues the kernel, 65,536 items in groups of 64, behind `gate` where there is one.
    void kernel_once(cl_command_queue queue, cl_uint iterations, cl_event* event, cl_event gate) const;
};

/// Each command that makes a device work, once, with what it gives back checked.
void run_every_command(ClProgram& cl);

}    // namespace programs
