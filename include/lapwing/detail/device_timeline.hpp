// One device clock as a harvester sees it: judges pairs of stamps, unwraps them and places them on the host clock.
#pragma once

#include <cstdint>
#include <span>

#include "lapwing/alignment.hpp"
#include "lapwing/backend.hpp"
#include "lapwing/detail/slot_ring.hpp"
#include "lapwing/detail/stamp_floor.hpp"
#include "lapwing/loss.hpp"
#include "lapwing/record.hpp"
#include "lapwing/stamp.hpp"

namespace lapwing::detail {

/// Threads: one at a time (the harvester).
class DeviceTimeline {
public:
    /// Shape:   `valid_bits` 1..64. No span can be longer than the host has lived since `created`.
    DeviceTimeline(TickScale scale, uint32_t valid_bits, HostNs created, int64_t max_span_ns) noexcept;

    [[nodiscard]] uint32_t valid_bits() const noexcept { return valid_bits_; }
    [[nodiscard]] const TickScale& scale() const noexcept { return scale_; }
    [[nodiscard]] const ClockAlignment& alignment() const noexcept { return alignment_; }
    [[nodiscard]] uint64_t ambiguous_wraps() const noexcept { return ambiguous_wraps_.get(); }
    [[nodiscard]] const StampFloor& floor() const noexcept { return floor_; }

    /// Stamps that follow were ready at `now`.
    void start_batch(HostNs now) noexcept;

    /// What became of a pair.
    struct Placed {
        bool valid = false;
        LossReason lost = LossReason::kZeroStamp;
        uint64_t begin = 0;    ///< unwrapped
        uint64_t end = 0;      ///< unwrapped
    };

    /// Judges a pair. `watermark` is a tick that both must not precede (their commands were queued after it was seen);
    /// null where there is none. On an in-order queue an older stamp is a result of an earlier use: stale.
    [[nodiscard]] Placed judge(Ticks begin, Ticks end, const uint64_t* watermark) noexcept {
        Placed out;
        const uint64_t first = begin.value & mask_;
        const uint64_t last = end.value & mask_;
        const uint64_t distance = (last - first) & mask_;
        if (first == 0 || last == 0 || distance > bound_ticks_ || !batch_hinted_ ||
            (watermark != nullptr && watermark_broken(first, *watermark))) [[unlikely]]
            return judge_slowly(begin, end, watermark);
        out.valid = true;
        out.end = unwrapper_.unwrap(end);
        out.begin = out.end - distance;
        return out;
    }

    /// Puts a valid pair into a record, still in ticks. place() converts once the whole harvest is known, so that what
    /// it learned about the clock on the way holds for all of its spans: otherwise an outer span could miss its inner
    /// ones.
    static void store(const Placed& placed, SpanRecord* record) noexcept {
        record->begin_ns = static_cast<int64_t>(placed.begin);
        record->duration_ns = static_cast<int64_t>(placed.end);
    }

    /// Converts stored records to begin_ns and duration_ns. The duration is the difference of the two placed ends, each
    /// rounded once: neighbours that share a stamp abut exactly, and it is within 1 ns of the exact one.
    void place(std::span<SpanRecord> records) noexcept;

    /// A pair that the host saw begin after `before` and end before the batch's `now`.
    void bracket(const Placed& placed, HostNs before) noexcept;
    void anchor(const ClockAnchor& anchor, HostNs now) noexcept;

    /// A valid pair whose stamps had nothing between them.
    void empty_pair(const Placed& placed) noexcept { floor_.add(scale_.to_ns(placed.end - placed.begin)); }

private:
    // The begin alone: a plausible pair does not end before it.
    [[nodiscard]] bool watermark_broken(uint64_t first, uint64_t watermark) const noexcept {
        // Further than half the range behind also means "long after, wrapped"; the slow way asks the host clock.
        return ((first - (watermark & mask_)) & mask_) > mask_ / 2;
    }
    [[nodiscard]] Placed judge_slowly(Ticks begin, Ticks end, const uint64_t* watermark) noexcept;
    [[nodiscard]] uint64_t unwrap_first(Ticks end) noexcept;

    TickScale scale_;
    uint32_t valid_bits_;
    uint64_t mask_;
    uint64_t bound_ticks_ = 0;
    bool batch_hinted_ = false;    // whether a stamp of this batch was unwrapped by the host clock
    TickUnwrapper unwrapper_;
    ClockAlignment alignment_;
    StampFloor floor_;
    HostNs created_;
    HostNs now_;
    HostNs last_batch_;
    bool has_batch_ = false;
    int64_t max_span_ns_;
    SoloCounter ambiguous_wraps_;
};

}    // namespace lapwing::detail
