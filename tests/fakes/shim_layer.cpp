// Two layers in one library that stand above and below another layer and tell what that layer does by itself.
//
//   VK_LAYER_LAPWING_TEST_above   nearest the program: sees the program's calls
//   VK_LAYER_LAPWING_TEST_below   nearest the driver: sees every call that reaches the driver
//
// Both live in one library, so that the lower one knows, per thread, which call of the program is in progress. The
// first call of the same function inside it is the program's own, passed on; every other call that reaches the driver
// is one that the layer between them issued (`own`). List the folders of their
// manifests in VK_ADD_LAYER_PATH in the order above, layer under test, below.
//
// Written to the file named by VK_SHIM_OUT at vkDestroyDevice and at exit, one JSON object:
//   functions.NAME.{application,passed,own}.{calls,max_ns,total_ns}
//   own_waits                   own calls of vkWaitForFences, vkWaitSemaphores, vkQueueWaitIdle, vkDeviceWaitIdle
//   own_wait_reads              own vkGetQueryPoolResults with VK_QUERY_RESULT_WAIT_BIT
//   own_reads                   own vkGetQueryPoolResults
//   own_reads_while_unfinished  those made while the device had unfinished submissions
//   failed                      own calls that VK_SHIM_FAIL let fail
//   longest_own, longest_added  {name, ns}: the longest own call, and the most time the layer added to a call of the
//                               program (its duration above without its duration below)
//
// VK_SHIM_FAIL=NAME:N        own calls of the function NAME ("vkMapMemory") fail from the N-th on, before the driver
// sees
//                            them, with VK_ERROR_OUT_OF_DEVICE_MEMORY
// VK_SHIM_LOSE=N             from the program's N-th vkQueueSubmit on, that function answers VK_ERROR_DEVICE_LOST
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <type_traits>

#include "layer.hpp"
#include "submission_tracker.hpp"

namespace fakes {
namespace {

#define TIMED_FUNCTIONS(X)      \
    X(WaitForFences)            \
    X(WaitSemaphores)           \
    X(QueueWaitIdle)            \
    X(DeviceWaitIdle)           \
    X(GetQueryPoolResults)      \
    X(GetFenceStatus)           \
    X(ResetFences)              \
    X(CreateFence)              \
    X(DestroyFence)             \
    X(CreateSemaphore)          \
    X(DestroySemaphore)         \
    X(GetSemaphoreCounterValue) \
    X(SignalSemaphore)          \
    X(GetEventStatus)           \
    X(QueueSubmit)              \
    X(QueueSubmit2)             \
    X(BeginCommandBuffer)       \
    X(EndCommandBuffer)         \
    X(ResetCommandBuffer)       \
    X(CreateCommandPool)        \
    X(ResetCommandPool)         \
    X(DestroyCommandPool)       \
    X(AllocateCommandBuffers)   \
    X(FreeCommandBuffers)       \
    X(CreateQueryPool)          \
    X(DestroyQueryPool)         \
    X(ResetQueryPool)           \
    X(CmdResetQueryPool)        \
    X(CmdWriteTimestamp)        \
    X(CmdWriteTimestamp2)       \
    X(CmdCopyQueryPoolResults)  \
    X(CmdDispatch)              \
    X(CmdDispatchBase)          \
    X(CmdDispatchIndirect)      \
    X(CmdCopyBuffer)            \
    X(CmdFillBuffer)            \
    X(CmdUpdateBuffer)          \
    X(CmdBindPipeline)          \
    X(CmdPipelineBarrier)       \
    X(CmdPipelineBarrier2)      \
    X(CmdExecuteCommands)       \
    X(CreateComputePipelines)   \
    X(AllocateMemory)           \
    X(FreeMemory)               \
    X(BindBufferMemory)         \
    X(MapMemory)                \
    X(UnmapMemory)              \
    X(CreateBuffer)             \
    X(DestroyBuffer)            \
    X(GetCalibratedTimestampsEXT)

enum Function : std::size_t {
#define ENUMERATOR(name) k##name,
    TIMED_FUNCTIONS(ENUMERATOR)
#undef ENUMERATOR
        kFunctionCount
};

constexpr std::array<const char*, kFunctionCount> kFunctionNames{
#define NAME(name) "vk" #name,
    TIMED_FUNCTIONS(NAME)
#undef NAME
};

struct Table {
#define MEMBER(name) PFN_vk##name name = nullptr;
    TIMED_FUNCTIONS(MEMBER)
#undef MEMBER
};

void raise_to(std::atomic<int64_t>& maximum, int64_t value) {
    int64_t seen = maximum.load(std::memory_order_relaxed);
    while (seen < value && !maximum.compare_exchange_weak(seen, value, std::memory_order_relaxed)) {
    }
}

struct CallStatistics {
    std::atomic<int64_t> calls{0};
    std::atomic<int64_t> total_ns{0};
    std::atomic<int64_t> max_ns{0};

