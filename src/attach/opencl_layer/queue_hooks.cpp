// Queues: made with profiling, and shown to the program as it asked for them.
#include <algorithm>
#include <cstring>

#include "attach/opencl_layer/queue_table.hpp"
#include "attach/session/cost_meter.hpp"
#include "attach/session/process_state.hpp"

namespace lapwing::attach::opencl_layer {

namespace {
bool takes_times() noexcept {
    const Level level = process_config().level;
    return level == Level::kLane || level == Level::kKernel;
}

void follow(cl_command_queue handle, QueueView view) noexcept {
    try {
        static_cast<void>(queues().add(handle, std::move(view)));
    } catch (...) {
        if (Session* const session = process_session(); session != nullptr) Counters::add(session->counters().faults);
    }
}

cl_command_queue CL_API_CALL CreateCommandQueue(cl_context context, cl_device_id device,
                                                cl_command_queue_properties properties, cl_int* result) {
    if (process_session() == nullptr) return next().clCreateCommandQueue(context, device, properties, result);
    CostMeter cost(g_start_ns);
    QueueView view;
    if ((properties & CL_QUEUE_PROFILING_ENABLE) == 0 && takes_times()) {
        cost.pause();
        cl_command_queue const queue =
            next().clCreateCommandQueue(context, device, properties | CL_QUEUE_PROFILING_ENABLE, result);
        cost.resume();
        if (queue != nullptr) {
            view.forced = true;
            follow(queue, std::move(view));
            return queue;
        }
    }
    cost.pause();
    cl_command_queue const queue = next().clCreateCommandQueue(context, device, properties, result);
    cost.resume();
    if (queue != nullptr) follow(queue, std::move(view));
    return queue;
}

// The list with profiling switched on; empty where it is on already, or where it is no list that a driver would take:
// the program then gets the driver's own answer to what it asked.
std::vector<cl_queue_properties> with_profiling(const cl_queue_properties* properties) {
    std::vector<cl_queue_properties> out;
    bool found = false;
    for (; properties != nullptr && properties[0] != 0; properties += 2) {
        out.push_back(properties[0]);
        out.push_back(properties[1]);
        if (properties[0] != CL_QUEUE_PROPERTIES) continue;
        // Queues on the device are not enqueued to by the host.
        if (found || (properties[1] & (CL_QUEUE_PROFILING_ENABLE | CL_QUEUE_ON_DEVICE)) != 0) return {};
        found = true;
        out.back() |= CL_QUEUE_PROFILING_ENABLE;
    }
    if (!found) {
        out.push_back(CL_QUEUE_PROPERTIES);
        out.push_back(CL_QUEUE_PROFILING_ENABLE);
    }
    out.push_back(0);
    return out;
}

cl_command_queue CL_API_CALL CreateCommandQueueWithProperties(cl_context context, cl_device_id device,
                                                              const cl_queue_properties* properties, cl_int* result) {
    const auto create = next().clCreateCommandQueueWithProperties;
    if (process_session() == nullptr) return create(context, device, properties, result);
    CostMeter cost(g_start_ns);
    QueueView view;
    std::vector<cl_queue_properties> forced;
    try {
        view.by_list = true;
        if (properties != nullptr) {
            const cl_queue_properties* end = properties;
            while (*end != 0) end += 2;
            view.properties.assign(properties, end + 1);
        }
        if (takes_times()) forced = with_profiling(properties);
    } catch (...) {
        forced.clear();
    }
    if (!forced.empty()) {
        cost.pause();
        cl_command_queue const queue = create(context, device, forced.data(), result);
        cost.resume();
        if (queue != nullptr) {
            view.forced = true;
            follow(queue, std::move(view));
            return queue;
        }
    }
    cost.pause();
    cl_command_queue const queue = create(context, device, properties, result);
    cost.resume();
    if (queue != nullptr) follow(queue, std::move(view));
    return queue;
}

cl_int CL_API_CALL RetainCommandQueue(cl_command_queue handle) {
    const cl_int result = next().clRetainCommandQueue(handle);
    if (result == CL_SUCCESS) queues().retained(handle);
    return result;
}

cl_int CL_API_CALL ReleaseCommandQueue(cl_command_queue handle) {
    queues().releasing(handle);
    const cl_int result = next().clReleaseCommandQueue(handle);
    queues().harvest_released();
    return result;
}

cl_int give(const void* bytes, std::size_t size, std::size_t room, void* out, std::size_t* needed) noexcept {
    if (out != nullptr) {
        if (room < size) return CL_INVALID_VALUE;
        if (size > 0) std::memcpy(out, bytes, size);
    }
    if (needed != nullptr) *needed = size;
    return CL_SUCCESS;
}

cl_int CL_API_CALL GetCommandQueueInfo(cl_command_queue handle, cl_command_queue_info what, std::size_t room, void* out,
                                       std::size_t* needed) {
    // Drivers may count the events that we hold among the references to their queue.
    Queue* const queue = queues().find(handle);
    if (queue != nullptr && what == CL_QUEUE_REFERENCE_COUNT) queue->harvest();
    if (queue == nullptr || !queue->view().forced) return next().clGetCommandQueueInfo(handle, what, room, out, needed);
    if (what == CL_QUEUE_PROPERTIES_ARRAY && queue->view().by_list) {
        const auto& properties = queue->view().properties;
        return give(properties.data(), properties.size() * sizeof properties[0], room, out, needed);
    }
    const cl_int result = next().clGetCommandQueueInfo(handle, what, room, out, needed);
    if (result == CL_SUCCESS && what == CL_QUEUE_PROPERTIES && out != nullptr) {
        cl_command_queue_properties properties = 0;
        std::memcpy(&properties, out, sizeof properties);
        properties &= ~cl_command_queue_properties{CL_QUEUE_PROFILING_ENABLE};
        std::memcpy(out, &properties, sizeof properties);
    }
    return result;
}

// OpenCL 1.0 only; drivers of today refuse it. Profiling that the program has not asked for stays on.
cl_int CL_API_CALL SetCommandQueueProperty(cl_command_queue handle, cl_command_queue_properties properties,
                                           cl_bool enable, cl_command_queue_properties* old) {
    const Queue* const queue = queues().find(handle);
    const cl_int result = next().clSetCommandQueueProperty(handle, properties, enable, old);
    if (result == CL_SUCCESS && queue != nullptr && queue->view().forced && old != nullptr)
        *old &= ~cl_command_queue_properties{CL_QUEUE_PROFILING_ENABLE};
    return result;
}
}    // namespace

void hook_queues(cl_icd_dispatch& table) noexcept {
    hook(table.clCreateCommandQueue, CreateCommandQueue);
    hook(table.clCreateCommandQueueWithProperties, CreateCommandQueueWithProperties);
    hook(table.clRetainCommandQueue, RetainCommandQueue);
    hook(table.clReleaseCommandQueue, ReleaseCommandQueue);
    hook(table.clGetCommandQueueInfo, GetCommandQueueInfo);
    hook(table.clSetCommandQueueProperty, SetCommandQueueProperty);
}

}    // namespace lapwing::attach::opencl_layer
