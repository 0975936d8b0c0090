// An OpenCL layer (OPENCL_LAYERS) that shares no code with Lapwing: an independent count of what a program makes the
// device execute, by the driver's own answers.
//
// What counts as what, where the driver took the command:
//   dispatches  clEnqueueNDRangeKernel, clEnqueueTask, clEnqueueNativeKernel
//   copies      reads, writes, copies, maps, unmaps and migrations of buffers, images and SVM; clEnqueueSVMFree
//   fills       clEnqueueFillBuffer, clEnqueueFillImage, clEnqueueSVMMemFill
// Beside them: the waits that the program makes (waits), the events that it or a layer above asked for (events), and
// references to events that were taken and given back by calls (retains, releases).
//
// The totals go to the file named by CL_COUNT_OUT at exit, as one JSON object.
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <CL/cl_layer.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <tuple>

namespace {

cl_icd_dispatch g_next;
cl_icd_dispatch g_ours;

enum Kind { kDispatch, kCopy, kFill, kKinds };
std::atomic<uint64_t> g_count[kKinds];
std::atomic<uint64_t> g_waits{0};
std::atomic<uint64_t> g_events{0};
std::atomic<uint64_t> g_retains{0};
std::atomic<uint64_t> g_releases{0};

void count(Kind kind, bool taken, const cl_event* event) {
    if (!taken) return;
    ++g_count[kind];
    if (event != nullptr) ++g_events;
}

template <auto Entry, Kind K>
struct Counted;
template <class... A, cl_int (CL_API_CALL* cl_icd_dispatch::*Entry)(A...), Kind K>
struct Counted<Entry, K> {
    static cl_int CL_API_CALL call(A... arguments) {
        const cl_int result = (g_next.*Entry)(arguments...);
        count(K, result == CL_SUCCESS, std::get<sizeof...(A) - 1>(std::tuple<A...>(arguments...)));
        return result;
    }
};
template <auto Entry>
struct CountedMap;
template <class... A, void* (CL_API_CALL* cl_icd_dispatch::*Entry)(A...)>
struct CountedMap<Entry> {
    static void* CL_API_CALL call(A... arguments) {
        std::tuple<A...> all(arguments...);
        cl_int* const theirs = std::get<sizeof...(A) - 1>(all);
        cl_int result = CL_SUCCESS;
        std::get<sizeof...(A) - 1>(all) = &result;
        void* const out = std::apply([](auto... values) { return (g_next.*Entry)(values...); }, all);
        count(kCopy, result == CL_SUCCESS, std::get<sizeof...(A) - 2>(all));
        if (theirs != nullptr) *theirs = result;
        return out;
    }
};
cl_int CL_API_CALL finish(cl_command_queue queue) {
    ++g_waits;
    return g_next.clFinish(queue);
}
cl_int CL_API_CALL wait_for_events(cl_uint number, const cl_event* events) {
    ++g_waits;
    return g_next.clWaitForEvents(number, events);
}
cl_int CL_API_CALL retain_event(cl_event event) {
    ++g_retains;
    return g_next.clRetainEvent(event);
}
cl_int CL_API_CALL release_event(cl_event event) {
    ++g_releases;
    return g_next.clReleaseEvent(event);
}

void write_counts() {
    const char* const path = std::getenv("CL_COUNT_OUT");
    FILE* const file = path == nullptr ? nullptr : std::fopen(path, "w");
    if (file == nullptr) return;
    const auto of = [](const std::atomic<uint64_t>& value) { return static_cast<unsigned long long>(value.load()); };
    std::fprintf(file,
                 "{\"dispatches\": %llu, \"copies\": %llu, \"fills\": %llu, \"waits\": %llu, \"events\": %llu, "
                 "\"retains\": %llu, \"releases\": %llu}\n",
                 of(g_count[kDispatch]), of(g_count[kCopy]), of(g_count[kFill]), of(g_waits), of(g_events),
                 of(g_retains), of(g_releases));
    std::fclose(file);
}

void hook_all() {
#define COUNTED(name, kind)                \
    if (g_next.clEnqueue##name != nullptr) \
        g_ours.clEnqueue##name = Counted<&cl_icd_dispatch::clEnqueue##name, kind>::call;
    COUNTED(NDRangeKernel, kDispatch)
    COUNTED(Task, kDispatch)
    COUNTED(NativeKernel, kDispatch)
    COUNTED(ReadBuffer, kCopy)
    COUNTED(ReadBufferRect, kCopy)
    COUNTED(WriteBuffer, kCopy)
    COUNTED(WriteBufferRect, kCopy)
    COUNTED(CopyBuffer, kCopy)
    COUNTED(CopyBufferRect, kCopy)
    COUNTED(ReadImage, kCopy)
    COUNTED(WriteImage, kCopy)
    COUNTED(CopyImage, kCopy)
    COUNTED(CopyImageToBuffer, kCopy)
    COUNTED(CopyBufferToImage, kCopy)
    COUNTED(UnmapMemObject, kCopy)
    COUNTED(MigrateMemObjects, kCopy)
    COUNTED(SVMFree, kCopy)
    COUNTED(SVMMemcpy, kCopy)
    COUNTED(SVMMap, kCopy)
    COUNTED(SVMUnmap, kCopy)
    COUNTED(SVMMigrateMem, kCopy)
    COUNTED(FillBuffer, kFill)
    COUNTED(FillImage, kFill)
    COUNTED(SVMMemFill, kFill)
#undef COUNTED
    g_ours.clEnqueueMapBuffer = CountedMap<&cl_icd_dispatch::clEnqueueMapBuffer>::call;
    g_ours.clEnqueueMapImage = CountedMap<&cl_icd_dispatch::clEnqueueMapImage>::call;
    g_ours.clFinish = finish;
    g_ours.clWaitForEvents = wait_for_events;
    g_ours.clRetainEvent = retain_event;
    g_ours.clReleaseEvent = release_event;
}

}    // namespace

extern "C" __attribute__((visibility("default"))) cl_int CL_API_CALL clGetLayerInfo(cl_layer_info what, size_t size,
                                                                                    void* out, size_t* needed) {
    if (what != CL_LAYER_API_VERSION) return CL_INVALID_VALUE;
    const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
    if (out != nullptr && size < sizeof version) return CL_INVALID_VALUE;
    if (out != nullptr) std::memcpy(out, &version, sizeof version);
    if (needed != nullptr) *needed = sizeof version;
    return CL_SUCCESS;
}

extern "C" __attribute__((visibility("default"))) cl_int CL_API_CALL clInitLayer(cl_uint entries,
                                                                                 const cl_icd_dispatch* target,
                                                                                 cl_uint* entries_out,
                                                                                 const cl_icd_dispatch** table_out) {
    std::memcpy(&g_next, target, std::min(entries * sizeof(void*), sizeof g_next));
    g_ours = g_next;
    hook_all();
    std::atexit(write_counts);
    *table_out = &g_ours;
    *entries_out = sizeof g_ours / sizeof(void*);
    return CL_SUCCESS;
}
