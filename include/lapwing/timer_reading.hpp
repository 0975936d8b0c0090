// What a timer says: a time, or why there is none.
#pragma once

#include <cstdint>
#include <optional>

#include "lapwing/loss.hpp"
#include "lapwing/result.hpp"

namespace lapwing {

/// How far a timer is.
enum class TimerState : uint8_t {
    kIdle = 0,    ///< never started
    kRunning,     ///< started, not ended
    kPending,     ///< ended; the device has not got there yet, or nobody has looked
    kReady,       ///< there is a time
    kLost,        ///< there will be none; `lost` and `reason` say why
};

/// A call that does not fit the timer's state. The timer goes on as the comment says, and the call is counted.
enum class TimerMisuse : uint8_t {
    kNone = 0,
    kEndedWithoutStart,    ///< ended, never started: ignored
    kEndedTwice,           ///< ended when it had ended: ignored, the first end counts
    kStartedTwice,         ///< started while running: begins anew, the first start is lost as abandoned
    kNoPool,               ///< the timer was default-constructed or moved from: ignored
};

/// How a time was taken.
enum class TimedBy : uint8_t {
    kStamps = 0,    ///< two stamps of the queue's own clock; nothing waited
    kWaiting,       ///< the host's clock around waits for the queue; see TimerReading::inflation_ns
};

/// Static strings: "idle", ...; a sentence that says what and what to do; "stamps", "waiting".
[[nodiscard]] const char* to_text(TimerState state) noexcept;
[[nodiscard]] const char* describe(TimerMisuse misuse) noexcept;
[[nodiscard]] const char* to_text(TimedBy timed_by) noexcept;

/// A timer's state and, where it is kReady, its time.
struct TimerReading {
    TimerState state = TimerState::kIdle;
    LossReason lost = LossReason::kAbandoned;    ///< where state is kLost
    TimedBy timed_by = TimedBy::kStamps;
    const char* reason = "";    ///< static: what the queue lacks, where lost is kUnsupported
    int64_t begin_ns = 0;       ///< CLOCK_MONOTONIC, as well as the clocks are aligned; where state is kReady
    int64_t duration_ns = 0;    ///< where state is kReady

    /// How much longer waiting makes an interval: the middle one of several waits for an idle queue. Contained in
    /// duration_ns, not subtracted. Absent where nothing waits.
    std::optional<int64_t> inflation_ns;

    [[nodiscard]] bool ready() const noexcept { return state == TimerState::kReady; }
    /// The time in a unit for people; absent where there is none, never 0 for unknown.
    [[nodiscard]] std::optional<double> us() const noexcept {
        return ready() ? std::optional(static_cast<double>(duration_ns) / 1e3) : std::nullopt;
    }
    [[nodiscard]] std::optional<double> ms() const noexcept {
        return ready() ? std::optional(static_cast<double>(duration_ns) / 1e6) : std::nullopt;
    }
};

/// The reading where it is ready, else an error that says why and what to do.
/// Errors:  kInvalidArgument: not started, not ended; kPending; and for lost ones kDeviceLost, kExhausted (no stamp was
///          free), kUnsupported (capture, no timestamps), kDriver (what the driver delivered is no time).
[[nodiscard]] Result<TimerReading> to_result(const TimerReading& reading);

/// Whether a reading may wait for the device, and how long.
struct TimerWait {
    /// Longest wait. Units: ns of host time; 0 = none. The calling thread polls and sleeps; no driver call blocks.
    int64_t deadline_ns = 0;
};

}    // namespace lapwing
