#include "attach/vulkan_layer/device_queues.hpp"

#include <time.h>

#include <algorithm>

#include "attach/session/host_time.hpp"
#include "attach/vulkan_layer/chunk_store.hpp"

namespace lapwing::attach::vulkan_layer {

namespace {
// vkDestroyDevice waits this long, from the last result that came, for results that a driver is late with.
constexpr int64_t kDrainNs = 200'000'000;
constexpr timespec kDrainPause{0, 1'000'000};
}    // namespace

DeviceQueues::DeviceQueues(const vulkan::DeviceTable& vk, VkDevice device, const vulkan::DeviceTraits& traits,
                           ChunkStore& chunks, CopyStore& copies, PipelineTable& pipelines, Session& session,
                           DeviceInfo info)
    : vk_(vk),
      device_(device),
      traits_(traits),
      chunks_(chunks),
      copies_(copies),
      pipelines_(pipelines),
      session_(session),
      info_(std::move(info)) {
    spare_submissions_.reserve(kMaxSpareSubmissions);
}

void DeviceQueues::add_queue(VkQueue handle, uint32_t family, uint32_t index) {
    const std::lock_guard lock(mutex_);
    const auto [queue, fresh] = queues_.try_emplace(handle, handle, family, index, traits_.caps(family), traits_.scale);
    if (!fresh) return;
    next_anchor_ns_ = anchor_interval_ns_ = 0;    // the new queue has no anchor yet
    refresh_alignment(host_now_ns());
}

Queue& DeviceQueues::queue_of(VkQueue handle) {
    return queues_.try_emplace(handle, handle, 0, 0, traits_.caps(0), traits_.scale).first->second;
}

bool DeviceQueues::idle() const noexcept {
    return std::all_of(queues_.begin(), queues_.end(),
                       [](const auto& entry) { return entry.second.completed == entry.second.submitted; });
}

void DeviceQueues::note_completed(Queue& queue, uint64_t sequence, int64_t now_ns) {
    if (sequence <= queue.completed) return;
    const uint64_t count = sequence - queue.completed;
    queue.completed = sequence;
    for (Submission& submission : queue.pending) {
        if (submission.sequence > sequence) break;
        if (submission.completed_ns == 0) submission.completed_ns = now_ns;
    }
    if (session_.completed(count, now_ns)) step_closed_ = true;
}

void DeviceQueues::fences_signalled(std::span<const VkFence> fences, int64_t now_ns) {
    const std::lock_guard lock(mutex_);
    if (!usable()) return;
    for (const VkFence fence : fences)
        if (const auto found = fences_.find(fence); found != fences_.end())
            note_completed(*found->second.queue, found->second.sequence, now_ns);
    harvest(now_ns);
}

void DeviceQueues::fences_forgotten(std::span<const VkFence> fences, int64_t now_ns) {
    const std::lock_guard lock(mutex_);
    if (!usable()) return;
    for (const VkFence fence : fences) {
        const auto found = fences_.find(fence);
        if (found == fences_.end()) continue;
        note_completed(*found->second.queue, found->second.sequence, now_ns);
        fences_.erase(found);
    }
}

void DeviceQueues::add_timeline(VkSemaphore semaphore) {
    const std::lock_guard lock(mutex_);
    timelines_[semaphore].clear();
    semaphore_generation_.fetch_add(1, std::memory_order_release);
}

void DeviceQueues::forget_semaphore(VkSemaphore semaphore) noexcept {
    const std::lock_guard lock(mutex_);
    timelines_.erase(semaphore);
    semaphore_generation_.fetch_add(1, std::memory_order_release);
}

void DeviceQueues::timeline_reached(VkSemaphore semaphore, uint64_t value, int64_t now_ns) {
    const std::lock_guard lock(mutex_);
    if (!usable()) return;
    const auto found = timelines_.find(semaphore);
    if (found == timelines_.end()) return;
    for (const TimelineUse& use : found->second)
        if (use.value <= value) note_completed(*use.queue, use.sequence, now_ns);
    std::erase_if(found->second, [](const TimelineUse& use) { return use.sequence <= use.queue->completed; });
    harvest(now_ns);
}

uint64_t DeviceQueues::latest_submit(VkQueue handle) noexcept {
    const std::lock_guard lock(mutex_);
    const auto found = queues_.find(handle);
    return found == queues_.end() ? 0 : found->second.submitted;
}

void DeviceQueues::queue_idle(VkQueue handle, uint64_t sequence, int64_t now_ns) {
    const std::lock_guard lock(mutex_);
    if (!usable()) return;
    note_completed(queue_of(handle), sequence, now_ns);
    harvest(now_ns);
}

void DeviceQueues::device_idle(int64_t now_ns) {
    const std::lock_guard lock(mutex_);
    if (!usable()) return;
    for (auto& [handle, queue] : queues_) note_completed(queue, queue.submitted, now_ns);
    harvest(now_ns);
}

void DeviceQueues::lose(const Submission& submission, LossReason reason) noexcept {
    for (const Execution& execution : submission.executions)
        session_.counters().lost.add(execution.overwritten() ? execution.if_overwritten : reason,
                                     execution.recording->ops.size());
}

void DeviceQueues::lose_pending(LossReason reason) noexcept {
    for (auto& [handle, queue] : queues_) {
        for (const Submission& submission : queue.pending)
            if (!submission.in_lane) lose(submission, reason);
        lose_lanes(queue, reason);
    }
}

void DeviceQueues::device_lost() noexcept {
    const std::lock_guard lock(mutex_);
    if (!usable_.exchange(false, std::memory_order_relaxed)) return;
    lose_pending(LossReason::kDeviceLost);
}

void DeviceQueues::give_up() noexcept {
    const std::lock_guard lock(mutex_);
    Counters::add(session_.counters().faults);
    // What is pending stays where it is: its queries may still be written by the device.
    if (!usable_.exchange(false, std::memory_order_relaxed)) return;
    lose_pending(LossReason::kAbandoned);
}

std::size_t DeviceQueues::pending() const noexcept {
    std::size_t count = 0;
    for (const auto& [handle, queue] : queues_) count += queue.pending.size();
    return count;
}

void DeviceQueues::drain(int64_t now_ns) {
    for (auto& [handle, queue] : queues_) note_completed(queue, queue.submitted, now_ns);
    draining_ = true;
    std::size_t left = 0;
    int64_t deadline_ns = 0;
    for (harvest(now_ns); usable() && pending() > 0; harvest(now_ns)) {
        if (const std::size_t now_left = pending(); now_left != left) {
            left = now_left;
            deadline_ns = host_now_ns() + kDrainNs;
        }
        if (host_now_ns() >= deadline_ns) break;
        nanosleep(&kDrainPause, nullptr);
    }
}

void DeviceQueues::finish(int64_t now_ns) {
    const std::lock_guard lock(mutex_);
    if (usable()) {
        drain(now_ns);
        if (usable()) settle_rest();
        announce_clock();
        usable_.store(false, std::memory_order_relaxed);
    }
    queues_.clear();
}

void DeviceQueues::abandon_at_exit() noexcept {
    // Another thread may hold the lock for good: one that was in a hook when this one called exit() may be gone.
    constexpr int kTries = 100;
    constexpr timespec kPause{0, 1'000'000};
    std::unique_lock lock(mutex_, std::defer_lock);
    for (int i = 0; i < kTries && !lock.try_lock(); ++i) nanosleep(&kPause, nullptr);
    if (!lock.owns_lock() || !usable_.exchange(false, std::memory_order_relaxed)) return;
    try {
        settle_from_memory();
        announce_clock();
    } catch (...) {
        Counters::add(session_.counters().faults);
    }
}

}    // namespace lapwing::attach::vulkan_layer
