#include "lapwing/detail/timer_book.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>

#include "lapwing/clock.hpp"

namespace lapwing::detail {

namespace {

constexpr uint32_t kMostTimers = 1u << 20;
constexpr int64_t kFirstPauseNs = 20'000;
constexpr int64_t kLongestPauseNs = 1'000'000;

const char* why_unsupported(const Caps& caps) {
    if (caps.reason != nullptr && *caps.reason != '\0') return caps.reason;
    return caps.valid_bits == 0 ? "the driver says that this queue has no timestamps"
                                : "the driver's timestamp period is not a period";
}

}    // namespace

TimerPatience::TimerPatience(TimerWait wait) noexcept
    : deadline_ns_(wait.deadline_ns > 0 ? host_now().value + wait.deadline_ns : 0) {}

bool TimerPatience::sleep() noexcept {
    if (deadline_ns_ == 0) return false;
    const int64_t left = deadline_ns_ - host_now().value;
    if (left <= 0) return false;
    std::this_thread::sleep_for(std::chrono::nanoseconds(std::min(pause_ns_, left)));
    pause_ns_ = std::clamp(2 * pause_ns_, kFirstPauseNs, kLongestPauseNs);
    return true;
}

TimerBook::TimerBook(const TimerPoolOptions& options, const Caps& caps)
    : options_(options), caps_(caps), most_(std::clamp<uint32_t>(options.max_timers, 1, kMostTimers)) {
    caps_.valid_bits = std::min<uint32_t>(caps_.valid_bits, 64);
    const Result<TickScale> scale = TickScale::from_period(caps_.ns_per_tick);
    if (caps_.valid_bits == 0 || !scale.ok())
        stop_stamps(LossReason::kUnsupported, why_unsupported(caps_));
    else
        timeline_.emplace(*scale, caps_.valid_bits, now(), options_.max_span_ns);
}

HostNs TimerBook::now() const noexcept {
    return options_.now != nullptr ? options_.now(options_.now_context) : host_now();
}

TimerPair TimerBook::take() noexcept {
    if (!free_.empty()) {
        const TimerPair pair{free_.back(), false};
        free_.pop_back();
        return pair;
    }
    if (made_ >= most_ || !stamps_.load(std::memory_order_relaxed)) return {};
    free_.reserve(made_ + std::size_t{1});    // so that giving back never allocates
    return {made_++, true};
}

void TimerBook::refuse(TimerPair pair) noexcept {
    made_ = most_ = pair.index;
}

void TimerBook::give_back(TimerPair pair) noexcept {
    if (pair.index != kNoPair) free_.push_back(pair.index);
}

void TimerBook::lose(TimerSlot& slot, LossReason reason) noexcept {
    slot.reading.state = TimerState::kLost;
    slot.reading.lost = reason;
    if (reason == LossReason::kUnsupported) slot.reading.reason = reason_.load(std::memory_order_relaxed);
    lost_.add(reason);
}

void TimerBook::stop_stamps(LossReason reason, const char* text) noexcept {
    reason_.store(text, std::memory_order_relaxed);
    stopped_by_.store(reason, std::memory_order_relaxed);
    stamps_.store(false, std::memory_order_release);
}

bool TimerBook::start_otherwise(TimerSlot& slot) noexcept {
    if (stamps_.load(std::memory_order_acquire)) {
        lose(slot, LossReason::kRingFull);
        return false;
    }
    const LossReason stopped = stopped_by_.load(std::memory_order_relaxed);
    if (options_.wait == nullptr || stopped != LossReason::kUnsupported) {
        lose(slot, stopped);
        return false;
    }
    slot.reading.timed_by = TimedBy::kWaiting;
    if (!options_.wait(options_.wait_context)) {
        lose(slot, LossReason::kDriverError);
        return false;
    }
    if (inflation_ns_.load(std::memory_order_relaxed) < 0) measure_inflation();
    slot.reading.inflation_ns = inflation_ns_.load(std::memory_order_relaxed);
    slot.reading.begin_ns = now().value;
    return false;
}

bool TimerBook::end_by_waiting(TimerSlot& slot) noexcept {
    if (!options_.wait(options_.wait_context)) {
        lose(slot, LossReason::kDriverError);
        return false;
    }
    slot.reading.duration_ns = std::max<int64_t>(now().value - slot.reading.begin_ns, 0);
    slot.reading.state = TimerState::kReady;
    measured_.fetch_add(1, std::memory_order_relaxed);
    return false;
}

// The queue is idle.
void TimerBook::measure_inflation() noexcept {
    constexpr std::size_t kMostTrips = 64;
    std::array<int64_t, kMostTrips> trips;
    const std::size_t count = std::clamp<std::size_t>(options_.round_trips, 1, kMostTrips);
    for (std::size_t i = 0; i < count; ++i) {
        const int64_t before = now().value;
        static_cast<void>(options_.wait(options_.wait_context));
        trips[i] = std::max<int64_t>(now().value - before, 0);
    }
    const auto middle = trips.begin() + static_cast<std::ptrdiff_t>(count / 2);
    std::nth_element(trips.begin(), middle, trips.begin() + static_cast<std::ptrdiff_t>(count));
    inflation_ns_.store(*middle, std::memory_order_relaxed);
}

void TimerBook::judge(TimerSlot& slot, const Stamp& begin, const Stamp& end) noexcept {
    if (begin.state == StampState::kLost || end.state == StampState::kLost) {
        stop_stamps(LossReason::kDeviceLost, "the device was lost");
        return lose(slot, LossReason::kDeviceLost);
    }
    if (begin.state == StampState::kFailed || end.state == StampState::kFailed)
        return lose(slot, LossReason::kDriverError);
    if (begin.state == StampState::kPending || end.state == StampState::kPending) return;
    timeline_->start_batch(now());
    const uint64_t* const watermark = slot.watermark != 0 ? &slot.watermark : nullptr;
    const DeviceTimeline::Placed placed = timeline_->judge(begin.ticks, end.ticks, watermark);
    if (!placed.valid) {
        zeros_in_a_row_ = placed.lost == LossReason::kZeroStamp ? zeros_in_a_row_ + 1 : 0;
        if (options_.zeros_to_degrade != 0 && zeros_in_a_row_ >= options_.zeros_to_degrade)
            stop_stamps(LossReason::kUnsupported, "the driver delivers zeros in place of timestamps");
        return lose(slot, placed.lost);
    }
    zeros_in_a_row_ = 0;
    if (static_cast<int64_t>(placed.end - newest_.load(std::memory_order_relaxed)) > 0)
        newest_.store(placed.end, std::memory_order_relaxed);
    if (slot.before_ns != 0) timeline_->bracket(placed, HostNs{slot.before_ns});
    bracket_wanted_.store(!timeline_->alignment().calibrated(), std::memory_order_relaxed);
    SpanRecord record;
    DeviceTimeline::store(placed, &record);
    timeline_->place({&record, 1});
    slot.reading.begin_ns = record.begin_ns;
    slot.reading.duration_ns = record.duration_ns;
    slot.reading.state = TimerState::kReady;
    measured_.fetch_add(1, std::memory_order_relaxed);
}

void TimerBook::anchor(const ClockAnchor& anchor) noexcept {
    const std::lock_guard guard(mutex_);
    if (timeline_) timeline_->anchor(anchor, now());
}

TimerPoolInfo TimerBook::info() const {
    const std::lock_guard guard(mutex_);
    TimerPoolInfo out;
    const bool stamps = stamps_.load(std::memory_order_acquire);
    const bool unsupported = stopped_by_.load(std::memory_order_relaxed) == LossReason::kUnsupported;
    out.timed_by = stamps || options_.wait == nullptr ? TimedBy::kStamps : TimedBy::kWaiting;
    out.supported = stamps || (options_.wait != nullptr && unsupported);
    out.reason = reason_.load(std::memory_order_relaxed);
    const int64_t inflation = inflation_ns_.load(std::memory_order_relaxed);
    if (inflation >= 0) out.inflation_ns = inflation;
    out.clock.resolution_ns = caps_.resolution_ns;
    out.clock.valid_bits = caps_.valid_bits;
    if (!timeline_) return out;
    const ClockAlignment& alignment = timeline_->alignment();
    out.clock.calibrated = alignment.calibrated();
    out.clock.uncertainty_ns = alignment.uncertainty_ns();
    out.clock.drift_ppm = alignment.drift_ppm();
    out.clock.residual_ns = alignment.residual_ns();
    out.clock.clock_steps = alignment.restarts();
    return out;
}

TimerPoolStats TimerBook::stats() const noexcept {
    TimerPoolStats out;
    out.begun = begun_.load(std::memory_order_relaxed);
    out.measured = measured_.load(std::memory_order_relaxed);
    out.lost = lost_.snapshot();
    out.misused = misused_.load(std::memory_order_relaxed);
    const std::lock_guard guard(mutex_);
    out.timers = made_;
    return out;
}

}    // namespace lapwing::detail
