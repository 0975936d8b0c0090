#include "lapwing/timer_reading.hpp"

#include <string>

namespace lapwing {

namespace {

Errc code_of(LossReason reason) {
    switch (reason) {
        case LossReason::kRingFull:
            return Errc::kExhausted;
        case LossReason::kCapture:
        case LossReason::kUnsupported:
        case LossReason::kUnreliableDriver:
            return Errc::kUnsupported;
        case LossReason::kAbandoned:
            return Errc::kInvalidArgument;
        case LossReason::kDeviceLost:
            return Errc::kDeviceLost;
        case LossReason::kZeroStamp:
        case LossReason::kReversed:
        case LossReason::kStale:
        case LossReason::kImplausible:
        case LossReason::kOverwritten:
        case LossReason::kDriverError:
        case LossReason::kUnwritten:    // of recordings only
            break;
    }
    return Errc::kDriver;
}

// What happened and what to do.
std::string sentence(const TimerReading& reading) {
    switch (reading.lost) {
        case LossReason::kRingFull:
            return "all stamps of the pool are in use: raise TimerPoolOptions::max_timers, or let timers go";
        case LossReason::kCapture:
            return "the queue was being captured into a graph, which takes no stamps: time the graph's launch instead";
        case LossReason::kUnsupported:
            return std::string(*reading.reason != '\0' ? reading.reason : "the queue has no timestamps") +
                   ": give TimerPoolOptions::wait to time it by waiting";
        case LossReason::kAbandoned:
            return "it was started again or dropped before it was read";
        case LossReason::kDeviceLost:
            return "the device was lost or reset: make a new pool once it is back";
        case LossReason::kDriverError:
            return "the driver refused the stamp or its result: are commands being recorded on the queue?";
        case LossReason::kZeroStamp:
        case LossReason::kReversed:
        case LossReason::kStale:
        case LossReason::kImplausible:
        case LossReason::kUnreliableDriver:
        case LossReason::kOverwritten:
        case LossReason::kUnwritten:
            break;
    }
    return "what the driver delivered is no time; measure again";
}

}    // namespace

const char* to_text(TimerState state) noexcept {
    switch (state) {
        case TimerState::kRunning:
            return "running";
        case TimerState::kPending:
            return "pending";
        case TimerState::kReady:
            return "ready";
        case TimerState::kLost:
            return "lost";
        case TimerState::kIdle:
            break;
    }
    return "idle";
}

const char* to_text(TimedBy timed_by) noexcept {
    return timed_by == TimedBy::kWaiting ? "waiting" : "stamps";
}

const char* describe(TimerMisuse misuse) noexcept {
    switch (misuse) {
        case TimerMisuse::kNone:
            break;
        case TimerMisuse::kEndedWithoutStart:
            return "the timer was ended without having been started: call record_start() before the work";
        case TimerMisuse::kEndedTwice:
            return "the timer has ended already and keeps its first end: call record_start() to time again";
        case TimerMisuse::kStartedTwice:
            return "the timer was running and begins anew: call record_end() before the next record_start()";
        case TimerMisuse::kNoPool:
            return "the timer has no pool and times nothing: make it with make_timer()";
    }
    return "the call was right";
}

Result<TimerReading> to_result(const TimerReading& reading) {
    switch (reading.state) {
        case TimerState::kReady:
            return reading;
        case TimerState::kRunning:
            return Error{Errc::kInvalidArgument, 0, "the timer was not ended: call record_end() behind the work"};
        case TimerState::kPending:
            return Error{Errc::kPending, 0,
                         "the device has not got to the timer's end yet: ask again later, or with a deadline"};
        case TimerState::kLost:
            return Error{code_of(reading.lost), 0,
                         std::string("the time is lost (") + to_text(reading.lost) + "): " + sentence(reading)};
        case TimerState::kIdle:
            break;
    }
    return Error{Errc::kInvalidArgument, 0,
                 "the timer was not started: call record_start() before the work and record_end() behind it"};
}

}    // namespace lapwing
