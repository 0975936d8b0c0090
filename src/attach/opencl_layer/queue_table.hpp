// The program's command queues by their handles.
#pragma once

#include <atomic>
#include <memory>
#include <shared_mutex>
#include <unordered_map>
#include <vector>

#include "attach/opencl_layer/queue.hpp"

namespace lapwing::attach::opencl_layer {

/// Threads: any; a shared lock a look-up that the thread's own cache does not answer.
class QueueTable {
public:
    /// Follows a queue that was made just now. Null where nothing is recorded. Throws std::bad_alloc.
    Queue* add(cl_command_queue handle, QueueView view);

    /// Null for a queue that is not followed.
    [[nodiscard]] Queue* find(cl_command_queue handle) noexcept;
    /// As find(); a queue that was made by other means than the calls that are hooked is followed from here on, as it
    /// is.
    [[nodiscard]] Queue* find_or_follow(cl_command_queue handle) noexcept;
    /// The queue that an event's command is on; null for user events.
    [[nodiscard]] Queue* of_event(cl_event event) noexcept;

    void retained(cl_command_queue handle) noexcept;
    /// Before the program's release reaches the driver: the last one ends the queue, which is then followed to the end
    /// of what is in flight.
    void releasing(cl_command_queue handle) noexcept;

    /// Reads what queues that are gone have left behind.
    void harvest_released() noexcept;

    /// The process exits: looks for what is in flight to complete, until nothing has for 1 s or 5 s are over; the
    /// rest is abandoned.
    void drain_at_exit() noexcept;

    void lock_for_fork() noexcept { mutex_.lock(); }
    void unlock_in_parent() noexcept { mutex_.unlock(); }
    void renew_lock_in_child() noexcept { new (&mutex_) std::shared_mutex; }

private:
    struct Entry {
        std::unique_ptr<Queue> queue;
        uint32_t references = 1;
    };
    [[nodiscard]] std::vector<Queue*> all();

    std::shared_mutex mutex_;
    std::atomic<uint64_t> generation_{1};
    std::unordered_map<cl_command_queue, Entry> queues_;
    std::vector<std::unique_ptr<Queue>> released_;
    std::atomic<bool> any_released_{false};
    DeviceTable devices_;
};

/// The process's table. Never destroyed.
[[nodiscard]] QueueTable& queues() noexcept;

}    // namespace lapwing::attach::opencl_layer
