#include "attach/vulkan_layer/step_clock.hpp"

#include <algorithm>

namespace lapwing::vulkan_layer {

namespace {
constexpr uint32_t kMaxIdleInScope = 8;
}    // namespace

uint32_t StepClock::submitted(int64_t now_ns, const Work& work) noexcept {
    const std::lock_guard lock(mutex_);
    if (!begin_ns_) begin_ns_ = now_ns;
    ++outstanding_;
    idle_ns_.reset();
    work_.dispatches += work.dispatches;
    work_.begun += work.begun;
    return index_;
}

void StepClock::withdrawn(const Work& work) noexcept {
    const std::lock_guard lock(mutex_);
    if (outstanding_ > 0) --outstanding_;
    // The step may have been closed by another thread since; then there is nothing left to take from.
    work_.dispatches -= std::min(work_.dispatches, work.dispatches);
    work_.begun -= std::min(work_.begun, work.begun);
}

std::optional<StepRecord> StepClock::completed(uint64_t count, int64_t now_ns) noexcept {
    const std::lock_guard lock(mutex_);
    outstanding_ -= std::min(outstanding_, count);
    if (outstanding_ > 0 || work_.dispatches == 0) return std::nullopt;
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
    return idle_ns_ ? close(*idle_ns_) : std::nullopt;
}

std::optional<StepRecord> StepClock::close(int64_t now_ns) noexcept {
    StepRecord step;
    step.index = index_++;
    step.begin_ns = begin_ns_.value_or(now_ns);
    step.end_ns = now_ns;
    step.dispatches = work_.dispatches;
    step.armed = work_.begun > 0;
    work_ = {};
    begin_ns_.reset();
    idle_ns_.reset();
    return step;
}

uint32_t StepClock::index() const noexcept {
    const std::lock_guard lock(mutex_);
    return index_;
}

}    // namespace lapwing::vulkan_layer
