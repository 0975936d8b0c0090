// A device of scripted time with fault injection: the template of a backend, the test double, and a test kit to use in
// other engines' tests.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "lapwing/backend.hpp"

namespace lapwing {

/// The simulated device's clock and size.
struct SimOptions {
    uint32_t valid_bits = 64;            ///< 0..64; 0 = a queue without timestamps
    double ns_per_tick = 1;              ///< any value: values that are no period are for testing those who read it
    uint64_t start_ticks = 1'000'000;    ///< device time at the start, before masking
    uint64_t ticks_per_mark = 100;       ///< device time that each mark takes on its queue
    uint64_t quantum_ticks = 1;          ///< stamps are multiples of it; >= 1
    uint32_t ready_after_polls = 0;      ///< poll() calls after the mark until a stamp is there; 0 = at the next one
    uint32_t max_stamps = 1u << 20;      ///< slot numbers 0 .. max_stamps - 1 may be marked
    bool calibrated = true;              ///< whether calibrate() answers
    int64_t anchor_uncertainty_ns = 10;
    double fast_ppm = 0;    ///< how much faster the device counts than ns_per_tick says, against the host
    int64_t host_start_ns = 5'000'000'000;    ///< scripted host time at the start
};

/// What may go wrong with a stamp.
enum class SimFault : uint8_t {
    kZero = 0,          ///< the result is zero
    kEarlier,           ///< the result is `amount` ticks too small: reversed when it is an end
    kLater,             ///< the result is `amount` ticks too large
    kStale,             ///< the result is what the slot held before
    kMarkFails,         ///< mark() returns false
    kResultFails,       ///< poll() says kFailed
    kNeverCompletes,    ///< poll() says kPending for ever
    kDelayed,           ///< the result needs `amount` polls more
};

/// Scripted device time.
///
/// Time passes only by marks (ticks_per_mark, per queue) and advance(). Host time (host_now()) runs along with the
/// device's, so that a test is the same on every machine and at every speed; give a DeviceRing
/// `.now = SimBackend::host_clock, .now_context = &sim`.
///
/// Shape:   faults are scripted ahead: script(kZero, 2, 5) lets five marks pass and spoils the two after them, counted
///          over all queues, in the order in which marks are made.
/// Threads: mark on different queues at once; poll and calibrate by one thread at a time; the script by one thread,
///          while nobody marks.
class SimBackend {
public:
    struct Queue {
        uint32_t index = 0;
    };
    static constexpr uint32_t kMaxQueues = 64;

    explicit SimBackend(const SimOptions& options = {});
    ~SimBackend();
    SimBackend(const SimBackend&) = delete;
    SimBackend& operator=(const SimBackend&) = delete;

    // The backend concept; see backend.hpp.

    [[nodiscard]] Caps caps(const Queue& queue) const;
    [[nodiscard]] bool mark(const Queue& queue, uint32_t slot) noexcept;
    void poll(std::span<const uint32_t> slots, std::span<Stamp> out) noexcept;
    [[nodiscard]] Result<ClockAnchor> calibrate(const Queue& queue);
    [[nodiscard]] bool is_capturing(const Queue& queue) const noexcept {
        return capturing_[queue.index].load(std::memory_order_relaxed);
    }
    /// (optional part of the concept) Refuses what lies beyond max_stamps.
    [[nodiscard]] bool reserve(uint32_t first, uint32_t count) noexcept;

    // The script.

    /// Lets device and host time pass on all queues.
    void advance(uint64_t ticks) noexcept { base_.fetch_add(ticks, std::memory_order_relaxed); }

    /// Spoils the `count` marks that follow the next `after` ones.
    void script(SimFault fault, uint64_t count = 1, uint64_t after = 0, uint64_t amount = 1);

    /// From now on commands on the queue are captured, or not any more.
    void set_capturing(const Queue& queue, bool capturing) noexcept {
        capturing_[queue.index].store(capturing, std::memory_order_relaxed);
    }

    /// From now on results need this many polls.
    void set_ready_after_polls(uint32_t polls) noexcept { ready_after_polls_.store(polls, std::memory_order_relaxed); }

    /// Holds the device's work back: every result is pending until it is let go.
    void hold(bool held) noexcept { held_.store(held, std::memory_order_relaxed); }

    /// Makes the stamps themselves take longer on the device, or shorter. Nobody else at work on the backend.
    void set_ticks_per_mark(uint64_t ticks) noexcept { options_.ticks_per_mark = ticks; }

    /// The device is lost: marks fail, results are kLost.
    void lose_device() noexcept { lost_.store(true, std::memory_order_relaxed); }

    /// The device is back after a reset; what was marked before stays lost. Its clock starts at `ticks`.
    void restore_device(uint64_t ticks) noexcept;

    /// The host's clock is put forward (or back) from here on.
    void step_host(int64_t ns) noexcept { host_base_ns_ += ns; }

    /// The calibrating clock has another epoch than the one that stamps: calibrate() answers `ticks` too much.
    void lie_about_epoch(uint64_t ticks) noexcept { epoch_lie_ = ticks; }

    // What happened.

    /// Device time now, not masked.
    [[nodiscard]] uint64_t device_ticks() const noexcept;
    [[nodiscard]] HostNs host_now() const noexcept;
    [[nodiscard]] static HostNs host_clock(void* sim) noexcept { return static_cast<SimBackend*>(sim)->host_now(); }
    [[nodiscard]] uint64_t marks() const noexcept;
    [[nodiscard]] uint64_t polls() const noexcept { return polls_.load(std::memory_order_relaxed); }

    /// Slots asked for by poll(), in total: what a real driver would have been asked.
    [[nodiscard]] uint64_t slots_polled() const noexcept { return slots_polled_.load(std::memory_order_relaxed); }

private:
    struct Cell;
    struct FreeMemory {
        void operator()(Cell* cells) const noexcept;
    };
    struct alignas(64) QueueClock {
        std::atomic<uint64_t> local{0};    // ticks by this queue's marks
        std::atomic<uint64_t> marks{0};
    };
    struct Scripted {
        SimFault fault;
        uint64_t from;
        uint64_t to;
        uint64_t amount;
    };
    [[nodiscard]] std::optional<Scripted> fault_of_next_mark() noexcept;
    [[nodiscard]] bool mark_with_fault(Cell& cell, uint64_t value) noexcept;
    [[nodiscard]] uint64_t shown(uint64_t ticks) const noexcept;

    SimOptions options_;
    double ns_per_tick_;    // of host time; from 1 where the stated period is none
    std::unique_ptr<Cell[], FreeMemory> cells_;
    std::array<QueueClock, kMaxQueues> clocks_;
    std::array<std::atomic<bool>, kMaxQueues> capturing_{};
    std::atomic<uint64_t> base_;
    uint64_t host_base_ticks_;
    int64_t host_base_ns_;
    std::atomic<uint64_t> polls_{0};
    std::atomic<uint64_t> slots_polled_{0};
    std::atomic<uint32_t> ready_after_polls_;
    std::atomic<uint32_t> epoch_{0};    // device generation
    std::atomic<bool> lost_{false};
    std::atomic<bool> held_{false};
    uint64_t epoch_lie_ = 0;
    std::atomic<bool> scripted_{false};
    std::mutex script_mutex_;
    uint64_t script_marks_ = 0;
    std::vector<Scripted> script_;
};

}    // namespace lapwing
