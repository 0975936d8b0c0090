// One queue's ticks as moments of the host clock.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "lapwing/alignment.hpp"
#include "lapwing/backend.hpp"
#include "lapwing/stamp.hpp"

namespace lapwing::attach {

/// Unwraps, aligns and judges the stamps of one queue. Timestamps of two queues are not comparable by the specification
/// (Vulkan 1.3, vkCmdWriteTimestamp), so each has its own.
/// Threads: one at a time.
class QueueClock {
public:
    QueueClock(const Caps& caps, const TickScale& scale) noexcept
        : caps_(caps), scale_(scale), unwrapper_(caps.valid_bits), alignment_(scale) {}

    [[nodiscard]] const Caps& caps() const noexcept { return caps_; }

    /// A pair that the driver delivered at host time `now_ns`.
    void anchor(const ClockAnchor& anchor, int64_t now_ns) noexcept {
        alignment_.anchor(unwrap_first(anchor.device, now_ns), anchor.host, anchor.uncertainty_ns);
    }

    /// Judges a pair of stamps of a submission that lay between `submitted_ns` and `completed_ns`.
    [[nodiscard]] SpanTime judge(uint64_t begin, uint64_t end, int64_t submitted_ns,
                                 int64_t completed_ns) const noexcept {
        // The stamps lie inside the host interval, but clocks drift and hosts are preempted between reading the clock
        // and submitting; what is a little over is no lie.
        const int64_t window_ns = completed_ns - submitted_ns;
        return judge_span(Ticks{begin}, Ticks{end}, caps_.valid_bits,
                          scale_.to_ticks(window_ns + window_ns / 1000 + kSlackNs));
    }

    /// The 64-bit continuation of the first stamp of a submission, which was made at `host_ns`.
    uint64_t unwrap_first(Ticks raw, int64_t host_ns) noexcept {
        const int64_t elapsed_ns = last_host_ns_ == 0 ? 0 : host_ns - last_host_ns_;
        last_host_ns_ = host_ns;
        return unwrapper_.unwrap(raw, elapsed_ns, scale_, nullptr);
    }
    /// The continuation of a stamp near the last one.
    uint64_t unwrap(Ticks raw) noexcept { return unwrapper_.unwrap(raw); }

    /// Device interval [first, last], unwrapped, lay inside a host interval. Its stamps are converted next.
    void bracket(uint64_t first, uint64_t last, int64_t before_ns, int64_t after_ns) noexcept {
        alignment_.bracket(first, last, HostNs{before_ns}, HostNs{after_ns});
        // What a bracket teaches may move the mapping back. A queue works in order: what follows on the device must
        // not seem to overlap what was placed before, so it is placed later until an idle moment makes up for it.
        const bool follows =
            placed_ && alignment_.restarts() == restarts_ && static_cast<int64_t>(first - placed_tick_) >= 0;
        shift_ns_ = follows ? std::max<int64_t>(0, placed_ns_ - alignment_.to_host(first).value) : 0;
        placed_ = true;
        placed_tick_ = last;
        placed_ns_ = to_host_ns(last);
        restarts_ = alignment_.restarts();
    }

    /// One moment of the device's clock lay inside a host interval, apart from what is being placed.
    void moment(uint64_t tick, int64_t before_ns, int64_t after_ns) noexcept {
        alignment_.bracket(tick, tick, HostNs{before_ns}, HostNs{after_ns});
    }

    /// What was placed last ends here: what follows is placed behind it.
    void ends_at(int64_t host_ns) noexcept { placed_ns_ = std::max(placed_ns_, host_ns); }
    /// A duration on the device, exactly.
    [[nodiscard]] int64_t to_ns(uint64_t ticks) const noexcept { return scale_.to_ns(ticks); }

    [[nodiscard]] int64_t to_host_ns(uint64_t unwrapped) const noexcept {
        return alignment_.to_host(unwrapped).value + shift_ns_;
    }
    /// Half-width of the interval around the latest to_host_ns() that holds the true moment; absent before alignment.
    [[nodiscard]] std::optional<int64_t> uncertainty_ns() const noexcept {
        std::optional<int64_t> uncertainty = alignment_.uncertainty_ns();
        if (uncertainty) *uncertainty += shift_ns_;
        return uncertainty;
    }
    [[nodiscard]] const ClockAlignment& alignment() const noexcept { return alignment_; }

private:
    static constexpr int64_t kSlackNs = 1'000'000;

    Caps caps_;
    TickScale scale_;
    TickUnwrapper unwrapper_;
    ClockAlignment alignment_;
    int64_t last_host_ns_ = 0;    // host moment near the last unwrapped value; 0 = none

    bool placed_ = false;
    uint64_t placed_tick_ = 0;    // end of the latest bracket, and where it was placed
    int64_t placed_ns_ = 0;
    uint64_t restarts_ = 0;
    int64_t shift_ns_ = 0;    // added to what the alignment says
};

}    // namespace lapwing::attach
