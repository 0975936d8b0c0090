// Each kind of command once.
#include <array>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "cl_run.hpp"

namespace programs {

void check(cl_int result, const char* call) {
    if (result == CL_SUCCESS) return;
    std::fprintf(stderr, "cl_run: %s gave %d\n", call, result);
    std::exit(1);
}

namespace {
constexpr std::size_t kItems = 1u << 16;
constexpr std::size_t kBytes = kItems * sizeof(cl_uint);
constexpr const char* kSource =
    "__kernel void burn(__global uint* v, uint n) {\n"
    "  uint x = (uint)get_global_id(0) * 747796405u + 1u;\n"
    "  for (uint k = 0; k < n; ++k) { x ^= x << 13; x ^= x >> 17; x ^= x << 5; }\n"
    "  v[get_global_id(0)] = x;\n"
    "}\n";

void CL_CALLBACK native(void* arguments) {
    int* target = nullptr;
    std::memcpy(&target, arguments, sizeof target);
    *target = 7;
}

void buffers(ClProgram& cl, cl_command_queue queue) {
    std::vector<cl_uint> host(kItems, 3);
    cl_int code = CL_SUCCESS;
    cl_mem const other = clCreateBuffer(cl.context, CL_MEM_READ_WRITE, kBytes, nullptr, &code);
    check(code, "clCreateBuffer");
    const std::size_t origin[3] = {0, 0, 0};
    const std::size_t region[3] = {64, 4, 1};
    check(clEnqueueWriteBuffer(queue, cl.buffer, CL_FALSE, 0, kBytes, host.data(), 0, nullptr, nullptr), "write");
    check(clEnqueueCopyBuffer(queue, cl.buffer, other, 0, 0, kBytes, 0, nullptr, nullptr), "copy");
    check(clEnqueueCopyBufferRect(queue, cl.buffer, other, origin, origin, region, 256, 0, 256, 0, 0, nullptr, nullptr),
          "copy rect");
    check(clEnqueueWriteBufferRect(queue, other, CL_TRUE, origin, origin, region, 256, 0, 256, 0, host.data(), 0,
                                   nullptr, nullptr),
          "write rect");
    check(clEnqueueReadBufferRect(queue, other, CL_TRUE, origin, origin, region, 256, 0, 256, 0, host.data(), 0,
                                  nullptr, nullptr),
          "read rect");
    const cl_uint pattern = 9;
    check(clEnqueueFillBuffer(queue, other, &pattern, sizeof pattern, 0, kBytes, 0, nullptr, nullptr), "fill");
    check(clEnqueueReadBuffer(queue, other, CL_TRUE, 0, kBytes, host.data(), 0, nullptr, nullptr), "read");
    if (host[5] != 9) check(-1000, "the fill's result");
    void* const mapped = clEnqueueMapBuffer(queue, other, CL_TRUE, CL_MAP_READ, 0, kBytes, 0, nullptr, nullptr, &code);
    check(code, "map");
    check(clEnqueueUnmapMemObject(queue, other, mapped, 0, nullptr, nullptr), "unmap");
    check(clEnqueueMigrateMemObjects(queue, 1, &other, 0, 0, nullptr, nullptr), "migrate");
    check(clFinish(queue), "finish");
    clReleaseMemObject(other);
}

void images(ClProgram& cl, cl_command_queue queue) {
    const cl_image_format format{CL_RGBA, CL_UNSIGNED_INT8};
    cl_image_desc description{};
    description.image_type = CL_MEM_OBJECT_IMAGE2D;
    description.image_width = description.image_height = 16;
    cl_int code = CL_SUCCESS;
    std::array<cl_mem, 2> image{};
    for (cl_mem& one : image) {
        one = clCreateImage(cl.context, CL_MEM_READ_WRITE, &format, &description, nullptr, &code);
        check(code, "clCreateImage");
    }
    std::vector<cl_uchar> host(16 * 16 * 4, 5);
    const std::size_t origin[3] = {0, 0, 0};
    const std::size_t region[3] = {16, 16, 1};
    const cl_uint colour[4] = {1, 2, 3, 4};
    check(clEnqueueWriteImage(queue, image[0], CL_FALSE, origin, region, 0, 0, host.data(), 0, nullptr, nullptr),
          "write image");
    check(clEnqueueFillImage(queue, image[1], colour, origin, region, 0, nullptr, nullptr), "fill image");
    check(clEnqueueCopyImage(queue, image[0], image[1], origin, origin, region, 0, nullptr, nullptr), "copy image");
    check(clEnqueueCopyImageToBuffer(queue, image[1], cl.buffer, origin, region, 0, 0, nullptr, nullptr), "to buffer");
    check(clEnqueueCopyBufferToImage(queue, cl.buffer, image[0], 0, origin, region, 0, nullptr, nullptr), "to image");
    check(clEnqueueReadImage(queue, image[0], CL_TRUE, origin, region, 0, 0, host.data(), 0, nullptr, nullptr),
          "read image");
    if (host[0] != 5) check(-1000, "the image's result");
    std::size_t pitch = 0;
    void* const mapped = clEnqueueMapImage(queue, image[0], CL_FALSE, CL_MAP_READ, origin, region, &pitch, nullptr, 0,
                                           nullptr, nullptr, &code);
    check(code, "map image");
    check(clEnqueueUnmapMemObject(queue, image[0], mapped, 0, nullptr, nullptr), "unmap image");
    check(clFinish(queue), "finish");
    for (cl_mem one : image) clReleaseMemObject(one);
}

void shared_memory(ClProgram& cl, cl_command_queue queue) {
    cl_device_svm_capabilities can = 0;
    clGetDeviceInfo(cl.device, CL_DEVICE_SVM_CAPABILITIES, sizeof can, &can, nullptr);
    if ((can & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER) == 0) return;
    std::array<void*, 2> memory{};
    for (void*& one : memory) one = clSVMAlloc(cl.context, CL_MEM_READ_WRITE, 4096, 0);
    const cl_uint pattern = 4;
    check(clEnqueueSVMMemFill(queue, memory[0], &pattern, sizeof pattern, 4096, 0, nullptr, nullptr), "SVM fill");
    check(clEnqueueSVMMemcpy(queue, CL_TRUE, memory[1], memory[0], 4096, 0, nullptr, nullptr), "SVM copy");
    check(clEnqueueSVMMap(queue, CL_TRUE, CL_MAP_READ, memory[1], 4096, 0, nullptr, nullptr), "SVM map");
    if (static_cast<const cl_uint*>(memory[1])[3] != 4) check(-1000, "the SVM copy's result");
    check(clEnqueueSVMUnmap(queue, memory[1], 0, nullptr, nullptr), "SVM unmap");
    check(clEnqueueSVMFree(queue, 2, memory.data(), nullptr, nullptr, 0, nullptr, nullptr), "SVM free");
    check(clFinish(queue), "finish");
}
}    // namespace

ClProgram::ClProgram() {
    cl_platform_id platform = nullptr;
    check(clGetPlatformIDs(1, &platform, nullptr), "clGetPlatformIDs");
    check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr), "clGetDeviceIDs");
    cl_int code = CL_SUCCESS;
    context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &code);
    check(code, "clCreateContext");
    const char* source = kSource;
    program = clCreateProgramWithSource(context, 1, &source, nullptr, &code);
    check(code, "clCreateProgramWithSource");
    check(clBuildProgram(program, 1, &device, "", nullptr, nullptr), "clBuildProgram");
    kernel = clCreateKernel(program, "burn", &code);
    check(code, "clCreateKernel");
    buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, kBytes, nullptr, &code);
    check(code, "clCreateBuffer");
}

