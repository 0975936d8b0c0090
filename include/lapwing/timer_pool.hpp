// The stamps that timers of one queue use again and again, and the judging of what comes back.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>

#include "lapwing/backend.hpp"
#include "lapwing/detail/timer_book.hpp"
#include "lapwing/probe_trace.hpp"
#include "lapwing/timer_reading.hpp"

namespace lapwing {

/// The timers of one queue.
///
/// A queue without timestamps can still be timed where TimerPoolOptions::wait says how to wait for it: the host's clock
/// is read around waits then. That holds the queue up and makes intervals longer; by how much is measured with waits
/// for the idle queue when the first timer starts, and stands in each reading (TimerReading::inflation_ns).
///
/// Shape:   the backend outlives the pool, the pool its timers. Stamps first_stamp .. first_stamp + 2 x max_timers - 1
///          of the backend are used, and nobody else uses them.
/// Cost:    no driver object is made for a timer; the backend's reserve() is asked for stamps in blocks.
/// Threads: starting and ending timers is externally synchronised as the queue is; making, reading and dropping them is
///          for any thread, and takes a short lock. Reading polls the backend, which some allow one thread at a time
///          (VulkanBackend): read there where a ring of the same backend is harvested.
template <Backend B>
class TimerPool {
public:
    using Queue = typename B::Queue;

    TimerPool(B& backend, Queue queue, const TimerPoolOptions& options = {})
        : backend_(backend), queue_(std::move(queue)), book_(options, backend.caps(queue_)) {}
    TimerPool(const TimerPool&) = delete;
    TimerPool& operator=(const TimerPool&) = delete;

    /// What the queue can do, and what it cannot and why.
    [[nodiscard]] TimerPoolInfo info() const { return book_.info(); }
    [[nodiscard]] TimerPoolStats stats() const noexcept { return book_.stats(); }

    /// Pairs the clocks by the driver's own means, so that begin_ns is as exact as they are. Without it begin_ns comes
    /// from brackets around starts and readings.
    /// Errors:  the backend's (kUnsupported with the reason).
    /// Cost:    cold, and a driver call that may be slow.
    Status calibrate() {
        Result<ClockAnchor> anchor = backend_.calibrate(queue_);
        if (!anchor.ok()) return anchor.error();
        book_.anchor(*anchor);
        return {};
    }

    /// Hands the results of traced probes (probe_timer.hpp) on, in the order in which they were ended, as far as the
    /// device has got; never waits. Probes that are finished do it too; call it once more when the device is idle.
    /// Returns: how many were handed on, lost ones included.
    std::size_t collect() noexcept {
        const auto guard = book_.lock();
        std::size_t handed = 0;
        for (; !traced_.empty(); traced_.pop_front(), ++handed) {
            Traced& front = traced_.front();
            if (front.slot.reading.state == TimerState::kPending) settle_locked(front.slot);
            if (front.slot.reading.state == TimerState::kPending) break;
            front.trace->add(front.place, front.slot.reading);
            book_.give_back(front.slot.pair);
        }
        return handed;
    }

    /// What was not collected is lost as abandoned, in the trace and here.
    ~TimerPool() {
        collect();
        for (Traced& left : traced_) {
            book_.lose(left.slot, LossReason::kAbandoned);
            left.trace->add(left.place, left.slot.reading);
        }
    }

    // What timers and probes use.

    /// Two stamps of the pool's, or none where all are in use.
    [[nodiscard]] detail::TimerPair take() noexcept {
        const auto guard = book_.lock();
        const detail::TimerPair pair = book_.take();
        if (!pair.fresh || reserve(book_.first_stamp(pair), 2)) return pair;
        book_.refuse(pair);
        return {};
    }
    void give_back(detail::TimerPair pair) noexcept {
        const auto guard = book_.lock();
        book_.give_back(pair);
    }

    /// Takes an ended measurement over, for collect(). The trace outlives the pool.
    void trace(detail::TimerSlot&& slot, ProbeTrace& trace, const ProbeTrace::Place& place) {
        const auto guard = book_.lock();
        traced_.push_back({std::move(slot), &trace, place});
    }

    /// hot: the first stamp, or why there is none.
    void start(detail::TimerSlot& slot) noexcept {
        if (!book_.may_start(slot)) [[unlikely]]
            return;
        if (backend_.is_capturing(queue_)) [[unlikely]]
            return book_.lose(slot, LossReason::kCapture);
        if (!backend_.mark(queue_, book_.first_stamp(slot.pair))) [[unlikely]]
            return book_.lose(slot, LossReason::kDriverError);
    }

    /// hot: the second stamp, or why there is none.
    void end(detail::TimerSlot& slot) noexcept {
        if (!book_.may_end(slot)) [[unlikely]]
            return;
        if (backend_.is_capturing(queue_)) [[unlikely]]
            return book_.lose(slot, LossReason::kCapture);
        if (!backend_.mark(queue_, book_.first_stamp(slot.pair) + 1)) [[unlikely]]
            return book_.lose(slot, LossReason::kDriverError);
    }

    /// cold: asks the backend once whether the result is there; never waits.
    void settle(detail::TimerSlot& slot) noexcept {
        const auto guard = book_.lock();
        settle_locked(slot);
    }

    [[nodiscard]] detail::TimerBook& book() noexcept { return book_; }

private:
    struct Traced {
        detail::TimerSlot slot;
        ProbeTrace* trace;
        ProbeTrace::Place place;
    };

    void settle_locked(detail::TimerSlot& slot) noexcept {
        const uint32_t first = book_.first_stamp(slot.pair);
        const std::array<uint32_t, 2> ask{first, first + 1};
        std::array<Stamp, 2> answer;
        backend_.poll(ask, answer);
        book_.judge(slot, answer[0], answer[1]);
    }
    [[nodiscard]] bool reserve([[maybe_unused]] uint32_t first, [[maybe_unused]] uint32_t count) noexcept {
        if constexpr (requires {
                          { backend_.reserve(first, count) }
                          noexcept->std::same_as<bool>;
                      })
            return backend_.reserve(first, count);
        else
            return true;
    }

    B& backend_;
    Queue queue_;
    detail::TimerBook book_;
    std::deque<Traced> traced_;    // ended, in that order; under the book's lock
};

}    // namespace lapwing
