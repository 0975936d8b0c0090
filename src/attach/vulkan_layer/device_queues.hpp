// A device's queues: what was submitted, what the program has seen complete, and the results read in between.
#pragma once

#include <vulkan/vulkan_core.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "attach/session/session.hpp"
#include "attach/vulkan_layer/pipelines.hpp"
#include "attach/vulkan_layer/site_cache.hpp"
#include "attach/vulkan_layer/submission.hpp"
#include "backends/vulkan/device_clock.hpp"
#include "backends/vulkan/query_chunks.hpp"
#include "lapwing/detail/stamp_floor.hpp"

namespace lapwing::attach::vulkan_layer {

/// Follows every submit from its registration to its results.
///
/// A submit is registered *before* the driver sees it, since another thread may learn of its completion (timeline
/// semaphores) before vkQueueSubmit returns. The lock is never held over the program's own driver calls: a submit may
/// block in the driver until another thread submits. It is held over our reads, so that no submit can slip in between
/// "the device is idle" and the read on drivers whose reads block.
///
/// Threads: any; one lock. Lock order: this one, then the session's, then the recorder's. Members that may allocate
///          throw std::bad_alloc; the caller then calls give_up().
class DeviceQueues {
public:
    DeviceQueues(const vulkan::DeviceTable& vk, VkDevice device, const vulkan::DeviceTraits& traits, ChunkStore& chunks,
                 CopyStore& copies, PipelineTable& pipelines, Session& session, DeviceInfo info);

    /// A queue that the program has fetched. Queues fetched twice keep what is known of them.
    void add_queue(VkQueue handle, uint32_t family, uint32_t index);

    /// Registers a submit, after reading what can be read: it may overwrite results.
    /// Shape:   `contents.inserts` is filled: command buffers that the submit must carry.
    [[nodiscard]] SubmitTicket begin_submit(VkQueue handle, VkFence fence, SubmitContents& contents, int64_t now_ns);
    /// The driver's answer. A refused submit is taken back.
    void end_submit(const SubmitTicket& ticket, VkResult result) noexcept;

    /// The program has seen these fences signalled.
    void fences_signalled(std::span<const VkFence> fences, int64_t now_ns);
    /// Fences may be reset and destroyed only when their submit is complete: it is, and the fence means nothing now.
    void fences_forgotten(std::span<const VkFence> fences, int64_t now_ns);

    /// Fences whose submit is still told from others by them: those in use since they were last reset.
    [[nodiscard]] std::size_t fences_followed() noexcept {
        const std::lock_guard lock(mutex_);
        return fences_.size();
    }

    void add_timeline(VkSemaphore semaphore);
    void forget_semaphore(VkSemaphore semaphore) noexcept;
    /// Rises whenever a semaphore comes or goes. Hot: one load.
    [[nodiscard]] uint64_t semaphore_generation() const noexcept {
        return semaphore_generation_.load(std::memory_order_acquire);
    }
    /// The program has seen a timeline semaphore reach a value.
    void timeline_reached(VkSemaphore semaphore, uint64_t value, int64_t now_ns);

    /// Number of the latest submit of a queue; what queue_idle() later takes as complete.
    [[nodiscard]] uint64_t latest_submit(VkQueue handle) noexcept;
    void queue_idle(VkQueue handle, uint64_t sequence, int64_t now_ns);
    /// Everything submitted so far is complete.
    void device_idle(int64_t now_ns);

    /// The driver said that the device is lost: nothing more is read, what is pending is lost.
    void device_lost() noexcept;

    /// A fault of ours (no memory) has broken the books: what is pending is lost as `abandoned`, nothing new begins.
    void give_up() noexcept;

    /// vkDestroyDevice: reads what is left, then drops everything. The program has made the device idle, but a driver
    /// may still call results not ready: they are asked for again until 200 ms pass in which none came.
    void finish(int64_t now_ns);

    /// The process exits with the device alive, and no driver call is safe any more. Of what the program has seen
    /// complete, results that were copied out are read from memory; the rest is abandoned.
    /// Shape:   gives up after a moment where another thread holds the lock.
    void abandon_at_exit() noexcept;

    /// Whether a recording is to begin with two stamps in a row: a few one-time ones, or a single one that is submitted
    /// again and again, and would carry the stamp each time. Hot: one load.
    [[nodiscard]] bool wants_empty_pair(bool one_time) noexcept {
        uint32_t left = empty_pairs_left_.load(std::memory_order_relaxed);
        while (left != 0 &&
               !empty_pairs_left_.compare_exchange_weak(left, one_time ? left - 1 : 0, std::memory_order_relaxed)) {
        }
        return left != 0;
    }

    /// Whether stamps may still be taken.
    [[nodiscard]] bool usable() const noexcept { return usable_.load(std::memory_order_relaxed); }

private:
    static constexpr std::size_t kMaxSpareSubmissions = 64;
    static constexpr uint32_t kEmptyPairs = 8;

    struct FenceUse {
        Queue* queue = nullptr;
        uint64_t sequence = 0;
    };
    struct TimelineUse {
        uint64_t value = 0;
        Queue* queue = nullptr;
        uint64_t sequence = 0;
    };
    struct TimedOp {
        const RecordedOp* op = nullptr;
        uint64_t begin = 0;    // unwrapped ticks
        uint64_t end = 0;
        bool warmup = false;
    };

