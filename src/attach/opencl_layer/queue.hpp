// A command queue as the layer follows it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "attach/opencl_layer/command.hpp"
#include "attach/opencl_layer/device_table.hpp"
#include "attach/session/queue_clock.hpp"
#include "attach/session/session.hpp"

namespace lapwing::attach::opencl_layer {

/// The program's view of a queue, and where that differs from what the driver has.
struct QueueView {
    bool forced = false;                            ///< profiling is on and the program did not ask for it
    std::vector<cl_queue_properties> properties;    ///< as the program gave them, the final 0 included; may be empty
    bool by_list = false;    ///< made from a list of properties (clCreateCommandQueueWithProperties)
};

/// Keeps the events of the commands in flight, and makes spans of those that are complete. Never waits: asks for
/// execution statuses, in calls in which the program learns of completion, and every 256 commands.
/// Threads: any. The driver is never called with the lock held that enqueueing threads need: drivers call the program
///          back with locks of their own.
class Queue {
public:
    Queue(cl_command_queue handle, Device& device, bool in_order, bool timed, QueueView view, Session& session);
    Queue(const Queue&) = delete;
    Queue& operator=(const Queue&) = delete;

    [[nodiscard]] const QueueView& view() const noexcept { return view_; }
    [[nodiscard]] bool in_order() const noexcept { return in_order_; }
    [[nodiscard]] Session& session() noexcept { return session_; }

    /// A command on its way to the driver.
    struct Ticket {
        StepClock::Work work;
        int64_t submitted_ns = 0;
        uint32_t step = 0;
        bool armed = false;    ///< it belongs to a step that is timed
        bool timed = false;    ///< its event is wanted
    };
    /// Cost:    hot: one clock reading and the step clock's lock.
    [[nodiscard]] Ticket begin(SpanKind kind);
    /// The driver refused it.
    void withdraw(const Ticket& ticket) noexcept;
    /// The driver took it. `event` is ours to release, null where it is not timed. Swallows bad_alloc as a fault.
    /// Returns: its number on the queue.
    uint64_t enqueued(const Ticket& ticket, Command& command) noexcept;

    /// The program knows that the commands up to `number` are complete; where `number` is absent, all those that are
    /// found to be.
    void seen_complete(std::optional<uint64_t> number);
    /// Number of the newest command.
    [[nodiscard]] uint64_t newest() noexcept;
    /// The number of the command with this event, where it is still held.
    [[nodiscard]] std::optional<uint64_t> number_of(cl_event event) noexcept;
    /// References to `event` that are ours.
    [[nodiscard]] cl_uint references_to(cl_event event) noexcept;

    /// Makes spans of what is complete, at the head of the queue. A second harvester returns at once.
    void harvest() noexcept;
    /// The step that a lane belongs to may be over.
    void close_finished_lane();

    /// Commands whose events are held.
    [[nodiscard]] std::size_t pending() noexcept;
    /// Gives up what is pending. Its events stay as they are: the driver may be gone.
    void abandon() noexcept;

private:
    static constexpr uint32_t kBatch = 64;
    [[nodiscard]] std::size_t copy_head() noexcept;
    void drop_head(std::size_t count) noexcept;
    [[nodiscard]] std::size_t settle_batch(std::size_t count);
    void judge(const Command& command, uint64_t begin, uint64_t end);
    void lose(const Command& command, LossReason reason);
    void emit();
    void gather_lane(uint32_t step, std::optional<LossReason> lost, uint64_t begin, uint64_t end, bool first_use);
    void close_lane();
    [[nodiscard]] SiteId site_of(const Command& command);
    [[nodiscard]] TrackId track();

    const cl_command_queue handle_;
    Device& device_;
    const bool in_order_;
    const bool timed_;
    const QueueView view_;
    Session& session_;

    std::atomic<int64_t> next_pair_ns_{0};
    std::mutex mutex_;    // short: what follows, up to the next comment
    std::vector<Command> ring_;
    uint64_t head_ = 0;
    uint64_t tail_ = 0;
    uint64_t newest_ = 0;
    uint64_t seen_ = 0;    // the program knows commands up to here to be complete
    uint32_t lane_entered_ = kNoStep;

    std::mutex harvest_mutex_;    // what follows; taken before mutex_
    std::array<Command, kBatch> batch_;
    QueueClock clock_;
    TrackId track_ = 0;
    uint64_t last_begin_ = 0;
    uint64_t last_end_ = 0;
    struct Timed {
        const Command* command;
        uint64_t begin;    // unwrapped
        uint64_t end;
    };
    std::vector<Timed> timed_commands_;
    std::vector<SpanRecord> spans_;
    struct SiteKey {
        const CommandType* type;
        const KernelInfo* kernel;
        std::array<uint32_t, 3> grid;
        bool warmup;
        friend bool operator==(const SiteKey&, const SiteKey&) = default;
    };
    struct SiteHash {
        std::size_t operator()(const SiteKey& key) const noexcept;
    };
    std::unordered_map<SiteKey, SiteId, SiteHash> sites_;
    struct Lane {
        uint32_t step = 0;
        bool placed = false;
        bool warmup = false;
        uint64_t begin = 0;
        uint64_t end = 0;
        std::optional<LossReason> lost;
    };
    std::optional<Lane> lane_;
};

}    // namespace lapwing::attach::opencl_layer
