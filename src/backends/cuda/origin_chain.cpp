#include "backends/cuda/origin_chain.hpp"

#include <algorithm>
#include <cmath>

namespace lapwing::cuda {
namespace {

constexpr double kLongestNs = 4e18;    // a century: more is no time

}    // namespace

void OriginChain::start(Event event) noexcept {
    first_ = 0;
    count_ = 1;
    at(0) = {event, kFirstTick};
}

OriginChain::Distance OriginChain::measure(const Origin& from, Event event) noexcept {
    float ms = 0;
    ++measurements_;
    Distance out;
    out.code = cu_.EventElapsedTime(&ms, from.event, event);
    if (out.code != kSuccess) return out;
    const double ns = std::round(std::abs(static_cast<double>(ms)) * 1e6);
    out.before = std::signbit(ms) && ms != 0;
    if (!(ns < kLongestNs)) {
        out.code = kInvalidValue;    // no number, or none that is a time
        return out;
    }
    out.ns = static_cast<uint64_t>(ns);
    return out;
}

OriginChain::Answer OriginChain::place(Event event) noexcept {
    const Origin& newest = at(count_ - 1);
    const Distance distance = measure(newest, event);
    if (distance.code != kSuccess) return {.code = distance.code};
    if (!distance.before) return {.ticks = newest.ticks + distance.ns, .past_newest_ns = distance.ns};
    if (count_ == 1) return {.ticks = newest.ticks - std::min(distance.ns, newest.ticks - 1)};
    return place_before_newest(event, newest.ticks - std::min(distance.ns, newest.ticks - 1));
}

uint32_t OriginChain::newest_not_after(uint64_t ticks) noexcept {
    uint32_t low = 0;
    uint32_t high = count_;
    while (high - low > 1) {
        const uint32_t middle = low + (high - low) / 2;
        (at(middle).ticks <= ticks ? low : high) = middle;
    }
    return low;
}

// `about` is rounded coarsely: the two origins around the event are found by the sign of its distance to each. It is
// measured from the nearer one. Which one that is, and both distances, are monotone in the event's time, and neither
// half may reach beyond the middle: so order is kept.
OriginChain::Answer OriginChain::place_before_newest(Event event, uint64_t about) noexcept {
    uint32_t index = std::min(newest_not_after(about), count_ - 2);
    Distance from_left = measure(at(index), event);
    while (from_left.code == kSuccess && from_left.before && index > 0) from_left = measure(at(--index), event);
    if (from_left.code != kSuccess) return {.code = from_left.code};
    if (from_left.before) return {.ticks = at(0).ticks - std::min(from_left.ns, at(0).ticks - 1)};
    Distance from_right = measure(at(index + 1), event);
    while (from_right.code == kSuccess && !from_right.before && index + 2 < count_) {
        from_left = from_right;
        from_right = measure(at(++index + 1), event);
    }
    if (from_right.code != kSuccess) return {.code = from_right.code};
    const uint64_t left = at(index).ticks;
    const uint64_t right = at(index + 1).ticks;
    const uint64_t half = (right - left) / 2;
    if (from_right.ns <= half) return {.ticks = right - from_right.ns};
    return {.ticks = left + std::min(from_left.ns, right - half - left)};
}

Event OriginChain::append(Event event, uint64_t ticks) noexcept {
    ++appended_;
    if (ticks - at(count_ - 1).ticks > kCoarseHopNs) ++coarse_;
    Event dropped = nullptr;
    if (count_ == kMost) {
        dropped = at(0).event;
        first_ = (first_ + 1) % kMost;
        --count_;
    }
    at(count_++) = {event, ticks};
    return dropped;
}

}    // namespace lapwing::cuda
