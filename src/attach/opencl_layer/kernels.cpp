#include "attach/opencl_layer/kernels.hpp"

#include <mutex>
#include <vector>

#include "attach/session/cost_meter.hpp"
#include "attach/session/process_state.hpp"

namespace lapwing::attach::opencl_layer {

namespace {
constexpr std::size_t kCached = 16;

// Trivially destructible on purpose: thread-exit destructors of a layer would run in the program's teardown.
struct ThreadCache {
    uint64_t generation = 0;
    std::array<std::pair<cl_kernel, KernelInfo*>, kCached> entries{};
};
[[gnu::tls_model("initial-exec")]] constinit thread_local ThreadCache t_cache;

std::size_t place(cl_kernel kernel) noexcept {
    const auto bits = reinterpret_cast<uintptr_t>(kernel);
    return (bits >> 4 ^ bits >> 9) % kCached;
}

std::string name_of(cl_kernel kernel) {
    std::size_t size = 0;
    if (next().clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, 0, nullptr, &size) != CL_SUCCESS || size == 0)
        return "kernel without a name";
    std::string name(size, '\0');
    if (next().clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, size, name.data(), nullptr) != CL_SUCCESS)
        return "kernel without a name";
    name.resize(name.find('\0') == std::string::npos ? size : name.find('\0'));
    return name;
}

std::array<std::size_t, 3> required_group(cl_kernel kernel) {
    std::array<std::size_t, 3> group{};
    cl_context context = nullptr;
    cl_program program = nullptr;
    cl_device_id device = nullptr;
    cl_uint devices = 0;
    // Of a kernel for several devices the driver wants to know which; what the source requires holds for all.
    if (next().clGetKernelInfo(kernel, CL_KERNEL_PROGRAM, sizeof program, &program, nullptr) != CL_SUCCESS ||
        next().clGetKernelInfo(kernel, CL_KERNEL_CONTEXT, sizeof context, &context, nullptr) != CL_SUCCESS ||
        next().clGetProgramInfo(program, CL_PROGRAM_NUM_DEVICES, sizeof devices, &devices, nullptr) != CL_SUCCESS ||
        devices != 1 ||
        next().clGetProgramInfo(program, CL_PROGRAM_DEVICES, sizeof device, &device, nullptr) != CL_SUCCESS ||
        next().clGetKernelWorkGroupInfo(kernel, device, CL_KERNEL_COMPILE_WORK_GROUP_SIZE, sizeof group, group.data(),
                                        nullptr) != CL_SUCCESS)
        return {};
    return group;
}

// Both hold for as long as the program waits for its own call: a fault of ours is counted, and the kernel is named when
// it is first enqueued.
void note_kernel(cl_kernel kernel) noexcept {
    try {
        kernels().add(kernel);
    } catch (...) {
        if (Session* const session = process_session(); session != nullptr) Counters::add(session->counters().faults);
    }
}

cl_kernel CL_API_CALL CreateKernel(cl_program program, const char* name, cl_int* result) {
    cl_kernel const kernel = next().clCreateKernel(program, name, result);
    if (kernel != nullptr) note_kernel(kernel);
    return kernel;
}

cl_int CL_API_CALL CreateKernelsInProgram(cl_program program, cl_uint count, cl_kernel* out, cl_uint* count_out) {
    cl_uint made = 0;
    const cl_int result = next().clCreateKernelsInProgram(program, count, out, &made);
    if (count_out != nullptr && result == CL_SUCCESS) *count_out = made;
    if (result == CL_SUCCESS && out != nullptr)
        for (cl_uint i = 0; i < made && i < count; ++i) note_kernel(out[i]);
    return result;
}

cl_kernel CL_API_CALL CloneKernel(cl_kernel source, cl_int* result) {
    cl_kernel const kernel = next().clCloneKernel(source, result);
    if (kernel != nullptr) note_kernel(kernel);
    return kernel;
}

cl_int CL_API_CALL BuildProgram(cl_program program, cl_uint count, const cl_device_id* devices, const char* options,
                                void(CL_CALLBACK* notify)(cl_program, void*), void* data) {
    kernels().forget_program(program);
    return next().clBuildProgram(program, count, devices, options, notify, data);
}
}    // namespace

void KernelTable::add(cl_kernel kernel) {
    const std::unique_lock lock(mutex_);
    by_handle_[kernel] = describe(kernel);
    generation_.fetch_add(1, std::memory_order_release);
}

KernelInfo* KernelTable::find(cl_kernel kernel) {
    ThreadCache& cache = t_cache;
    const uint64_t generation = generation_.load(std::memory_order_acquire);
    auto& entry = cache.entries[place(kernel)];
    if (cache.generation == generation && entry.first == kernel) [[likely]]
        return entry.second;
    if (cache.generation != generation) cache.entries = {};
    cache.generation = generation;
    KernelInfo* found = nullptr;
    {
        const std::shared_lock lock(mutex_);
        if (const auto known = by_handle_.find(kernel); known != by_handle_.end()) found = known->second;
    }
    if (found == nullptr) {
        const std::unique_lock lock(mutex_);
        found = by_handle_[kernel] = describe(kernel);
    }
    entry = {kernel, found};
    return found;
}

KernelInfo* KernelTable::describe(cl_kernel kernel) {
    cl_program program = nullptr;
    static_cast<void>(next().clGetKernelInfo(kernel, CL_KERNEL_PROGRAM, sizeof program, &program, nullptr));
    std::pair<cl_program, std::string> key{program, name_of(kernel)};
    if (const auto known = by_name_.find(key); known != by_name_.end()) return known->second;
    auto made = std::make_unique<KernelInfo>();
    made->name = key.second;
    made->group = required_group(kernel);
    KernelInfo* const info = by_name_.emplace(std::move(key), made.get()).first->second;
    static_cast<void>(made.release());
    return info;
}

void KernelTable::forget_program(cl_program program) noexcept {
    const std::unique_lock lock(mutex_);
    std::erase_if(by_name_, [program](const auto& entry) { return entry.first.first == program; });
}

KernelTable& kernels() noexcept {
    static auto* const table = new KernelTable;
    return *table;
}

void hook_kernels(cl_icd_dispatch& table) noexcept {
    hook(table.clCreateKernel, CreateKernel);
    hook(table.clCreateKernelsInProgram, CreateKernelsInProgram);
    hook(table.clCloneKernel, CloneKernel);
    hook(table.clBuildProgram, BuildProgram);
}

}    // namespace lapwing::attach::opencl_layer
