#include "attach/opencl_layer/queue_table.hpp"

#include <time.h>

#include <algorithm>
#include <mutex>

#include "attach/session/host_time.hpp"
#include "attach/session/process_state.hpp"

namespace lapwing::attach::opencl_layer {

namespace {
constexpr int64_t kDrainNs = 1'000'000'000;
constexpr int64_t kWholeDrainNs = 5'000'000'000;
constexpr timespec kPause{0, 1'000'000};
constexpr std::size_t kMaxReleased = 256;    // more than this are done with, or lost

// Trivially destructible on purpose: thread-exit destructors of a layer would run in the program's teardown.
struct ThreadCache {
    uint64_t generation = 0;
    cl_command_queue handle = nullptr;
    Queue* queue = nullptr;
};
[[gnu::tls_model("initial-exec")]] constinit thread_local ThreadCache t_cache;

cl_command_queue_properties properties_of(cl_command_queue handle) noexcept {
    cl_command_queue_properties properties = 0;
    static_cast<void>(
        next().clGetCommandQueueInfo(handle, CL_QUEUE_PROPERTIES, sizeof properties, &properties, nullptr));
    return properties;
}
}    // namespace

Queue* QueueTable::add(cl_command_queue handle, QueueView view) {
    Session* const session = process_session();
    if (session == nullptr) return nullptr;
    cl_device_id device = nullptr;
    if (next().clGetCommandQueueInfo(handle, CL_QUEUE_DEVICE, sizeof device, &device, nullptr) != CL_SUCCESS)
        return nullptr;
    const cl_command_queue_properties properties = properties_of(handle);
    Device& of = devices_.find(device, *session);
    const bool timed = (properties & CL_QUEUE_PROFILING_ENABLE) != 0 && of.caps().valid_bits > 0;
    auto queue = std::make_unique<Queue>(handle, of, (properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) == 0, timed,
                                         std::move(view), *session);
    Queue* const raw = queue.get();
    const std::unique_lock lock(mutex_);
    Entry& entry = queues_[handle];
    if (entry.queue != nullptr) released_.push_back(std::move(entry.queue));    // its end was not seen
    entry.queue = std::move(queue);
    entry.references = 1;
    generation_.fetch_add(1, std::memory_order_release);
    return raw;
}

Queue* QueueTable::find(cl_command_queue handle) noexcept {
    ThreadCache& cache = t_cache;
    const uint64_t generation = generation_.load(std::memory_order_acquire);
    if (cache.generation == generation && cache.handle == handle) [[likely]]
        return cache.queue;
    const std::shared_lock lock(mutex_);
    const auto found = queues_.find(handle);
    if (found == queues_.end()) return nullptr;
    cache = {generation, handle, found->second.queue.get()};
    return cache.queue;
}

Queue* QueueTable::find_or_follow(cl_command_queue handle) noexcept {
    if (Queue* const known = find(handle); known != nullptr) [[likely]]
        return known;
    if (handle == nullptr) return nullptr;
    try {
        return add(handle, {});
    } catch (...) {
        return nullptr;
    }
}

Queue* QueueTable::of_event(cl_event event) noexcept {
    cl_command_queue handle = nullptr;
    if (event == nullptr ||
        next().clGetEventInfo(event, CL_EVENT_COMMAND_QUEUE, sizeof handle, &handle, nullptr) != CL_SUCCESS)
        return nullptr;
    return find(handle);
}

void QueueTable::retained(cl_command_queue handle) noexcept {
    const std::unique_lock lock(mutex_);
    if (const auto found = queues_.find(handle); found != queues_.end()) ++found->second.references;
}

void QueueTable::releasing(cl_command_queue handle) noexcept {
    Queue* const queue = find(handle);
    if (queue == nullptr) return;
    queue->harvest();
    const std::unique_lock lock(mutex_);
    const auto found = queues_.find(handle);
    if (found == queues_.end() || --found->second.references > 0) return;
    try {
        released_.push_back(std::move(found->second.queue));
        any_released_.store(true, std::memory_order_relaxed);
    } catch (...) {
        static_cast<void>(found->second.queue.release());    // other threads may still be in it
    }
    queues_.erase(found);
    generation_.fetch_add(1, std::memory_order_release);
}

void QueueTable::harvest_released() noexcept {
    if (!any_released_.load(std::memory_order_relaxed)) return;
    std::vector<std::unique_ptr<Queue>> done;
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock.owns_lock()) return;
    for (auto& queue : released_) {
        queue->harvest();
        const bool empty = queue->pending() == 0;
        if (!empty && released_.size() < kMaxReleased) continue;
        queue->abandon();    // closes its lane; nothing is pending, or too many queues are
    }
    std::erase_if(released_, [](const auto& queue) { return queue->pending() == 0; });
    any_released_.store(!released_.empty(), std::memory_order_relaxed);
}

std::vector<Queue*> QueueTable::all() {
    std::vector<Queue*> out;
    std::shared_lock lock(mutex_, std::defer_lock);
    // Another thread may hold the lock for good: one that was in a hook when this one called exit() may be gone.
    for (int i = 0; i < 100 && !lock.try_lock(); ++i) nanosleep(&kPause, nullptr);
    if (!lock.owns_lock()) return out;
    for (const auto& [handle, entry] : queues_) out.push_back(entry.queue.get());
    for (const auto& queue : released_) out.push_back(queue.get());
    return out;
}

void QueueTable::drain_at_exit() noexcept {
    try {
        const std::vector<Queue*> left = all();
        std::size_t pending = SIZE_MAX;
        const int64_t end_ns = host_now_ns() + kWholeDrainNs;
        int64_t deadline_ns = 0;
        while (pending > 0) {
            std::size_t now_pending = 0;
            for (Queue* const queue : left) {
                queue->seen_complete(std::nullopt);
                now_pending += queue->pending();
            }
            const int64_t now_ns = host_now_ns();
            if (now_pending < pending) deadline_ns = now_ns + kDrainNs;
            pending = now_pending;
            if (pending == 0 || now_ns >= deadline_ns || now_ns >= end_ns) break;
            nanosleep(&kPause, nullptr);
        }
        for (Queue* const queue : left) queue->abandon();
    } catch (...) {
        if (Session* const session = process_session(); session != nullptr) Counters::add(session->counters().faults);
    }
}

QueueTable& queues() noexcept {
    static auto* const table = new QueueTable;
    return *table;
}

}    // namespace lapwing::attach::opencl_layer
