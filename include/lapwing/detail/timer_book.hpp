// A TimerPool without its backend: free stamps, counters, the clock, and what becomes of a pair of stamps.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "lapwing/backend.hpp"
#include "lapwing/detail/device_timeline.hpp"
#include "lapwing/loss.hpp"
#include "lapwing/sink.hpp"
#include "lapwing/timer_reading.hpp"

namespace lapwing {

/// How a TimerPool is laid out.
struct TimerPoolOptions {
    std::string name = "device";    ///< what traces call the source of the probes
    bool host = false;              ///< whether they time the host itself

    uint32_t max_timers = 4096;    ///< timers that may exist at a time; 1 .. 2^20. Memory comes as they are made.
    uint32_t first_stamp = 0;      ///< lowest slot number the backend is asked for

    /// Waits until all work on the queue is complete; false where that failed. Null: a queue without timestamps is not
    /// timed, and its times are lost as unsupported. Never called where the queue has timestamps.
    bool (*wait)(void* context) noexcept = nullptr;
    void* wait_context = nullptr;
    uint32_t round_trips = 9;    ///< waits for the idle queue from which the inflation is found; >= 1

    uint32_t zeros_to_degrade = 16;    ///< zero stamps in a row after which the queue counts as one without; 0 = never
    int64_t max_span_ns = 0;           ///< longest plausible time; 0 = as long as the pool has lived

    /// The host clock, for tests and simulations; null = host_now().
    HostNs (*now)(void* context) noexcept = nullptr;
    void* now_context = nullptr;
};

/// The queue of a pool as it was found.
struct TimerPoolInfo {
    bool supported = false;     ///< whether there are times, by whatever means
    const char* reason = "";    ///< static: why the queue has no stamps; empty where it has
    TimedBy timed_by = TimedBy::kStamps;
    std::optional<int64_t> inflation_ns;    ///< see TimerReading; absent before the first timer started
    ClockInfo clock;
};

/// What became of the timers' measurements.
/// Shape:   begun == measured + lost.total() + those that are running or were not read yet.
struct TimerPoolStats {
    uint64_t begun = 0;
    uint64_t measured = 0;
    LossCounts lost;
    uint64_t misused = 0;    ///< calls that were answered by a TimerMisuse
    uint32_t timers = 0;     ///< pairs of stamps that were ever needed at a time
};

namespace detail {

inline constexpr uint32_t kNoPair = 0xffff'ffff;

/// Two neighbouring stamps of a pool.
struct TimerPair {
    uint32_t index = kNoPair;
    bool fresh = false;    ///< never used before: the backend has to be asked for them
};

/// A measurement on its way.
struct TimerSlot {
    TimerPair pair;
    bool started = false;
    bool ended = false;
    int64_t before_ns = 0;     ///< host time before the first stamp; 0 = not noted
    uint64_t watermark = 0;    ///< newest tick seen when it started; 0 = none
    TimerReading reading;

    /// Whether its time is still to come.
    [[nodiscard]] bool open() const noexcept {
        return reading.state == TimerState::kRunning || reading.state == TimerState::kPending;
    }
};

/// Sleeps between two looks, until a deadline.
class TimerPatience {
public:
    explicit TimerPatience(TimerWait wait) noexcept;
    /// False, at once, where the deadline has passed.
    [[nodiscard]] bool sleep() noexcept;

private:
    int64_t deadline_ns_;
    int64_t pause_ns_ = 0;
};

/// Threads: may_start() and may_end() as the queue; take(), refuse(), give_back() and judge() with lock() held; the
/// rest
///          any.
class TimerBook {
public:
    TimerBook(const TimerPoolOptions& options, const Caps& caps);

    [[nodiscard]] TimerPair take() noexcept;
    void give_back(TimerPair pair) noexcept;
    /// The backend has no room for a fresh pair: the pool is as large as it gets.
    void refuse(TimerPair pair) noexcept;
    [[nodiscard]] uint32_t first_stamp(TimerPair pair) const noexcept { return options_.first_stamp + 2 * pair.index; }

    /// Whether the stamp is to be marked; where not, the slot says why, or the host's clock was read in its place.
    [[nodiscard]] bool may_start(TimerSlot& slot) noexcept {
        begun_.fetch_add(1, std::memory_order_relaxed);
        slot.reading = {};
        slot.reading.state = TimerState::kRunning;
        slot.before_ns = 0;
        slot.watermark = newest_.load(std::memory_order_relaxed);
        if (slot.pair.index == kNoPair || !stamps_.load(std::memory_order_relaxed)) [[unlikely]]
            return start_otherwise(slot);
        if (bracket_wanted_.load(std::memory_order_relaxed)) [[unlikely]]
            slot.before_ns = now().value;
        return true;
    }
    [[nodiscard]] bool may_end(TimerSlot& slot) noexcept {
        if (slot.reading.state != TimerState::kRunning) [[unlikely]]
            return false;
        if (slot.reading.timed_by == TimedBy::kWaiting) [[unlikely]]
            return end_by_waiting(slot);
        slot.reading.state = TimerState::kPending;
        return true;
    }
    void lose(TimerSlot& slot, LossReason reason) noexcept;
    TimerMisuse misused(TimerMisuse misuse) noexcept {
        misused_.fetch_add(1, std::memory_order_relaxed);
        return misuse;
    }

    [[nodiscard]] std::unique_lock<std::mutex> lock() noexcept { return std::unique_lock(mutex_); }
    /// Makes a time of two stamps, or says why there is none; nothing where one is pending.
    void judge(TimerSlot& slot, const Stamp& begin, const Stamp& end) noexcept;

    void anchor(const ClockAnchor& anchor) noexcept;
    [[nodiscard]] const std::string& name() const noexcept { return options_.name; }
    [[nodiscard]] bool host() const noexcept { return options_.host; }
    [[nodiscard]] TimerPoolInfo info() const;
    [[nodiscard]] TimerPoolStats stats() const noexcept;

private:
    bool start_otherwise(TimerSlot& slot) noexcept;
    bool end_by_waiting(TimerSlot& slot) noexcept;
    void measure_inflation() noexcept;
    void stop_stamps(LossReason reason, const char* text) noexcept;
    [[nodiscard]] HostNs now() const noexcept;

    TimerPoolOptions options_;
    Caps caps_;
    std::atomic<bool> stamps_{true};    // whether marks are taken
    std::atomic<LossReason> stopped_by_{LossReason::kUnsupported};
    std::atomic<const char*> reason_{""};
    std::atomic<bool> bracket_wanted_{true};
    std::atomic<uint64_t> newest_{0};    // newest unwrapped end seen
    std::atomic<uint64_t> begun_{0};
    std::atomic<uint64_t> measured_{0};
    std::atomic<uint64_t> misused_{0};
    std::atomic<int64_t> inflation_ns_{-1};
    LossCounters lost_;

    mutable std::mutex mutex_;
    std::optional<DeviceTimeline> timeline_;
    std::vector<uint32_t> free_;
    uint32_t made_ = 0;
    uint32_t most_;
    uint32_t zeros_in_a_row_ = 0;
};

}    // namespace detail
}    // namespace lapwing
