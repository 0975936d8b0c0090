// A small OpenCL program that the tests run as a user's would be run: it knows nothing of Lapwing.
//   cl_run view              what a program sees of its queues and events, as text that is the same in every run
//   cl_run all               each kind of command once, on a queue without profiling
//   cl_run unfinished N      N kernels of some ms, flushed and never waited for: main() returns
//   cl_run queues N          N queues made, used and released one after the other, each with work in flight
//   cl_run loop N            N kernels without an event, then clFinish: for counting instructions
//   cl_run threads N         two threads, N kernels each, on one queue that runs in order
//   cl_run steps N           N steps of 3 kernels and a blocking read
#include "cl_run.hpp"

#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

namespace programs {
namespace {

void view(ClProgram& cl) {
    const cl_queue_properties list[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, 0};
    const cl_queue_properties nothing[] = {0};
    const cl_queue_properties asked[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE, 0};
    for (const cl_queue_properties* properties :
         {list, nothing, asked, static_cast<const cl_queue_properties*>(nullptr)}) {
        cl_int code = CL_SUCCESS;
        cl_command_queue queue = clCreateCommandQueueWithProperties(cl.context, cl.device, properties, &code);
        cl_command_queue_properties shown = 0;
        clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof shown, &shown, nullptr);
        std::array<cl_queue_properties, 8> array{};
        std::size_t size = 0;
        const cl_int asked_array =
            clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES_ARRAY, sizeof array, array.data(), &size);
        std::printf("made %d, properties %llu, array %d of %zu bytes: %llu %llu %llu\n", code,
                    static_cast<unsigned long long>(shown), asked_array, size,
                    static_cast<unsigned long long>(array[0]), static_cast<unsigned long long>(array[1]),
                    static_cast<unsigned long long>(array[2]));
        clRetainCommandQueue(queue);
        cl_uint references = 0;
        clGetCommandQueueInfo(queue, CL_QUEUE_REFERENCE_COUNT, sizeof references, &references, nullptr);
        std::printf("queue references %u\n", references);
        clReleaseCommandQueue(queue);
        cl_event gate = clCreateUserEvent(cl.context, &code);
        cl_event event = nullptr;
        cl.kernel_once(queue, 1, &event, gate);
        cl_uint with_event = 0;
        clGetEventInfo(event, CL_EVENT_REFERENCE_COUNT, sizeof with_event, &with_event, nullptr);
        cl_ulong time = 0;
        const cl_int early = clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof time, &time, nullptr);
        static int g_called;
        g_called = 0;
        clSetEventCallback(
            event, CL_COMPLETE, [](cl_event, cl_int status, void* data) { *static_cast<int*>(data) = 100 + status; },
            &g_called);
        clSetUserEventStatus(gate, CL_COMPLETE);
        std::printf("finish %d\n", clFinish(queue));
        for (int i = 0; i < 1000 && g_called == 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        const cl_int late = clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof time, &time, nullptr);
        cl_int status = -99;
        clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, nullptr);
        std::printf("event references %u, profile early %d, late %d, callback %d, status %d\n", with_event, early, late,
                    g_called, status);
        clReleaseEvent(gate);
        clReleaseEvent(event);
        const std::array<std::size_t, 9> items{};
        cl_event none = nullptr;
        std::printf("bad enqueue %d\n",
                    clEnqueueNDRangeKernel(queue, cl.kernel, 9, nullptr, items.data(), nullptr, 0, nullptr, &none));
        std::printf("bad read %d\n",
                    clEnqueueReadBuffer(queue, cl.buffer, CL_TRUE, 1u << 30, 4, &time, 0, nullptr, &none));
        void* const mapped =
            clEnqueueMapBuffer(queue, cl.buffer, CL_TRUE, CL_MAP_READ, 1u << 30, 4, 0, nullptr, nullptr, &code);
        std::printf("bad map %d, code %d, event %d\n", mapped == nullptr ? 0 : 1, code, none == nullptr ? 0 : 1);
        std::printf("released %d\n", clReleaseCommandQueue(queue));
    }
    cl_int code = CL_SUCCESS;
    const cl_queue_properties wrong[] = {CL_QUEUE_PROPERTIES, cl_queue_properties{1} << 40, 0};
    cl_command_queue const refused = clCreateCommandQueueWithProperties(cl.context, cl.device, wrong, &code);
    std::printf("wrong properties: %s %d\n", refused == nullptr ? "none" : "queue", code);
}

void queues(ClProgram& cl, int count) {
    for (int i = 0; i < count; ++i) {
        cl_command_queue const queue = cl.make_queue(nullptr);
        cl.kernel_once(queue, 20, nullptr, nullptr);
        cl.kernel_once(queue, 20, nullptr, nullptr);
        check(clReleaseCommandQueue(queue), "clReleaseCommandQueue");
    }
    cl_command_queue const last = cl.make_queue(nullptr);
    cl.kernel_once(last, 1, nullptr, nullptr);
    check(clFinish(last), "clFinish");
}

void steps(ClProgram& cl, int count) {
    cl_command_queue const queue = cl.make_queue(nullptr);
    for (int i = 0; i < count; ++i) {
        for (int k = 0; k < 3; ++k) cl.kernel_once(queue, 10, nullptr, nullptr);
        cl_int word = 0;
        check(clEnqueueReadBuffer(queue, cl.buffer, CL_TRUE, 0, sizeof word, &word, 0, nullptr, nullptr), "read");
    }
}

void threads(ClProgram& cl, int count) {
    cl_command_queue const queue = cl.make_queue(nullptr);
    const auto work = [&] {
        cl_int code = CL_SUCCESS;
        cl_kernel const own = clCreateKernel(cl.program, "burn", &code);
        check(code, "clCreateKernel");
        const cl_uint iterations = 1;
        clSetKernelArg(own, 0, sizeof cl.buffer, &cl.buffer);
        clSetKernelArg(own, 1, sizeof iterations, &iterations);
        const std::size_t items = 64;
        for (int i = 0; i < count; ++i) {
            check(clEnqueueNDRangeKernel(queue, own, 1, nullptr, &items, nullptr, 0, nullptr, nullptr), "enqueue");
            if (i % 16 == 0) check(clFinish(queue), "clFinish");
        }
        clReleaseKernel(own);
    };
    std::thread other(work);
    work();
    other.join();
    check(clFinish(queue), "clFinish");
}

}    // namespace
}    // namespace programs

int main(int argc, char** argv) {
    using namespace programs;
    const std::string mode = argc > 1 ? argv[1] : "";
    const int count = argc > 2 ? std::atoi(argv[2]) : 1;
    ClProgram cl;
    if (mode == "view") {
        view(cl);
    } else if (mode == "all") {
        run_every_command(cl);
    } else if (mode == "queues") {
        queues(cl, count);
    } else if (mode == "steps") {
        steps(cl, count);
    } else if (mode == "threads") {
        threads(cl, count);
    } else if (mode == "unfinished" || mode == "loop") {
        cl_command_queue const queue = cl.make_queue(nullptr);
        for (int i = 0; i < count; ++i) cl.kernel_once(queue, mode == "loop" ? 0 : 20, nullptr, nullptr);
        check(mode == "loop" ? clFinish(queue) : clFlush(queue), "clFinish");
    } else {
        std::fprintf(stderr, "usage: cl_run view|all|unfinished N|queues N|loop N|threads N|steps N\n");
        return 2;
    }
    std::printf("done\n");
}
