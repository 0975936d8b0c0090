// What the layer keeps of each submit until its results are read.
#pragma once

#include <vulkan/vulkan_core.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "attach/session/queue_clock.hpp"
#include "attach/session/step_clock.hpp"
#include "attach/vulkan_layer/copy_store.hpp"
#include "attach/vulkan_layer/recording.hpp"

namespace lapwing::attach::vulkan_layer {

/// One execution of a recording.
struct Execution {
    static constexpr std::size_t kNever = SIZE_MAX;

    std::shared_ptr<Recording> recording;
    uint64_t number = 0;                 ///< value of Recording::executions when it was submitted
    std::vector<uint32_t> first_uses;    ///< ops that are the first dispatch ever of their pipeline, ascending
    const ResultCopy* copy = nullptr;    ///< where the device copies the results to; null = they are read in place
    std::size_t first_cell = 0;          ///< of its first chunk in the copy
    std::size_t first_request = 0;       ///< while reading in place: its first chunk among the requests
    LossReason if_overwritten = LossReason::kOverwritten;    ///< read in place only: why it was not copied
    std::size_t resumed_by = kNever;         ///< index of the execution in which its suspended render pass ends
    bool overwritten_before_copy = false;    ///< by another execution in front of the copy

    /// Whether its results are gone for good.
    [[nodiscard]] bool overwritten() const noexcept {
        return overwritten_before_copy || number <= recording->contested ||
               (copy == nullptr && number != recording->executions);
    }
};

/// A copy that is in flight behind a recording of a command buffer.
struct CopyInFlight {
    std::shared_ptr<Recording> of;
    ResultCopy* copy = nullptr;
};

/// One vkQueueSubmit call with stamps in it.
struct Submission {
    uint64_t sequence = 0;    ///< number on its queue
    int64_t submitted_ns = 0;
    int64_t completed_ns = 0;    ///< when the program saw it complete; 0 = not yet
    uint32_t step = 0;
    uint32_t fruitless_reads = 0;
    bool unreliable = false;                ///< made after a render pass on a driver that then lies
    bool in_place = false;                  ///< some results are read by the driver, not from copies
    bool in_lane = false;                   ///< level lane: it belongs to its step's span on this queue
    bool first_use = false;                 ///< a pipeline is executed in it for the first time
    std::optional<LossReason> lane_lost;    ///< why its stamps could not be made
    std::shared_ptr<Recording> bracket;     ///< of its two stamps
    std::vector<Execution> executions;
    std::vector<CopyInFlight> copies;
};

/// Level lane: the span of a step on one queue, from the first stamp of the step's first submit to the last stamp of
/// its last one.
struct OpenLane {
    uint32_t step = 0;
    bool placed = false;    ///< the times are known
    uint64_t begin = 0;     ///< unwrapped ticks
    uint64_t end = 0;
    int64_t begin_ns = 0;    ///< host time of `begin`
    bool warmup = false;
    std::optional<LossReason> lost;
};

/// One queue of the device.
struct Queue {
    Queue(VkQueue queue, uint32_t queue_family, uint32_t queue_index, const Caps& caps, const TickScale& scale)
        : handle(queue), family(queue_family), index(queue_index), clock(caps, scale) {}

    VkQueue handle;
    uint32_t family;
    uint32_t index;
    TrackId track = 0;         ///< 0 = not announced yet
    uint64_t submitted = 0;    ///< submits are numbered from 1
    uint64_t completed = 0;    ///< every submit up to here was seen complete by the program
    std::deque<Submission> pending;
    QueueClock clock;
    // Level lane.
    uint32_t lane_entered = kNoStep;    ///< step of the latest submit in a lane
    std::optional<OpenLane> lane;       ///< of the latest submits that were settled
    std::vector<std::shared_ptr<Recording>> spare_brackets;
};

/// What a submit call hands to the driver, as far as it matters here.
struct SubmitContents {
    /// One VkSubmitInfo.
    struct Batch {
        uint32_t buffers = 0;
        bool takes_copies = true;    ///< whether command buffers of ours may be inserted
    };
    struct Signal {
        VkSemaphore semaphore = VK_NULL_HANDLE;
        uint64_t value = 0;        ///< meaningless for binary semaphores
        bool covers_all = true;    ///< waits for all stages of what came before, not only for some
    };
    /// A command buffer to insert.
    struct Insert {
        uint32_t at = 0;    ///< number of a command buffer, counted over all batches
        VkCommandBuffer commands = VK_NULL_HANDLE;
        bool in_front = false;    ///< of that one, not behind it
    };
    std::vector<Batch> batches;
    std::vector<std::shared_ptr<Recording>>
        recordings;    ///< of the command buffers of all batches; null = not followed
    std::vector<Signal> signals;
    std::vector<Insert> inserts;    ///< DeviceQueues' answer, ascending by place

    void clear() noexcept {
        batches.clear();
        recordings.clear();
        signals.clear();
        inserts.clear();
    }
};

/// A submit between its registration and the driver's answer.
struct SubmitTicket {
    Queue* queue = nullptr;    ///< null: nothing was registered
    uint64_t sequence = 0;
    StepClock::Work work;
    LossCounts unstamped;
    uint64_t stamps = 0;
    uint64_t lanes = 0;    ///< spans of steps that it begins
};

}    // namespace lapwing::attach::vulkan_layer
