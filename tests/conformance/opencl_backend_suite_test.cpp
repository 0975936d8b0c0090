// The OpenCL backend in the suite that every backend passes, on PoCL: a queue in order, one out of order, and spans of
// markers on both.
#include <gtest/gtest.h>

#include "conformance/backend_suite.hpp"
#include "conformance/opencl_harness.hpp"
#include "lapwing/clock.hpp"

namespace lapwing::testing {
namespace {

// All that is enqueued waits behind a user event until finish() opens it.
template <cl_command_queue_properties kProperties>
class OpenClSuiteHarness {
public:
    using BackendType = OpenClBackend;
    static constexpr bool kCanWithhold = true;
    static constexpr uint32_t kMaxMarks = 65536;

    OpenClSuiteHarness() {
        cl_ = OpenClHarness::make(why_not_);
        if (cl_ == nullptr) return;
        handle_ = cl_->make_queue(CL_QUEUE_PROFILING_ENABLE | kProperties);
        backend_ = cl_->make_backend();
        queue_ = backend_->open_queue(handle_).value();
        reset_forbidden_cl_calls();
    }
    ~OpenClSuiteHarness() {
        if (cl_ == nullptr) return;
        finish();
        backend_->shutdown();
        EXPECT_EQ(backend_->stats().events_held, 0u) << "events leak";
    }
    OpenClSuiteHarness(const OpenClSuiteHarness&) = delete;
    OpenClSuiteHarness& operator=(const OpenClSuiteHarness&) = delete;

    [[nodiscard]] std::string why_not() const { return why_not_; }
    OpenClBackend& backend() { return *backend_; }
    OpenClBackend::Queue queue() { return queue_; }
    DeviceRingOptions options() { return {.max_spans = 4096}; }
    HostNs now() { return host_now(); }

    void begin(uint32_t /*max_marks*/) {
        gate_ = cl_->make_gate();
        cl_->hold(handle_, gate_);
    }
    void work() { cl_->dispatch(handle_, 4); }
    void submit() { EXPECT_EQ(clFlush(handle_), CL_SUCCESS); }
    void finish() {
        if (gate_ == nullptr) return;
        cl_->open_gate(gate_);
        gate_ = nullptr;
        cl_->finish(handle_);
    }
    [[nodiscard]] uint64_t blocking_calls() const { return forbidden_cl_calls(); }

private:
    std::string why_not_;
    std::unique_ptr<OpenClHarness> cl_;
    std::unique_ptr<OpenClBackend> backend_;
    OpenClBackend::Queue queue_;
    cl_command_queue handle_ = nullptr;
    cl_event gate_ = nullptr;
};
using InOrder = OpenClSuiteHarness<0>;
using OutOfOrder = OpenClSuiteHarness<CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE>;

}    // namespace

INSTANTIATE_TYPED_TEST_SUITE_P(OpenClInOrder, BackendSuite, InOrder);
INSTANTIATE_TYPED_TEST_SUITE_P(OpenClOutOfOrder, BackendSuite, OutOfOrder);

}    // namespace lapwing::testing
