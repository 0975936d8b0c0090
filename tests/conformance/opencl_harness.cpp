#include "conformance/opencl_harness.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>

namespace lapwing::testing {
namespace {

#define LAPWING_CL_CHECK(call) EXPECT_EQ(call, CL_SUCCESS) << #call

std::atomic<uint64_t> g_forbidden{0};

constexpr std::size_t kItems = 1u << 16;
constexpr const char* kSource =
    "__kernel void burn(__global uint* v, uint n) {\n"
    "  uint x = (uint)get_global_id(0) * 747796405u + 1u;\n"
    "  for (uint k = 0; k < n; ++k) { x ^= x << 13; x ^= x >> 17; x ^= x << 5; }\n"
    "  v[get_global_id(0)] = x;\n"
    "}\n";

cl_int CL_API_CALL counted_finish(cl_command_queue queue) {
    ++g_forbidden;
    return clFinish(queue);
}
cl_int CL_API_CALL counted_wait(cl_uint count, const cl_event* events) {
    ++g_forbidden;
    return clWaitForEvents(count, events);
}

cl_device_id find_pocl() {
    cl_uint count = 0;
    if (clGetPlatformIDs(0, nullptr, &count) != CL_SUCCESS) return nullptr;
    std::vector<cl_platform_id> platforms(count);
    if (clGetPlatformIDs(count, platforms.data(), nullptr) != CL_SUCCESS) return nullptr;
    for (cl_platform_id platform : platforms) {
        char name[256] = "";
        clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof name - 1, name, nullptr);
        if (std::strcmp(name, "Portable Computing Language") != 0) continue;
        cl_device_id device = nullptr;
        if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr) == CL_SUCCESS) return device;
    }
    return nullptr;
}

}    // namespace

uint64_t forbidden_cl_calls() {
    return g_forbidden;
}
void reset_forbidden_cl_calls() {
    g_forbidden = 0;
}

void* counting_cl_function(const char* name) {
    if (std::strcmp(name, "clFinish") == 0) return reinterpret_cast<void*>(counted_finish);
    if (std::strcmp(name, "clWaitForEvents") == 0) return reinterpret_cast<void*>(counted_wait);
    static void* const loader = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
    return loader == nullptr ? nullptr : dlsym(loader, name);
}

std::unique_ptr<OpenClHarness> OpenClHarness::make(std::string& why_not) {
    cl_device_id const device = find_pocl();
    if (device == nullptr) {
        why_not = "no PoCL device: install pocl-opencl-icd";
        return nullptr;
    }
    std::unique_ptr<OpenClHarness> out(new OpenClHarness);
    out->device_ = device;
    cl_int result = CL_SUCCESS;
    out->context_ = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &result);
    LAPWING_CL_CHECK(result);
    out->program_ = clCreateProgramWithSource(out->context_, 1, const_cast<const char**>(&kSource), nullptr, &result);
    LAPWING_CL_CHECK(result);
    LAPWING_CL_CHECK(clBuildProgram(out->program_, 1, &device, "", nullptr, nullptr));
    out->kernel_ = clCreateKernel(out->program_, "burn", &result);
    LAPWING_CL_CHECK(result);
    out->buffer_ = clCreateBuffer(out->context_, CL_MEM_READ_WRITE, kItems * sizeof(cl_uint), nullptr, &result);
    LAPWING_CL_CHECK(result);
    LAPWING_CL_CHECK(clSetKernelArg(out->kernel_, 0, sizeof out->buffer_, &out->buffer_));
    cl_command_queue const warm = out->make_queue(0);    // the first run compiles
    out->dispatch(warm, 1);
    out->finish(warm);
    return out;
}

OpenClHarness::~OpenClHarness() {
    for (cl_command_queue queue : queues_) clReleaseCommandQueue(queue);
    for (cl_event gate : gates_) clReleaseEvent(gate);
    if (buffer_ != nullptr) clReleaseMemObject(buffer_);
    if (kernel_ != nullptr) clReleaseKernel(kernel_);
    if (program_ != nullptr) clReleaseProgram(program_);
    if (context_ != nullptr) clReleaseContext(context_);
}

std::unique_ptr<OpenClBackend> OpenClHarness::make_backend() {
    auto made = OpenClBackend::create({.context = context_, .device = device_, .find_function = counting_cl_function});
    EXPECT_TRUE(made.ok()) << (made.ok() ? "" : made.error().message);
    return made.ok() ? std::move(made).value() : nullptr;
}

cl_command_queue OpenClHarness::make_queue(cl_command_queue_properties properties) {
    cl_int result = CL_SUCCESS;
    const cl_queue_properties list[] = {CL_QUEUE_PROPERTIES, properties, 0};
    queues_.push_back(clCreateCommandQueueWithProperties(context_, device_, list, &result));
    LAPWING_CL_CHECK(result);
    return queues_.back();
}

void OpenClHarness::dispatch(cl_command_queue queue, uint32_t iterations, cl_event* event,
                             const std::vector<cl_event>& wait_for) {
    const cl_uint n = iterations;
    LAPWING_CL_CHECK(clSetKernelArg(kernel_, 1, sizeof n, &n));
    const std::size_t items = kItems;
    const std::size_t group = 64;
    LAPWING_CL_CHECK(clEnqueueNDRangeKernel(queue, kernel_, 1, nullptr, &items, &group,
                                            static_cast<cl_uint>(wait_for.size()),
                                            wait_for.empty() ? nullptr : wait_for.data(), event));
}

cl_event OpenClHarness::make_gate() {
    cl_int result = CL_SUCCESS;
    gates_.push_back(clCreateUserEvent(context_, &result));
    LAPWING_CL_CHECK(result);
    return gates_.back();
}

void OpenClHarness::hold(cl_command_queue queue, cl_event gate) {
    LAPWING_CL_CHECK(clEnqueueBarrierWithWaitList(queue, 1, &gate, nullptr));
}

void OpenClHarness::open_gate(cl_event gate) {
    LAPWING_CL_CHECK(clSetUserEventStatus(gate, CL_COMPLETE));
}

void OpenClHarness::finish(cl_command_queue queue) {
    LAPWING_CL_CHECK(clFinish(queue));
}

}    // namespace lapwing::testing
