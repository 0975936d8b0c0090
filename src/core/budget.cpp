#include "lapwing/budget.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace lapwing {

namespace {
constexpr double kLoweringMargin = 0.8;
// How many standard errors count as evidence. One, both ways: a budget that is exceeded unseen is worse than steps that
// are not timed, and what noise makes of it is bounded by the patience.
constexpr double kErrors = 1;
constexpr uint64_t kPatienceGrowth = 4;
// Pairs share steps with the pairs beside them: half as many of them are independent.
constexpr double kPairError = 1.4142;

int64_t median_of(std::array<int64_t, RecentValues::kCapacity>& values, std::size_t count) noexcept {
    if (count == 0) return 0;
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(count / 2);
    std::nth_element(values.begin(), middle, values.begin() + static_cast<std::ptrdiff_t>(count));
    return *middle;
}
}    // namespace

int64_t RecentValues::median() const noexcept {
    std::array<int64_t, kCapacity> values = values_;
    return median_of(values, size());
}

double RecentValues::median_error() const noexcept {
    const int64_t middle = median();
    std::array<int64_t, kCapacity> values = values_;
    for (int64_t& value : values) value = std::abs(value - middle);
    // 1.4826: the deviation of a normal distribution by its MAD; 1.2533: of a median, by that of a mean.
    const double deviation = 1.4826 * static_cast<double>(median_of(values, size()));
    return size() == 0 ? 0 : 1.2533 * deviation / std::sqrt(static_cast<double>(size()));
}

void Budget::add(const StepCost& cost) noexcept {
    ++steps_;
    (cost.armed ? host_armed_ : host_unarmed_).add(cost.host_ns);
    if (!cost.armed) wall_.add(cost.wall_ns);
    if (steps_ > kSettlingSteps && armed_step_ns_) {
        spent_ns_ += static_cast<double>(cost.host_ns);
        if (cost.armed) spent_ns_ += static_cast<double>(std::max<int64_t>(*armed_step_ns_, 0));
        wall_ns_ += static_cast<double>(cost.wall_ns);
    }
    const bool pair = last_ && last_->armed != cost.armed;
    if (pair) pairs_.add(cost.armed ? cost.wall_ns - last_->wall_ns : last_->wall_ns - cost.wall_ns);
    last_ = cost;
    // A stride that is long because the steps were slow to serve for a while has next to no pairs: steps must do.
    const bool look = steps_ == kSettlingSteps || (pair && pairs_.count() % kPairsALook == 0) ||
                      (steps_ > kSettlingSteps && steps_ - looked_at_ >= kStepsALook);
    if (look && pairs_.count() >= kMinPairs) adjust();
}

uint32_t Budget::stride_for(double budget, double armed_ns) const noexcept {
    const auto wall_ns = static_cast<double>(wall_.median());
    const auto always_ns = static_cast<double>(host_unarmed_.median());
    const double more_ns = std::max(static_cast<double>(host_armed_.median()) - always_ns, 0.0);
    // (always x stride + more + armed) / (wall x stride + armed) <= budget, for the smallest stride.
    const double room_ns = budget * wall_ns - always_ns;
    const double needed_ns = more_ns + armed_ns * (1 - budget);
    if (needed_ns <= 0 && room_ns >= 0) return 1;
    if (room_ns <= 0) return kMaxStride;    // the hooks alone cost more
    const double stride = std::ceil(needed_ns / room_ns);
    return static_cast<uint32_t>(std::clamp(stride, 1.0, static_cast<double>(kMaxStride)));
}

void Budget::adjust() noexcept {
    looked_at_ = steps_;
    armed_step_ns_ = pairs_.median();
    if (steps_ < kSettlingSteps) return;
    const auto armed_ns = static_cast<double>(*armed_step_ns_);
    const double error_ns = kPairError * pairs_.median_error();
    // What is not known to be cheap is taken for expensive at first: on a busy machine the steps of the settling tell
    // little, and a stride of 1 would exceed a budget of 1 % tenfold until there is evidence.
    const double likely_ns = steps_ == kSettlingSteps        ? std::max(armed_ns, 0.0) + kErrors * error_ns
                             : armed_ns > kErrors * error_ns ? armed_ns
                                                             : 0;
    const uint32_t needed = stride_for(budget_, likely_ns);
    uint32_t next = stride_;
    if (needed > stride_) {
        // An eighth more, so that an estimate that creeps up does not change the stride each time.
        next = std::min(needed + needed / 8, kMaxStride);
        if (lowered_last_) patience_ = std::min(kPatienceGrowth * patience_, kMaxPatience);
    } else if (pairs_.count() - pairs_at_change_ >= patience_ ||
               steps_ - steps_at_change_ >= patience_ * (kStepsALook / kMinPairs)) {
        const uint32_t roomy = stride_for(kLoweringMargin * budget_, std::max(armed_ns, 0.0) + kErrors * error_ns);
        if (roomy <= stride_ - stride_ / 4) next = roomy;    // less is not worth a change
    }
    if (next == stride_) return;
    lowered_last_ = next < stride_;
    stride_ = next;
    ++changes_;
    pairs_at_change_ = pairs_.count();
    steps_at_change_ = steps_;
}

std::optional<double> Budget::share() const noexcept {
    if (wall_ns_ <= 0) return std::nullopt;
    return spent_ns_ / wall_ns_;
}

}    // namespace lapwing
