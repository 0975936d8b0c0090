// A timer for a piece of device work: start it, end it, read it when the device has got there.
//
//     lapwing::TimerPool pool(backend, queue);
//     auto timer = lapwing::make_timer(pool);
//     timer.record_start();
//     ... enqueue work ...
//     timer.record_end();
//     ... later: timer.try_elapsed() never waits; timer.elapsed({.deadline_ns = 1'000'000'000}) does, when asked to.
#pragma once

#include <utility>

#include "lapwing/timer_pool.hpp"
#include "lapwing/timer_reading.hpp"

namespace lapwing {

/// A timer of one queue. May be started again and again; a new start forgets the last time.
/// Threads: one at a time, and record_start() and record_end() as the queue is; may be moved to another thread.
template <Backend B>
class BackendTimer {
public:
    /// A timer that times nothing: its calls are ignored as TimerMisuse::kNoPool.
    BackendTimer() = default;
    explicit BackendTimer(TimerPool<B>& pool) noexcept : pool_(&pool) { slot_.pair = pool.take(); }
    ~BackendTimer() { drop(); }
    BackendTimer(BackendTimer&& other) noexcept
        : pool_(std::exchange(other.pool_, nullptr)), slot_(std::exchange(other.slot_, {})) {}
    BackendTimer& operator=(BackendTimer&& other) noexcept {
        if (this == &other) return *this;
        drop();
        pool_ = std::exchange(other.pool_, nullptr);
        slot_ = std::exchange(other.slot_, {});
        return *this;
    }

    /// Queues the first stamp.
    /// Returns: kStartedTwice where the timer is running: it begins anew, and the earlier start counts as abandoned.
    /// Cost:    hot: one driver call (mark), no lock, no allocation; now and then a reading of the host clock. Where
    /// the
    ///          pool times by waiting: a wait for the queue.
    TimerMisuse record_start() noexcept {
        if (pool_ == nullptr) return TimerMisuse::kNoPool;
        const bool running = slot_.started && !slot_.ended;
        if (slot_.open()) pool_->book().lose(slot_, LossReason::kAbandoned);
        slot_.started = true;
        slot_.ended = false;
        pool_->start(slot_);
        return running ? pool_->book().misused(TimerMisuse::kStartedTwice) : TimerMisuse::kNone;
    }

    /// Queues the second stamp.
    /// Returns: kEndedWithoutStart, kEndedTwice: the call is ignored, what was measured stays.
    /// Cost:    as record_start().
    TimerMisuse record_end() noexcept {
        if (pool_ == nullptr) return TimerMisuse::kNoPool;
        if (!slot_.started) return pool_->book().misused(TimerMisuse::kEndedWithoutStart);
        if (slot_.ended) return pool_->book().misused(TimerMisuse::kEndedTwice);
        slot_.ended = true;
        pool_->end(slot_);
        return TimerMisuse::kNone;
    }

    /// The time, or how far the timer is. Asks the backend at most once and never waits.
    /// Cost:    cold: a short lock and a poll of two stamps until the result is there, then a copy.
    TimerReading try_elapsed() noexcept {
        if (slot_.reading.state == TimerState::kPending) pool_->settle(slot_);
        return slot_.reading;
    }

    /// The time, or an error that says why there is none; see to_result().
    /// Shape:   waits only where `wait` says so, at most until its deadline; kPending then still means "not yet".
    Result<TimerReading> elapsed(TimerWait wait = {}) {
        detail::TimerPatience patience(wait);
        while (try_elapsed().state == TimerState::kPending && patience.sleep()) {
        }
        return to_result(slot_.reading);
    }

    [[nodiscard]] TimerPool<B>* pool() const noexcept { return pool_; }

    /// The measurement, for who goes on with it; the timer is as new.
    [[nodiscard]] detail::TimerSlot release() noexcept {
        detail::TimerSlot out = std::exchange(slot_, {});
        pool_ = nullptr;
        return out;
    }

private:
    void drop() noexcept {
        if (pool_ == nullptr) return;
        if (slot_.open()) pool_->book().lose(slot_, LossReason::kAbandoned);
        pool_->give_back(slot_.pair);
    }

    TimerPool<B>* pool_ = nullptr;
    detail::TimerSlot slot_;
};

/// Starts a timer and ends it with the scope, whichever way the scope is left. The time is read from the timer, later.
template <Backend B>
class TimerScope {
public:
    explicit TimerScope(BackendTimer<B>& timer) noexcept : timer_(timer) { timer_.record_start(); }
    ~TimerScope() { timer_.record_end(); }
    TimerScope(const TimerScope&) = delete;
    TimerScope& operator=(const TimerScope&) = delete;

private:
    BackendTimer<B>& timer_;
};

/// A timer of the pool's queue. Where all of the pool's stamps are in use it is made all the same, and its times are
/// lost as `ring_full`.
template <Backend B>
[[nodiscard]] BackendTimer<B> make_timer(TimerPool<B>& pool) noexcept {
    return BackendTimer<B>(pool);
}

}    // namespace lapwing