    // Where the results of one command buffer of a submit go.
    struct Placement {
        ResultCopy* copy = nullptr;    // null = they stay in the queries
        std::size_t next_cell = 0;
        LossReason if_overwritten = LossReason::kOverwritten;
    };
    // Where a stamp's result is.
    struct StampPlace {
        const Execution* execution = nullptr;
        RecordedStamp stamp;
    };

    Queue& queue_of(VkQueue handle);
    void note_completed(Queue& queue, uint64_t sequence, int64_t now_ns);
    [[nodiscard]] bool idle() const noexcept;
    [[nodiscard]] std::size_t pending() const noexcept;
    void drain(int64_t now_ns);
    void lose(const Submission& submission, LossReason reason) noexcept;
    void lose_pending(LossReason reason) noexcept;

    // submit_entry.cpp
    void enter_batches(Queue& queue, Submission& submission, SubmitContents& contents, SubmitTicket& ticket);
    static void join_passes(Submission& submission, const Recording& recording, std::size_t own,
                            std::size_t& suspended) noexcept;
    [[nodiscard]] Placement place_results(const Queue& queue, Submission& submission,
                                          const std::shared_ptr<Recording>& recording, bool takes_copies);
    [[nodiscard]] bool is_contested(const Queue& queue, const Recording& recording) const noexcept;
    void enter(Queue& queue, Submission& submission, const std::shared_ptr<Recording>& recording, Placement& results,
               SubmitTicket& ticket);
    [[nodiscard]] Submission spare_submission();
    void retire(Queue& queue, Submission& submission);
    [[nodiscard]] bool take_back(const SubmitTicket& ticket) noexcept;

    // step_lanes.cpp
    void enter_lane(Queue& queue, Submission& submission, SubmitContents& contents, SubmitTicket& ticket);
    [[nodiscard]] std::optional<LossReason> bracket(Queue& queue, Submission& submission);
    void gather_lane(Queue& queue, const Submission& submission, std::optional<LossReason> lost);
    void close_lane(Queue& queue);
    void close_finished_lanes();
    void lose_lanes(Queue& queue, LossReason reason) noexcept;

    // harvest.cpp
    void harvest(int64_t now_ns);
    [[nodiscard]] static bool is_readable(const Queue& queue, bool may_ask) noexcept;
    void request_results(bool may_ask);
    [[nodiscard]] bool has_results(const Submission& submission) const noexcept;
    [[nodiscard]] static std::optional<StampPlace> end_of(const Submission& submission, const Execution& execution,
                                                          const RecordedOp& op) noexcept;
    [[nodiscard]] bool stamp_ready(const StampPlace& place) const noexcept;
    [[nodiscard]] uint64_t stamp_ticks(const StampPlace& place) const noexcept;
    [[nodiscard]] bool op_ready(const Submission& submission, const Execution& execution,
                                const RecordedOp& op) const noexcept;
    bool settle_head(Queue& queue, bool may_ask);
    void settle_rest();
    void settle_from_memory();
    void time_submission(Queue& queue, const Submission& submission);
    void time_execution(Queue& queue, const Submission& submission, const Execution& execution);
    void read_empty_pair(Queue& queue, const Submission& submission, const Execution& execution);
    [[nodiscard]] std::optional<LossReason> time_op(Queue& queue, const Submission& submission,
                                                    const Execution& execution, const RecordedOp& op, bool warmup);
    [[nodiscard]] TrackId track_of(Queue& queue);
    void emit_timed(Queue& queue, const Submission& submission);
    void refresh_alignment(int64_t now_ns);
    void announce_clock();

    const vulkan::DeviceTable& vk_;
    const VkDevice device_;
    const vulkan::DeviceTraits& traits_;
    ChunkStore& chunks_;
    CopyStore& copies_;
    PipelineTable& pipelines_;
    Session& session_;
    std::atomic<bool> usable_{true};
    std::atomic<uint64_t> semaphore_generation_{0};
    std::atomic<uint32_t> empty_pairs_left_{kEmptyPairs};

    std::mutex mutex_;
    DeviceInfo info_;
    lapwing::detail::StampFloor floor_;
    std::map<VkQueue, Queue> queues_;    // a map never moves its queues
    std::unordered_map<VkFence, FenceUse> fences_;
    std::unordered_map<VkSemaphore, std::vector<TimelineUse>> timelines_;
    SiteCache sites_;
    vulkan::QueryReader reader_;
    bool render_pass_seen_ = false;
    bool step_closed_ = false;
    bool draining_ = false;       // a deadline counts, not the number of reads
    bool read_failed_ = false;    // the last read, with an error
    int64_t next_anchor_ns_ = 0;
    int64_t next_clock_news_ns_ = 0;
    int64_t anchor_interval_ns_ = 0;    // grows
    // Kept between harvests for their memory.
    std::vector<vulkan::QueryReader::Request> requests_;
    std::vector<TimedOp> timed_;
    std::vector<vulkan::QueryChunk> copied_chunks_;
    std::vector<Submission> spare_submissions_;
    std::vector<SpanRecord> spans_;
};

}    // namespace lapwing::attach::vulkan_layer