cl_command_queue ClProgram::make_queue(const cl_queue_properties* properties) const {
    cl_int code = CL_SUCCESS;
    cl_command_queue const queue = clCreateCommandQueueWithProperties(context, device, properties, &code);
    check(code, "clCreateCommandQueueWithProperties");
    return queue;
}

void ClProgram::kernel_once(cl_command_queue queue, cl_uint iterations, cl_event* event, cl_event gate) const {
    check(clSetKernelArg(kernel, 0, sizeof buffer, &buffer), "clSetKernelArg");
    check(clSetKernelArg(kernel, 1, sizeof iterations, &iterations), "clSetKernelArg");
    const std::size_t items = kItems;
    const std::size_t group = 64;
    check(clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &items, &group, gate != nullptr ? 1 : 0,
                                 gate != nullptr ? &gate : nullptr, event),
          "clEnqueueNDRangeKernel");
}

void run_every_command(ClProgram& cl) {
    cl_command_queue const queue = cl.make_queue(nullptr);
    cl.kernel_once(queue, 4, nullptr, nullptr);
    cl_device_exec_capabilities can = 0;
    clGetDeviceInfo(cl.device, CL_DEVICE_EXECUTION_CAPABILITIES, sizeof can, &can, nullptr);
    if ((can & CL_EXEC_NATIVE_KERNEL) != 0) {
        static int target = 0;
        int* argument = &target;
        check(
            clEnqueueNativeKernel(queue, native, &argument, sizeof argument, 0, nullptr, nullptr, 0, nullptr, nullptr),
            "native kernel");
        check(clFinish(queue), "finish");
        if (target != 7) check(-1000, "the native kernel's result");
    }
    buffers(cl, queue);
    images(cl, queue);
    shared_memory(cl, queue);
}

}    // namespace programs
