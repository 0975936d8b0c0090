// The timestamp correctness layer that every backend shares: wrap, validity, conversion. Integer arithmetic, converted
// last.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

#include "lapwing/backend.hpp"
#include "lapwing/loss.hpp"
#include "lapwing/result.hpp"
#include "lapwing/units.hpp"

namespace lapwing {

/// Nanoseconds per device tick as an exact ratio of integers.
/// Source:  Vulkan 1.3, VkPhysicalDeviceLimits::timestampPeriod ("number of nanoseconds required for a timestamp query
///          to be incremented by 1"), a float; the ratio kept here is the float's exact value.
class TickScale {
public:
    /// 1 ns per tick.
    constexpr TickScale() = default;

    /// Errors:  kInvalidArgument where the period is not finite, not > 0, or above 1 s a tick.
    [[nodiscard]] static Result<TickScale> from_period(double ns_per_tick);

    /// Ticks of a span to ns, rounded to nearest, halves up. 128-bit inside; saturates at INT64_MAX.
    [[nodiscard]] int64_t to_ns(uint64_t ticks) const noexcept {
        __extension__ typedef unsigned __int128 Wide;
        if (shift_ >= 118) return 0;    // the product is below 2^117, hence below one half
        Wide product = static_cast<Wide>(ticks) * numerator_;
        // The usual 1 ns a tick is worth a branch: shifting 128 bits by a variable costs more than all the rest.
        if (shift_ != 0) product = (product + (static_cast<Wide>(1) << (shift_ - 1))) >> shift_;
        constexpr auto kMax = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
        return product > kMax ? std::numeric_limits<int64_t>::max() : static_cast<int64_t>(product);
    }

    /// As to_ns for a signed distance: to_signed_ns(-t) == -to_ns(t).
    [[nodiscard]] int64_t to_signed_ns(int64_t ticks) const noexcept {
        return ticks < 0 ? -to_ns(uint64_t{0} - static_cast<uint64_t>(ticks)) : to_ns(static_cast<uint64_t>(ticks));
    }

    /// Whole ticks in `ns`; 0 for negative ns; saturates at UINT64_MAX.
    [[nodiscard]] uint64_t to_ticks(int64_t ns) const noexcept;

    [[nodiscard]] double ns_per_tick() const noexcept;

    /// Whether a tick is exactly one nanosecond, so that nothing needs converting.
    [[nodiscard]] bool is_identity() const noexcept { return numerator_ == 1 && shift_ == 0; }

private:
    constexpr TickScale(uint64_t numerator, uint32_t shift) noexcept : numerator_(numerator), shift_(shift) {}
    uint64_t numerator_ = 1;    // ns = ticks * numerator_ / 2^shift_
    uint32_t shift_ = 0;
};

/// All ones in the low `valid_bits` bits; 64 gives all ones (shifting by 64 would be undefined).
/// Shape:   valid_bits in 0..64.
[[nodiscard]] constexpr uint64_t tick_mask(uint32_t valid_bits) noexcept {
    return valid_bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << valid_bits) - 1;
}

/// Continues a wrapping counter into 64 bits.
/// Units:   ticks. `unwrap` assumes that successive values are less than half the range apart in either direction, so a
///          stamp may be a little older than the last one; a host-time hint resolves longer gaps.
/// Threads: one at a time.
class TickUnwrapper {
public:
    explicit TickUnwrapper(uint32_t valid_bits) noexcept;

    /// The 64-bit continuation of `raw`. The first value is kept as it is.
    uint64_t unwrap(Ticks raw) noexcept {
        const uint64_t value = raw.value & mask_;
        if (!started_) [[unlikely]] {
            started_ = true;
            return last_ = value;
        }
        const uint64_t forward = (value - last_) & mask_;
        // Going back may pass the 64-bit origin; differences stay right modulo 2^64.
        last_ = forward <= mask_ / 2 + 1 ? last_ + forward : last_ - ((last_ - value) & mask_);
        return last_;
    }

    /// As `unwrap`, for values that may lie several wraps after the last one: `elapsed_ns_hint` is host time since the
    /// last unwrapped value. The continuation nearest to what the hint predicts is taken. `*ambiguous` says whether it
    /// lies more than a quarter of the range from there, so that the hint's own error could hide a wrap. `ambiguous`
    /// may be null; a negative hint counts as 0.
    uint64_t unwrap(Ticks raw, int64_t elapsed_ns_hint, const TickScale& scale, bool* ambiguous) noexcept;

private:
    uint64_t mask_;
    uint64_t last_ = 0;
    bool started_ = false;
};

/// The verdict on a pair of stamps: a time, or the reason why there is none.
struct SpanTime {
    uint64_t begin_ticks = 0;    ///< masked, not unwrapped
    uint64_t duration_ticks = 0;
    std::optional<LossReason> lost;    ///< absent = valid
};

/// Judges a begin/end pair in ticks: masks, subtracts modulo 2^valid_bits, recognises zero, reversed and implausible.
/// Shape:   `max_ticks` bounds a plausible duration (0 = half the counter's range). A distance above half the range is
///          `reversed`, one above `max_ticks` is `implausible`, 0 valid bits are `unsupported`. A zero stamp is
///          `zero_stamp` unless the other stamp shows that the counter just passed zero: begin and end lie at most
///          min(2^16, 2^(valid_bits - 16)) ticks apart, within `max_ticks`, and are not both zero. With 16 valid bits
///          or fewer, zero is always missing. What this gives up is one span in 2^valid_bits; what it prevents is a
///          span from the epoch.
[[nodiscard]] SpanTime judge_span(Ticks begin, Ticks end, uint32_t valid_bits, uint64_t max_ticks = 0) noexcept;

/// Maps unwrapped device ticks to host time through an anchor.
/// Shape:   `unwrapped` and `anchor_unwrapped` come from the same unwrapper.
[[nodiscard]] HostNs align(uint64_t unwrapped, uint64_t anchor_unwrapped, HostNs anchor_host,
                           const TickScale& scale) noexcept;

}    // namespace lapwing
