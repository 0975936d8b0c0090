// PoCL's device, a kernel whose time is proportional to a number, gates, and counters of the calls that a timing tool
// must not make.
#pragma once

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 300
#endif
#include <CL/cl.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lapwing/opencl_backend.hpp"

namespace lapwing::testing {

/// Calls that went through counting_cl_function() since the last reset: clFinish, clWaitForEvents, and everything else
/// that waits. The backend's table does not even ask for them; that it may not is what is tested.
[[nodiscard]] uint64_t forbidden_cl_calls();
void reset_forbidden_cl_calls();

/// A function of the loader, with those that wait counted: give it to the code under test only.
[[nodiscard]] void* counting_cl_function(const char* name);

class OpenClHarness {
public:
    /// Null where there is no PoCL here; the reason is to be given to GTEST_SKIP().
    [[nodiscard]] static std::unique_ptr<OpenClHarness> make(std::string& why_not);
    ~OpenClHarness();
    OpenClHarness(const OpenClHarness&) = delete;
    OpenClHarness& operator=(const OpenClHarness&) = delete;

    [[nodiscard]] std::unique_ptr<OpenClBackend> make_backend();
    [[nodiscard]] cl_command_queue make_queue(cl_command_queue_properties properties);

    /// Enqueues the kernel with `iterations` of about 15 us. Shape: `event` may be null.
    void dispatch(cl_command_queue queue, uint32_t iterations, cl_event* event = nullptr,
                  const std::vector<cl_event>& wait_for = {});
    [[nodiscard]] cl_event make_gate();
    /// What is enqueued on an in-order queue from here on starts when the gate opens.
    void hold(cl_command_queue queue, cl_event gate);
    void open_gate(cl_event gate);
    void finish(cl_command_queue queue);

    [[nodiscard]] cl_context context() const { return context_; }
    [[nodiscard]] cl_device_id device() const { return device_; }

private:
    OpenClHarness() = default;
    cl_device_id device_ = nullptr;
    cl_context context_ = nullptr;
    cl_program program_ = nullptr;
    cl_kernel kernel_ = nullptr;
    cl_mem buffer_ = nullptr;
    std::vector<cl_command_queue> queues_;
    std::vector<cl_event> gates_;
};

}    // namespace lapwing::testing
