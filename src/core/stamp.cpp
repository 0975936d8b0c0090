#include "lapwing/stamp.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "core/wide.hpp"

namespace lapwing {

namespace {
// Where a counter that has just passed zero may stand: at most 2^-16 of its range and never more than 2^16 ticks away
// from zero. A 64-bit counter stands there once, in the first microseconds after power-on; a 32-bit one for 0.003 % of
// its time. Everywhere else a zero is a result that was never written.
constexpr uint64_t near_zero_ticks(uint32_t valid_bits) noexcept {
    if (valid_bits <= 16) return 0;
    return uint64_t{1} << std::min<uint32_t>(valid_bits - 16, 16);
}
constexpr uint64_t half_range(uint32_t valid_bits) noexcept {
    return uint64_t{1} << (std::min<uint32_t>(valid_bits, 64) - 1);
}
}    // namespace

Result<TickScale> TickScale::from_period(double ns_per_tick) {
    if (!std::isfinite(ns_per_tick) || !(ns_per_tick > 0) || ns_per_tick > 1e9)
        return Error{Errc::kInvalidArgument, 0,
                     "a timestamp period of " + std::to_string(ns_per_tick) +
                         " ns per tick is not finite, above 0 and at most 1e9: the driver's clock cannot be used"};
    int exponent = 0;
    // 53 bits hold the whole mantissa, so this ratio is the double's exact value.
    auto numerator = static_cast<uint64_t>(std::ldexp(std::frexp(ns_per_tick, &exponent), 53));
    exponent -= 53;
    const int zeros = std::countr_zero(numerator);
    numerator >>= zeros;
    exponent += zeros;
    if (exponent >= 0) return TickScale(numerator << exponent, 0);
    return TickScale(numerator, static_cast<uint32_t>(-exponent));
}

uint64_t TickScale::to_ticks(int64_t ns) const noexcept {
    if (ns <= 0) return 0;
    // Shifts beyond 64 belong to periods below 1e-6 ns, where 2^64 ticks are less than a day; saturating is right.
    if (shift_ > 64) return std::numeric_limits<uint64_t>::max();
    const detail::Uint128 ticks = (static_cast<detail::Uint128>(ns) << shift_) / numerator_;
    constexpr auto kMax = std::numeric_limits<uint64_t>::max();
    return ticks > kMax ? kMax : static_cast<uint64_t>(ticks);
}

double TickScale::ns_per_tick() const noexcept {
    return std::ldexp(static_cast<double>(numerator_), -static_cast<int>(shift_));
}

TickUnwrapper::TickUnwrapper(uint32_t valid_bits) noexcept : mask_(tick_mask(valid_bits)) {}

uint64_t TickUnwrapper::unwrap(Ticks raw, int64_t elapsed_ns_hint, const TickScale& scale, bool* ambiguous) noexcept {
    if (ambiguous != nullptr) *ambiguous = false;
    if (!started_) return unwrap(raw);
    const uint64_t value = raw.value & mask_;
    const uint64_t predicted = last_ + scale.to_ticks(elapsed_ns_hint);
    const uint64_t forward = (value - predicted) & mask_;
    const uint64_t backward = (predicted - value) & mask_;
    const uint64_t quarter = mask_ / 4 + 1;
    last_ = forward <= backward ? predicted + forward : predicted - backward;
    if (ambiguous != nullptr) *ambiguous = std::min(forward, backward) > quarter;
    return last_;
}

SpanTime judge_span(Ticks begin, Ticks end, uint32_t valid_bits, uint64_t max_ticks) noexcept {
    SpanTime out;
    if (valid_bits == 0) {
        out.lost = LossReason::kUnsupported;
        return out;
    }
    const uint64_t mask = tick_mask(valid_bits);
    const uint64_t half = half_range(valid_bits);
    const uint64_t first = begin.value & mask;
    const uint64_t last = end.value & mask;
    const uint64_t distance = (last - first) & mask;
    const uint64_t bound = max_ticks == 0 ? half : std::min(max_ticks, half);
    out.begin_ticks = first;
    if (first == 0 || last == 0) [[unlikely]] {
        // One zero beside a stamp that shows the counter passing zero is a time; two zeros never are.
        if ((first | last) == 0 || distance > std::min(near_zero_ticks(valid_bits), bound)) {
            out.lost = LossReason::kZeroStamp;
            return out;
        }
    }
    if (distance > bound) [[unlikely]] {
        out.lost = distance > half ? LossReason::kReversed : LossReason::kImplausible;
        return out;
    }
    out.duration_ticks = distance;
    return out;
}

HostNs align(uint64_t unwrapped, uint64_t anchor_unwrapped, HostNs anchor_host, const TickScale& scale) noexcept {
    // The difference is signed, so ticks before the anchor map to moments before it.
    const auto delta = static_cast<int64_t>(unwrapped - anchor_unwrapped);
    return HostNs{detail::saturating_add(anchor_host.value, scale.to_signed_ns(delta))};
}

}    // namespace lapwing