    void add(int64_t ns) {
        calls.fetch_add(1, std::memory_order_relaxed);
        total_ns.fetch_add(ns, std::memory_order_relaxed);
        raise_to(max_ns, ns);
    }
};

struct FunctionStatistics {
    CallStatistics application;
    CallStatistics passed;
    CallStatistics own;
    std::atomic<int64_t> longest_added_ns{0};
};

std::array<FunctionStatistics, kFunctionCount> g_functions;
std::atomic<int64_t> g_own_wait_reads{0};
std::atomic<int64_t> g_failed{0};
std::atomic<int64_t> g_own_reads_while_unfinished{0};

// The call of the program that this thread is in.
struct ApplicationCall {
    Function function;
    bool passed_on = false;
    int64_t not_the_layers_ns = 0;    // spent in the driver for the program, or in the shim itself
};
thread_local ApplicationCall* t_application_call = nullptr;

int64_t now_ns() {
    return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

struct FailureSetting {
    std::string_view function;
    int64_t first = 0;
};
FailureSetting failure_setting() {
    const char* const text = std::getenv("VK_SHIM_FAIL");
    const std::string_view setting = text != nullptr ? text : "";
    const std::size_t colon = setting.find(':');
    if (colon == std::string_view::npos) return {};
    return {setting.substr(0, colon), std::atoll(text + colon + 1)};
}

// Whether this call, which the layer between makes by itself, is to fail.
bool fails(Function function) {
    static const FailureSetting setting = failure_setting();
    if (setting.function != kFunctionNames[function]) return false;
    static std::atomic<int64_t> calls{0};
    if (++calls < setting.first) return false;
    ++g_failed;
    return true;
}

enum class Place { kAbove, kBelow };

// Times one call for as long as it lives.
template <Place kPlace>
class TimedCall;

template <>
class TimedCall<Place::kAbove> {
public:
    explicit TimedCall(Function function) : call_{.function = function}, began_ns_(now_ns()) {
        t_application_call = &call_;
    }
    ~TimedCall() {
        const int64_t ns = now_ns() - began_ns_;
        t_application_call = nullptr;
        FunctionStatistics& statistics = g_functions[call_.function];
        statistics.application.add(ns);
        raise_to(statistics.longest_added_ns, ns - call_.not_the_layers_ns);
    }
    TimedCall(const TimedCall&) = delete;
    TimedCall& operator=(const TimedCall&) = delete;

private:
    ApplicationCall call_;
    int64_t began_ns_;
};

template <>
class TimedCall<Place::kBelow> {
public:
    explicit TimedCall(Function function) : function_(function), began_ns_(now_ns()) {
        ApplicationCall* const call = t_application_call;
        own_ = call == nullptr || call->function != function || call->passed_on;
        if (!own_) call->passed_on = true;
    }
    ~TimedCall() {
        const int64_t ns = now_ns() - began_ns_;
        FunctionStatistics& statistics = g_functions[function_];
        (own_ ? statistics.own : statistics.passed).add(ns);
        if (!own_) t_application_call->not_the_layers_ns += ns;
    }
    TimedCall(const TimedCall&) = delete;
    TimedCall& operator=(const TimedCall&) = delete;

    bool own() const { return own_; }

private:
    Function function_;
    bool own_ = false;
    int64_t began_ns_;
};

void write_call(std::FILE* file, const char* name, const CallStatistics& calls, const char* separator) {
    std::fprintf(file, "\"%s\":{\"calls\":%lld,\"max_ns\":%lld,\"total_ns\":%lld}%s", name,
                 static_cast<long long>(calls.calls.load()), static_cast<long long>(calls.max_ns.load()),
                 static_cast<long long>(calls.total_ns.load()), separator);
}

void write_longest(std::FILE* file, const char* name, int64_t (*value)(const FunctionStatistics&)) {
    std::size_t longest = 0;
    for (std::size_t i = 0; i < kFunctionCount; ++i)
        if (value(g_functions[i]) > value(g_functions[longest])) longest = i;
    std::fprintf(file, "\"%s\":{\"name\":\"%s\",\"ns\":%lld}", name, kFunctionNames[longest],
                 static_cast<long long>(value(g_functions[longest])));
}

void write_report() {
    const char* const path = std::getenv("VK_SHIM_OUT");
    std::FILE* const file = path != nullptr ? std::fopen(path, "w") : nullptr;
    if (file == nullptr) return;
    std::fputs("{\"functions\":{", file);
    bool first = true;
    for (std::size_t i = 0; i < kFunctionCount; ++i) {
        const FunctionStatistics& statistics = g_functions[i];
        if (statistics.application.calls + statistics.passed.calls + statistics.own.calls == 0) continue;
        std::fprintf(file, "%s\"%s\":{", first ? "" : ",", kFunctionNames[i]);
        write_call(file, "application", statistics.application, ",");
        write_call(file, "passed", statistics.passed, ",");
        write_call(file, "own", statistics.own, "}");
        first = false;
    }
    int64_t own_waits = 0;
    for (const Function wait : {kWaitForFences, kWaitSemaphores, kQueueWaitIdle, kDeviceWaitIdle})
        own_waits += g_functions[wait].own.calls;
    std::fprintf(file, "},\"own_waits\":%lld,\"own_wait_reads\":%lld,\"own_reads\":%lld,",
                 static_cast<long long>(own_waits), static_cast<long long>(g_own_wait_reads.load()),
                 static_cast<long long>(g_functions[kGetQueryPoolResults].own.calls.load()));
    std::fprintf(file, "\"own_reads_while_unfinished\":%lld,\"failed\":%lld,",
                 static_cast<long long>(g_own_reads_while_unfinished.load()), static_cast<long long>(g_failed.load()));
    write_longest(file, "longest_own", [](const FunctionStatistics& of) -> int64_t { return of.own.max_ns; });
    std::fputc(',', file);
    write_longest(file, "longest_added", [](const FunctionStatistics& of) -> int64_t { return of.longest_added_ns; });
    std::fputs("}\n", file);
    std::fclose(file);
}

template <Place kPlace>
struct ShimLayer {
    struct Instance {
        void load(VkInstance, PFN_vkGetInstanceProcAddr) {}
    };
    struct Device {
        Table table;
        SubmissionTracker submissions;

        void load(VkDevice device, PFN_vkGetDeviceProcAddr next, Instance&, VkPhysicalDevice) {
#define LOAD(name) table.name = reinterpret_cast<PFN_vk##name>(find_device_function(next, device, "vk" #name));
            TIMED_FUNCTIONS(LOAD)
#undef LOAD
            if (kPlace == Place::kBelow) submissions.open(device, next);
            static const bool registered = std::atexit(write_report) == 0;
            (void)registered;
        }
        void close() {
            if (kPlace != Place::kBelow) return;
            submissions.close();
            write_report();
        }
    };
    static PFN_vkVoidFunction find_hook(const char* name);
};
using Above = Layer<ShimLayer<Place::kAbove>>;
using Below = Layer<ShimLayer<Place::kBelow>>;

// The hook of a timed function, made from the type of its function pointer.
template <Place kPlace, Function kFunction, auto Next, class Pointer>
struct Timed;
template <Place kPlace, Function kFunction, auto Next, class Result, class First, class... Args>
struct Timed<kPlace, kFunction, Next, Result(VKAPI_PTR*)(First, Args...)> {
    static VKAPI_ATTR Result VKAPI_CALL call(First first, Args... args) {
        const auto next = Layer<ShimLayer<kPlace>>::device(first).table.*Next;
        const TimedCall<kPlace> timed(kFunction);
        if constexpr (kPlace == Place::kBelow && std::is_same_v<Result, VkResult>)
            if (timed.own() && fails(kFunction)) return VK_ERROR_OUT_OF_DEVICE_MEMORY;
        return next(first, args...);
    }
};

VKAPI_ATTR VkResult VKAPI_CALL get_query_pool_results(VkDevice device, VkQueryPool pool, uint32_t first, uint32_t count,
                                                      std::size_t size, void* data, VkDeviceSize stride,
                                                      VkQueryResultFlags flags) {
    auto& state = Below::device(device);
    const int64_t looked_ns = now_ns();
    const bool unfinished = state.submissions.has_unfinished();
    if (t_application_call != nullptr) t_application_call->not_the_layers_ns += now_ns() - looked_ns;
    const TimedCall<Place::kBelow> timed(kGetQueryPoolResults);
    if (timed.own() && unfinished) ++g_own_reads_while_unfinished;
    if (timed.own() && (flags & VK_QUERY_RESULT_WAIT_BIT) != 0) ++g_own_wait_reads;
    if (timed.own() && fails(kGetQueryPoolResults)) return VK_ERROR_OUT_OF_DEVICE_MEMORY;
    return state.table.GetQueryPoolResults(device, pool, first, count, size, data, stride, flags);
}

bool is_lost() {
    static const char* const first = std::getenv("VK_SHIM_LOSE");
    static std::atomic<int64_t> submits{0};
    return first != nullptr && ++submits >= std::atoll(first);
}

VKAPI_ATTR VkResult VKAPI_CALL queue_submit(VkQueue queue, uint32_t count, const VkSubmitInfo* infos, VkFence fence) {
    auto& state = Below::device(queue);
    if (is_lost()) return VK_ERROR_DEVICE_LOST;
    const VkFence used = state.submissions.fence_for(fence);
    const TimedCall<Place::kBelow> timed(kQueueSubmit);
    const VkResult result = state.table.QueueSubmit(queue, count, infos, used);
    state.submissions.submitted(queue, used, result == VK_SUCCESS);
    return result;
}

VKAPI_ATTR VkResult VKAPI_CALL queue_submit2(VkQueue queue, uint32_t count, const VkSubmitInfo2* infos, VkFence fence) {
    auto& state = Below::device(queue);
    const VkFence used = state.submissions.fence_for(fence);
    const TimedCall<Place::kBelow> timed(kQueueSubmit2);
    const VkResult result = state.table.QueueSubmit2(queue, count, infos, used);
    state.submissions.submitted(queue, used, result == VK_SUCCESS);
    return result;
}

VKAPI_ATTR VkResult VKAPI_CALL reset_fences(VkDevice device, uint32_t count, const VkFence* fences) {
    auto& state = Below::device(device);
    for (uint32_t i = 0; i < count; ++i) state.submissions.fence_released(fences[i]);
    const TimedCall<Place::kBelow> timed(kResetFences);
    return state.table.ResetFences(device, count, fences);
}

VKAPI_ATTR void VKAPI_CALL destroy_fence(VkDevice device, VkFence fence, const VkAllocationCallbacks* allocator) {
    auto& state = Below::device(device);
    state.submissions.fence_released(fence);
    const TimedCall<Place::kBelow> timed(kDestroyFence);
    state.table.DestroyFence(device, fence, allocator);
}

PFN_vkVoidFunction find_tracking_hook(const char* name) {
    if (names_function(name, "vkGetQueryPoolResults"))
        return reinterpret_cast<PFN_vkVoidFunction>(get_query_pool_results);
    if (names_function(name, "vkQueueSubmit")) return reinterpret_cast<PFN_vkVoidFunction>(queue_submit);
    if (names_function(name, "vkQueueSubmit2")) return reinterpret_cast<PFN_vkVoidFunction>(queue_submit2);
    if (names_function(name, "vkResetFences")) return reinterpret_cast<PFN_vkVoidFunction>(reset_fences);
    if (names_function(name, "vkDestroyFence")) return reinterpret_cast<PFN_vkVoidFunction>(destroy_fence);
    return nullptr;
}

template <Place kPlace>
PFN_vkVoidFunction ShimLayer<kPlace>::find_hook(const char* name) {
    if (kPlace == Place::kBelow)
        if (const auto hook = find_tracking_hook(name)) return hook;
#define FIND(function)                               \
    if (names_function(name, "vk" #function))        \
        return reinterpret_cast<PFN_vkVoidFunction>( \
            Timed<kPlace, k##function, &Table::function, PFN_vk##function>::call);
    TIMED_FUNCTIONS(FIND)
#undef FIND
    return nullptr;
}

}    // namespace
}    // namespace fakes

extern "C" __attribute__((visibility("default"))) VKAPI_ATTR VkResult VKAPI_CALL
lapwing_test_negotiate_above(VkNegotiateLayerInterface* version) {
    return fakes::Above::negotiate(version);
}

extern "C" __attribute__((visibility("default"))) VKAPI_ATTR VkResult VKAPI_CALL
lapwing_test_negotiate_below(VkNegotiateLayerInterface* version) {
    return fakes::Below::negotiate(version);
}
