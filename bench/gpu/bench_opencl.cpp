// Spans on the program's own OpenCL events beside a program that keeps them itself, on the first device that is found
// (OCL_ICD_VENDORS chooses the driver).
//   bench_opencl [ROUNDS]
//
// Enqueueing: 256 empty kernels behind a gate, so that the device's threads do not take the processor meanwhile; what
// is timed is the host's part. A round gives each row 4 such batches in turn and takes the fastest; what is printed is
// over the rounds, and the differences are of rows of one round. Harvest: the 256 spans that are complete then, against
// a program that reads START and END of its events and releases them.
//   floor/enqueue      no event is asked for
//   floor/event_kept   the program keeps the event
//   span/adopt         the program keeps it, and a span adopts it
//   floor/event_read   a program reads both times of each event and releases it, 256 of them
//   harvest/256        the ring's harvest of 256 spans
#include <CL/cl.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "lapwing/clock.hpp"
#include "lapwing/device_ring.hpp"
#include "lapwing/level.hpp"
#include "lapwing/opencl_backend.hpp"

namespace lapwing::bench {
namespace {

constexpr std::size_t kBatch = 256;
constexpr int kBatchesARound = 4;
constexpr SiteId kSite = 7;
constexpr const char* kSource = "__kernel void nothing(__global int* v) { v[get_global_id(0)] = 1; }";

[[noreturn]] void give_up(const std::string& what) {
    std::fprintf(stderr, "bench_opencl: %s\n", what.c_str());
    std::exit(1);
}
void check(cl_int result, const char* call) {
    if (result != CL_SUCCESS) give_up(std::string(call) + " gave " + std::to_string(result));
}

double median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}
double ns_since(HostTicks begin) {
    return static_cast<double>(tick().value - begin.value) * host_clock().ns_per_tick;
}

enum class What { kNoEvent, kKept, kAdopted };

class Bench {
public:
    Bench() {
        cl_platform_id platform = nullptr;
        check(clGetPlatformIDs(1, &platform, nullptr), "clGetPlatformIDs");
        check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device_, nullptr), "clGetDeviceIDs");
        cl_int result = CL_SUCCESS;
        context_ = clCreateContext(nullptr, 1, &device_, nullptr, nullptr, &result);
        check(result, "clCreateContext");
        const cl_queue_properties list[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE, 0};
        queue_ = clCreateCommandQueueWithProperties(context_, device_, list, &result);
        check(result, "clCreateCommandQueueWithProperties");
        const char* source = kSource;
        program_ = clCreateProgramWithSource(context_, 1, &source, nullptr, &result);
        check(result, "clCreateProgramWithSource");
        check(clBuildProgram(program_, 1, &device_, "", nullptr, nullptr), "clBuildProgram");
        kernel_ = clCreateKernel(program_, "nothing", &result);
        check(result, "clCreateKernel");
        buffer_ = clCreateBuffer(context_, CL_MEM_READ_WRITE, 64 * sizeof(cl_int), nullptr, &result);
        check(result, "clCreateBuffer");
        check(clSetKernelArg(kernel_, 0, sizeof buffer_, &buffer_), "clSetKernelArg");
        auto backend = OpenClBackend::create({.context = context_, .device = device_});
        if (!backend.ok()) give_up(backend.error().message);
        backend_ = std::move(*backend);
        const auto opened = backend_->open_queue(queue_);
        if (!opened.ok()) give_up(opened.error().message);
        ring_ = std::make_unique<DeviceRing<OpenClBackend>>(*backend_);
        if (!ring_->add_queue(*opened, 1).ok()) give_up("no ring");
        set_level(Level::kKernel);
    }
    ~Bench() {
        set_level(Level::kOff);
        backend_->shutdown();
        clReleaseMemObject(buffer_);
        clReleaseKernel(kernel_);
        clReleaseProgram(program_);
        clReleaseCommandQueue(queue_);
        clReleaseContext(context_);
    }
    Bench(const Bench&) = delete;
    Bench& operator=(const Bench&) = delete;

    struct Times {
        double enqueue_ns = 0;    // a kernel
        double read_ns = 0;       // a span, once all are complete
    };
    Times batch(What what) {
        cl_int result = CL_SUCCESS;
        cl_event const gate = clCreateUserEvent(context_, &result);
        check(result, "clCreateUserEvent");
        check(clEnqueueBarrierWithWaitList(queue_, 1, &gate, nullptr), "clEnqueueBarrierWithWaitList");
        const std::size_t items = 64;
        Times out;
        const HostTicks begin = tick();
        for (std::size_t i = 0; i < kBatch; ++i) {
            if (what == What::kNoEvent) {
                clEnqueueNDRangeKernel(queue_, kernel_, 1, nullptr, &items, nullptr, 0, nullptr, nullptr);
                continue;
            }
            clEnqueueNDRangeKernel(queue_, kernel_, 1, nullptr, &items, nullptr, 0, nullptr, &events_[i]);
            if (what == What::kAdopted) ring_->adopt(0, events_[i], kSite);
        }
        out.enqueue_ns = ns_since(begin) / kBatch;
        check(clSetUserEventStatus(gate, CL_COMPLETE), "clSetUserEventStatus");
        check(clFinish(queue_), "clFinish");
        clReleaseEvent(gate);
        if (what == What::kKept) out.read_ns = read_events();
        if (what == What::kAdopted) {
            const HostTicks harvest = tick();
            const std::size_t got = ring_->harvest(spans_);
            out.read_ns = ns_since(harvest) / kBatch;
            for (cl_event event : events_) clReleaseEvent(event);
            if (got != kBatch) give_up("a harvest gave " + std::to_string(got) + " spans of 256");
        }
        return out;
    }
    [[nodiscard]] std::string device_name() const {
        char name[256] = "";
        clGetDeviceInfo(device_, CL_DEVICE_NAME, sizeof name - 1, name, nullptr);
        return name;
    }

