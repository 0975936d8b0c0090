#include "attach/session/step_clock.hpp"

#include <algorithm>
#include <cmath>

namespace lapwing::attach {

namespace {
constexpr uint32_t kMaxIdleInScope = 8;
constexpr double kPpm = 1e6;
}    // namespace

StepClock::StepClock(const StepRule& rule, const ArmingOptions& arming, bool takes_stamps,
                     const std::atomic<uint64_t>* own_host_ns) noexcept
    : rule_(rule.kind),
      submits_a_step_(rule.submits),
      takes_stamps_(takes_stamps),
      own_host_ns_(own_host_ns),
      arming_(arming),
      begins_next_(rule.kind == StepRule::Kind::kSubmits) {
    if (rule_ == StepRule::Kind::kLabel) return;    // what is recorded before the first label is in no step
    arm(0, 0);
    decision_ = next_;
}

// Decides whether a step is armed, and so whether command buffers that are begun from now on get stamps.
bool StepClock::arm(uint32_t step, int64_t now_ns) noexcept {
    next_ = takes_stamps_ && !disarmed_ ? arming_.decide(step, now_ns) : Arming::Decision{};
    armed_.store(next_.armed, std::memory_order_relaxed);
    return next_.armed;
}

StepClock::Submitted StepClock::submitted(int64_t now_ns, const Work& work) noexcept {
    const std::lock_guard lock(mutex_);
    Submitted out;
    last_ns_ = now_ns;
    ++outstanding_;
    idle_ns_.reset();
    if (!by_sync() && work.commands && (begins_next_ || work.opens_label)) out.closed = begin_step(now_ns);
    if (by_sync() && !begin_ns_) begin_ns_ = now_ns;
    if (!begin_ns_) return out;    // before the first label

    work_.dispatches += work.dispatches;
    work_.begun += work.begun;
    work_.untimed += work.untimed;
    if (decision_.armed && work.dispatches > 0) arming_.worked(now_ns);
    if (rule_ == StepRule::Kind::kSubmits && work.commands && ++submits_ >= submits_a_step_) {
        begins_next_ = true;
        arm(index_ + 1, now_ns);
    }
    out.step = index_;
    out.armed = decision_.armed;
    return out;
}

std::optional<StepRecord> StepClock::begin_step(int64_t now_ns) noexcept {
    std::optional<StepRecord> closed;
    if (begin_ns_) closed = close(now_ns);
    arm(index_, now_ns);    // decided before, unless a recording was submitted a second time
    decision_ = next_;
    begin_ns_ = now_ns;
    begins_next_ = false;
    submits_ = 0;
    return closed;
}

void StepClock::withdrawn(const Work& work) noexcept {
    const std::lock_guard lock(mutex_);
    if (outstanding_ > 0) --outstanding_;
    // The step may have been closed by another thread since; then there is nothing left to take from.
    work_.dispatches -= std::min(work_.dispatches, work.dispatches);
    work_.begun -= std::min(work_.begun, work.begun);
    work_.untimed -= std::min(work_.untimed, work.untimed);
    if (rule_ == StepRule::Kind::kSubmits && work.commands && submits_ > 0) {
        --submits_;
        begins_next_ = false;
        armed_.store(decision_.armed, std::memory_order_relaxed);
    }
}

std::optional<StepRecord> StepClock::completed(uint64_t count, int64_t now_ns) noexcept {
    const std::lock_guard lock(mutex_);
    last_ns_ = now_ns;
    outstanding_ -= std::min(outstanding_, count);
    if (!by_sync() || outstanding_ > 0 || work_.dispatches == 0) return std::nullopt;
    if (open_scopes_ > 0 && idle_in_scope_ < kMaxIdleInScope) {
        ++idle_in_scope_;
        idle_ns_ = now_ns;
        return std::nullopt;
    }
    return close(now_ns);
}

void StepClock::scope_opened() noexcept {
    const std::lock_guard lock(mutex_);
    ++open_scopes_;
}

std::optional<StepRecord> StepClock::scope_closed() noexcept {
    const std::lock_guard lock(mutex_);
    if (open_scopes_ > 0) --open_scopes_;
    if (open_scopes_ > 0) return std::nullopt;
    idle_in_scope_ = 0;
    if (!by_sync() || !idle_ns_) return std::nullopt;
    return close(*idle_ns_);
}

bool StepClock::label_opened(bool on_queue, int64_t now_ns) noexcept {
    const std::lock_guard lock(mutex_);
    if (on_queue) begins_next_ = true;
    return arm(begin_ns_ ? index_ + 1 : index_, now_ns);
}

std::optional<StepRecord> StepClock::finish() noexcept {
    const std::lock_guard lock(mutex_);
    if (by_sync() || !begin_ns_) return std::nullopt;
    return close(last_ns_);
}

void StepClock::disarm() noexcept {
    const std::lock_guard lock(mutex_);
    disarmed_ = true;
    armed_.store(false, std::memory_order_relaxed);
}

StepRecord StepClock::close(int64_t now_ns) noexcept {
    StepRecord step;
    step.index = index_++;
    step.begin_ns = begin_ns_.value_or(now_ns);
    step.end_ns = now_ns;
    step.dispatches = work_.dispatches;
    // A recording that was made in an armed step and is submitted again has stamps in any step.
    step.armed = decision_.armed || work_.begun > 0;
    step.untimed = work_.untimed;
    step.sampled = decision_.sampled;

    const uint64_t host_ns = own_host_ns_ == nullptr ? 0 : own_host_ns_->load(std::memory_order_relaxed);
    if (decision_.sampled && closed_ns_)
        arming_.ended({now_ns - *closed_ns_, static_cast<int64_t>(host_ns - host_ns_at_close_), step.armed});
    host_ns_at_close_ = host_ns;
    closed_ns_ = now_ns;
    work_ = {.commands = false};
    begin_ns_.reset();
    idle_ns_.reset();
    if (by_sync()) {
        arm(index_, now_ns);
        decision_ = next_;
    }
    return step;
}

bool StepClock::is_over(uint32_t step) const noexcept {
    const std::lock_guard lock(mutex_);
    return step < index_;
}

uint32_t StepClock::index() const noexcept {
    const std::lock_guard lock(mutex_);
    return by_sync() || begin_ns_ ? index_ : kNoStep;
}

void StepClock::describe(RecordingStats& stats) const noexcept {
    const std::lock_guard lock(mutex_);
    stats.stride = arming_.stride();
    const Budget* const budget = arming_.budget();
    if (budget == nullptr) return;
    stats.budget_ppm = static_cast<uint32_t>(std::lround(budget->budget() * kPpm));
    stats.stride_changes = budget->changes();
    stats.armed_step_ns = budget->armed_step_ns();
    if (const std::optional<double> share = budget->share())
        stats.budget_share_ppm = static_cast<int64_t>(std::llround(*share * kPpm));
}

}    // namespace lapwing::attach
