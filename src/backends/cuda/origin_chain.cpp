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

// `about` is rounded coarsely, so the origins beside the one that it names are tried by their sign.
OriginChain::Answer OriginChain::place_before_newest(Event event, uint64_t about) noexcept {
    uint32_t index = newest_not_after(about);
    Distance distance = measure(at(index), event);
    while (distance.code == kSuccess && distance.before && index > 0) distance = measure(at(--index), event);
    if (distance.code != kSuccess) return {.code = distance.code};
    if (distance.before) return {.ticks = at(0).ticks - std::min(distance.ns, at(0).ticks - 1)};
    while (at(index).ticks + distance.ns >= at(index + 1).ticks) {
        if (index + 2 == count_) return {.ticks = at(index + 1).ticks};    // it is before the newest: known already
        const Distance next = measure(at(index + 1), event);
        if (next.code != kSuccess) return {.code = next.code};
        if (next.before) return {.ticks = at(index + 1).ticks};
        ++index;
        distance = next;
    }
    return {.ticks = at(index).ticks + distance.ns};
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