private:
    double read_events() {
        const HostTicks begin = tick();
        cl_ulong sum = 0;
        for (cl_event event : events_) {
            cl_ulong first = 0;
            cl_ulong last = 0;
            clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof first, &first, nullptr);
            clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof last, &last, nullptr);
            sum += last - first;
            clReleaseEvent(event);
        }
        const double ns = ns_since(begin) / kBatch;
        if (sum == 0) give_up("the driver's times are all zero");
        return ns;
    }

    cl_device_id device_ = nullptr;
    cl_context context_ = nullptr;
    cl_command_queue queue_ = nullptr;
    cl_program program_ = nullptr;
    cl_kernel kernel_ = nullptr;
    cl_mem buffer_ = nullptr;
    std::unique_ptr<OpenClBackend> backend_;
    std::unique_ptr<DeviceRing<OpenClBackend>> ring_;
    std::array<cl_event, kBatch> events_{};
    std::array<SpanRecord, kBatch> spans_{};
};

void run(int rounds) {
    Bench bench;
    std::vector<double> rows[5];
    std::vector<double> added[3];
    for (int i = 0; i < 2; ++i) {
        bench.batch(What::kKept);    // compiles, grows the ring
        bench.batch(What::kAdopted);
    }
    for (int round = 0; round < rounds; ++round) {
        Bench::Times best[3];
        for (int i = 0; i < kBatchesARound; ++i) {
            for (const What what : {What::kNoEvent, What::kKept, What::kAdopted}) {
                Bench::Times& row = best[static_cast<int>(what)];
                bench.batch(what);    // in each row's own steady state: what frees events decides what the next costs
                const Bench::Times now = bench.batch(what);
                row.enqueue_ns = i == 0 ? now.enqueue_ns : std::min(row.enqueue_ns, now.enqueue_ns);
                row.read_ns = i == 0 ? now.read_ns : std::min(row.read_ns, now.read_ns);
            }
        }
        for (int i = 0; i < 3; ++i) rows[i].push_back(best[i].enqueue_ns);
        rows[3].push_back(best[1].read_ns);
        rows[4].push_back(best[2].read_ns);
        added[0].push_back(best[1].enqueue_ns - best[0].enqueue_ns);
        added[1].push_back(best[2].enqueue_ns - best[1].enqueue_ns);
        added[2].push_back(best[2].read_ns - best[1].read_ns);
    }
    constexpr const char* kNames[] = {"floor/enqueue", "floor/event_kept", "span/adopt", "floor/event_read",
                                      "harvest/256"};
    std::printf("%s, %d rounds; ns a kernel\n%-18s %10s %10s\n", bench.device_name().c_str(), rounds, "row", "best",
                "median");
    for (int i = 0; i < 5; ++i)
        std::printf("%-18s %10.1f %10.1f\n", kNames[i], *std::min_element(rows[i].begin(), rows[i].end()),
                    median(rows[i]));
    std::printf(
        "event_kept over enqueue %+.1f, adopt over event_kept %+.1f, harvest over event_read %+.1f (medians of "
        "rounds)\n",
        median(added[0]), median(added[1]), median(added[2]));
}

}    // namespace
}    // namespace lapwing::bench

int main(int argc, char** argv) {
    const int rounds = argc > 1 ? std::atoi(argv[1]) : 20;
    if (rounds < 1) {
        std::fprintf(stderr, "usage: bench_opencl [ROUNDS]; ROUNDS is a number from 1\n");
        return 2;
    }
    lapwing::bench::run(rounds);
}
