// Commands: each gets an event, the program's or one of ours, and is followed until its times are read.
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "attach/opencl_layer/queue_table.hpp"
#include "attach/session/cost_meter.hpp"
#include "attach/session/host_time.hpp"
#include "attach/session/host_track.hpp"
#include "attach/session/process_state.hpp"

namespace lapwing::attach::opencl_layer {

namespace {
// A command between the hook's begin and its end. `call` enqueues it with the event that it is handed, and says whether
// the driver took it.
template <class Call>
void follow(Queue& queue, const CommandType& type, KernelInfo* kernel, const std::array<uint32_t, 3>& grid,
            bool blocking, cl_event* programs_event, Call&& call) {
    std::optional<CostMeter> cost;
    if (CostMeter::is_due()) [[unlikely]]
        cost.emplace(queue.session().counters(), CostMeter::Sampled{});
    const Queue::Ticket ticket = queue.begin(type.kind);
    cl_event own = nullptr;
    cl_event* const event = programs_event == nullptr && ticket.timed ? &own : programs_event;
    if (cost) cost->pause();
    const bool taken = call(event);
    if (cost) cost->resume();
    if (!taken) return queue.withdraw(ticket);

    Command command;
    command.type = &type;
    command.kernel = kernel;
    command.grid = grid;
    if (kernel != nullptr && !kernel->used.load(std::memory_order_relaxed))
        command.first_use = !kernel->used.exchange(true, std::memory_order_relaxed);
    if (ticket.timed && event != nullptr && *event != nullptr) {
        command.event = *event;
        if (event == programs_event && next().clRetainEvent(command.event) != CL_SUCCESS) command.event = nullptr;
    }
    const uint64_t number = queue.enqueued(ticket, command);
    if (!blocking) return;
    try {
        queue.seen_complete(queue.in_order() ? std::optional(number) : std::nullopt);
        record_host_call(queue.session(), HostCall::kBlockingTransfer, ticket.submitted_ns, host_now_ns());
    } catch (...) {
        Counters::add(queue.session().counters().faults);
    }
}

Queue* followed(cl_command_queue handle) noexcept {
    return process_live() ? queues().find_or_follow(handle) : nullptr;
}

// Enqueues that return a code and have their event last.
template <auto Entry, const CommandType& Type, bool CanBlock = false>
struct CommandHook;

template <class... Arguments, cl_int (CL_API_CALL* cl_icd_dispatch::*Entry)(cl_command_queue, Arguments...),
          const CommandType& Type, bool CanBlock>
struct CommandHook<Entry, Type, CanBlock> {
    static cl_int CL_API_CALL call(cl_command_queue handle, Arguments... arguments) {
        Queue* const queue = followed(handle);
        if (queue == nullptr) return (next().*Entry)(handle, arguments...);
        std::tuple<Arguments...> all(arguments...);
        constexpr std::size_t kEvent = sizeof...(Arguments) - 1;
        bool blocking = false;
        if constexpr (CanBlock) blocking = std::get<1>(all) != CL_FALSE;
        cl_int result = CL_SUCCESS;
        follow(*queue, Type, nullptr, {}, blocking, std::get<kEvent>(all), [&](cl_event* event) {
            std::get<kEvent>(all) = event;
            result = std::apply([&](auto... values) { return (next().*Entry)(handle, values...); }, all);
            return result == CL_SUCCESS;
        });
        return result;
    }
};

// SVM copies and maps: whether they block comes first.
template <auto Entry, const CommandType& Type>
struct BlockingFirstHook;

template <class... Arguments, cl_int (CL_API_CALL* cl_icd_dispatch::*Entry)(cl_command_queue, cl_bool, Arguments...),
          const CommandType& Type>
struct BlockingFirstHook<Entry, Type> {
    static cl_int CL_API_CALL call(cl_command_queue handle, cl_bool blocking, Arguments... arguments) {
        Queue* const queue = followed(handle);
        if (queue == nullptr) return (next().*Entry)(handle, blocking, arguments...);
        std::tuple<Arguments...> all(arguments...);
        constexpr std::size_t kEvent = sizeof...(Arguments) - 1;
        cl_int result = CL_SUCCESS;
        follow(*queue, Type, nullptr, {}, blocking != CL_FALSE, std::get<kEvent>(all), [&](cl_event* event) {
            std::get<kEvent>(all) = event;
            result = std::apply([&](auto... values) { return (next().*Entry)(handle, blocking, values...); }, all);
            return result == CL_SUCCESS;
        });
        return result;
    }
};

// Maps return the address and have their code last.
template <auto Entry, const CommandType& Type>
struct MapHook;

template <class... Arguments,
          void* (CL_API_CALL* cl_icd_dispatch::*Entry)(cl_command_queue, cl_mem, cl_bool, Arguments...),
          const CommandType& Type>
struct MapHook<Entry, Type> {
    static void* CL_API_CALL call(cl_command_queue handle, cl_mem memory, cl_bool blocking, Arguments... arguments) {
        Queue* const queue = followed(handle);
        if (queue == nullptr) return (next().*Entry)(handle, memory, blocking, arguments...);
        std::tuple<Arguments...> all(arguments...);
        constexpr std::size_t kEvent = sizeof...(Arguments) - 2;
        constexpr std::size_t kCode = sizeof...(Arguments) - 1;
        cl_int* const programs_code = std::get<kCode>(all);
        cl_int code = CL_SUCCESS;
        void* out = nullptr;
        follow(*queue, Type, nullptr, {}, blocking != CL_FALSE, std::get<kEvent>(all), [&](cl_event* event) {
            std::get<kEvent>(all) = event;
            std::get<kCode>(all) = &code;
            out = std::apply([&](auto... values) { return (next().*Entry)(handle, memory, blocking, values...); }, all);
            return code == CL_SUCCESS;
        });
        if (programs_code != nullptr) *programs_code = code;
        return out;
    }
};

// Work-groups in each dimension; zeros where the driver chooses their size.
std::array<uint32_t, 3> groups(const KernelInfo& kernel, cl_uint dimensions, const std::size_t* global,
                               const std::size_t* local) noexcept {
    if (global == nullptr || (local == nullptr && kernel.group[0] == 0)) return {};
    std::array<uint32_t, 3> out{1, 1, 1};
    for (cl_uint i = 0; i < dimensions && i < 3; ++i) {
        const std::size_t size = local != nullptr ? local[i] : kernel.group[i];
        out[i] = size == 0 ? 0 : static_cast<uint32_t>((global[i] + size - 1) / size);
    }
    return out;
}

constexpr CommandType kKernel{"clEnqueueNDRangeKernel", SpanKind::kDispatch};
constexpr CommandType kTask{"clEnqueueTask", SpanKind::kDispatch};

cl_int CL_API_CALL EnqueueNDRangeKernel(cl_command_queue handle, cl_kernel kernel, cl_uint dimensions,
                                        const std::size_t* offset, const std::size_t* global, const std::size_t* local,
                                        cl_uint count, const cl_event* wait_for, cl_event* programs_event) {
    Queue* const queue = kernel == nullptr ? nullptr : followed(handle);
    const auto enqueue = [&](cl_event* event) {
        return next().clEnqueueNDRangeKernel(handle, kernel, dimensions, offset, global, local, count, wait_for, event);
    };
    if (queue == nullptr) return enqueue(programs_event);
    KernelInfo* info = nullptr;
    try {
        info = kernels().find(kernel);
    } catch (...) {
        Counters::add(queue->session().counters().faults);
        return enqueue(programs_event);
    }
    cl_int result = CL_SUCCESS;
    follow(*queue, kKernel, info, groups(*info, dimensions, global, local), false, programs_event,
           [&](cl_event* event) { return (result = enqueue(event)) == CL_SUCCESS; });
    return result;
}

cl_int CL_API_CALL EnqueueTask(cl_command_queue handle, cl_kernel kernel, cl_uint count, const cl_event* wait_for,
                               cl_event* programs_event) {
    Queue* const queue = kernel == nullptr ? nullptr : followed(handle);
    const auto enqueue = [&](cl_event* event) { return next().clEnqueueTask(handle, kernel, count, wait_for, event); };
    if (queue == nullptr) return enqueue(programs_event);
    KernelInfo* info = nullptr;
    try {
        info = kernels().find(kernel);
    } catch (...) {
        Counters::add(queue->session().counters().faults);
        return enqueue(programs_event);
    }
    cl_int result = CL_SUCCESS;
    follow(*queue, kTask, info, {1, 1, 1}, false, programs_event,
           [&](cl_event* event) { return (result = enqueue(event)) == CL_SUCCESS; });
    return result;
}

#define LAPWING_CL_TYPE(name, kind) constexpr CommandType k##name{"clEnqueue" #name, SpanKind::kind};
LAPWING_CL_TYPE(NativeKernel, kDispatch)
LAPWING_CL_TYPE(ReadBuffer, kCopy)
LAPWING_CL_TYPE(ReadBufferRect, kCopy)
LAPWING_CL_TYPE(WriteBuffer, kCopy)
LAPWING_CL_TYPE(WriteBufferRect, kCopy)
LAPWING_CL_TYPE(CopyBuffer, kCopy)
LAPWING_CL_TYPE(CopyBufferRect, kCopy)
LAPWING_CL_TYPE(ReadImage, kCopy)
LAPWING_CL_TYPE(WriteImage, kCopy)
LAPWING_CL_TYPE(CopyImage, kCopy)
LAPWING_CL_TYPE(CopyImageToBuffer, kCopy)
LAPWING_CL_TYPE(CopyBufferToImage, kCopy)
LAPWING_CL_TYPE(MapBuffer, kCopy)
LAPWING_CL_TYPE(MapImage, kCopy)
LAPWING_CL_TYPE(UnmapMemObject, kCopy)
LAPWING_CL_TYPE(MigrateMemObjects, kCopy)
LAPWING_CL_TYPE(FillBuffer, kFill)
LAPWING_CL_TYPE(FillImage, kFill)
LAPWING_CL_TYPE(SVMFree, kCopy)
LAPWING_CL_TYPE(SVMMemcpy, kCopy)
LAPWING_CL_TYPE(SVMMemFill, kFill)
LAPWING_CL_TYPE(SVMMap, kCopy)
LAPWING_CL_TYPE(SVMUnmap, kCopy)
LAPWING_CL_TYPE(SVMMigrateMem, kCopy)
#undef LAPWING_CL_TYPE
}    // namespace

void hook_commands(cl_icd_dispatch& table) noexcept {
    hook(table.clEnqueueNDRangeKernel, EnqueueNDRangeKernel);
    hook(table.clEnqueueTask, EnqueueTask);
#define LAPWING_CL_HOOK(Hook, name, ...) \
    hook(table.clEnqueue##name, Hook<&cl_icd_dispatch::clEnqueue##name, k##name __VA_OPT__(, ) __VA_ARGS__>::call);
    LAPWING_CL_HOOK(CommandHook, NativeKernel)
    LAPWING_CL_HOOK(CommandHook, ReadBuffer, true)
    LAPWING_CL_HOOK(CommandHook, ReadBufferRect, true)
    LAPWING_CL_HOOK(CommandHook, WriteBuffer, true)
    LAPWING_CL_HOOK(CommandHook, WriteBufferRect, true)
    LAPWING_CL_HOOK(CommandHook, CopyBuffer)
    LAPWING_CL_HOOK(CommandHook, CopyBufferRect)
    LAPWING_CL_HOOK(CommandHook, ReadImage, true)
    LAPWING_CL_HOOK(CommandHook, WriteImage, true)
    LAPWING_CL_HOOK(CommandHook, CopyImage)
    LAPWING_CL_HOOK(CommandHook, CopyImageToBuffer)
    LAPWING_CL_HOOK(CommandHook, CopyBufferToImage)
    LAPWING_CL_HOOK(CommandHook, UnmapMemObject)
    LAPWING_CL_HOOK(CommandHook, MigrateMemObjects)
    LAPWING_CL_HOOK(CommandHook, FillBuffer)
    LAPWING_CL_HOOK(CommandHook, FillImage)
    LAPWING_CL_HOOK(CommandHook, SVMFree)
    LAPWING_CL_HOOK(BlockingFirstHook, SVMMemcpy)
    LAPWING_CL_HOOK(CommandHook, SVMMemFill)
    LAPWING_CL_HOOK(BlockingFirstHook, SVMMap)
    LAPWING_CL_HOOK(CommandHook, SVMUnmap)
    LAPWING_CL_HOOK(CommandHook, SVMMigrateMem)
    LAPWING_CL_HOOK(MapHook, MapBuffer)
    LAPWING_CL_HOOK(MapHook, MapImage)
#undef LAPWING_CL_HOOK
}

}    // namespace lapwing::attach::opencl_layer
