// One queue of a DeviceRing without its backend: slots, counters, lap chain, bracket, and the judging of results.
#pragma once

#include <atomic>
#include <cstdint>

#include "lapwing/backend.hpp"
#include "lapwing/detail/device_timeline.hpp"
#include "lapwing/detail/slot_ring.hpp"
#include "lapwing/loss.hpp"
#include "lapwing/record.hpp"

namespace lapwing::detail {

struct RingInspector;    // looks into rings; only tests define it

/// Why a producer's next call leaves its straight path. Set and cleared off the hot path.
enum Attention : uint32_t {
    kAttendUnsupported = 1,    ///< no stamps on this queue
    kAttendDeviceLost = 2,     ///< no stamps until the owner of the device says that it is back
    kAttendSweepLost = 4,      ///< what is open was begun on the device that was lost
    kAttendReclaim = 8,        ///< some slots have been open for very long
    kAttendBracket = 16,       ///< note the host time before the next stamp
};
inline constexpr uint32_t kAttendStop = kAttendUnsupported | kAttendDeviceLost | kAttendSweepLost;

/// A loss reason, or none.
class MaybeLost {
public:
    constexpr MaybeLost() noexcept = default;
    constexpr MaybeLost(LossReason reason) noexcept    // NOLINT(google-explicit-constructor)
        : value_(static_cast<uint8_t>(reason)) {}
    [[nodiscard]] constexpr bool lost() const noexcept { return value_ != kNone; }
    [[nodiscard]] constexpr LossReason reason() const noexcept { return static_cast<LossReason>(value_); }

private:
    static constexpr uint8_t kNone = 0xff;
    uint8_t value_ = kNone;
};

/// Grouped by who writes, each group on its own lines.
class DeviceQueue {
public:
    DeviceQueue(uint32_t initial_spans, uint32_t max_spans) noexcept : ring(initial_spans, max_spans) {}

    // Fixed once the queue is added.
    SlotRing ring;
    DeviceTimeline* timeline = nullptr;    ///< null where the queue has no clock
    Caps caps;
    uint32_t first_token = 0;    ///< tokens count slots over all queues, so a token of another queue is out of range
    uint32_t first_stamp = 0;
    uint32_t abandon_after_s = 0;
    uint32_t zeros_to_degrade = 0;
    TrackId track = 0;

    alignas(64) Atomic<uint32_t> attention{0};
    std::atomic<const char*> reason{""};    ///< why the queue has no stamps

    // Producer.
    alignas(64) SoloCounter begun;
    SoloCounter begun_without_stamp;    ///< lost at begin, or laps: they have no begin stamp of their own
    SoloCounter adopted;                ///< their commands carry both times: no stamp was queued
    SoloCounter refused;
    SoloLosses lost_by_producer;
    uint32_t chain = 0;        ///< the lap chain of this queue; earlier ones are over
    MaybeLost chain_broken;    ///< the next lap has no stamp to begin at, and why

    // The bracket: written by the producer while kAttendBracket is set, read by the harvester while it is not.
    Atomic<uint32_t> bracket_slot{kNoSlot};
    Atomic<uint32_t> bracket_generation{0};
    Atomic<int64_t> bracket_before_ns{0};

    // Harvester.
    alignas(64) SoloCounter recorded;
    SoloLosses lost_by_harvest;
    Ticks chain_last;             ///< where the next lap begins
    MaybeLost chain_last_lost;    ///< ... and why it cannot
    uint64_t newest = 0;          ///< newest unwrapped end seen
    bool has_newest = false;
    bool bracket_asked = false;
    uint32_t bracket_age = 0;    ///< batches since it was asked for
    uint32_t zeros_in_a_row = 0;
    uint32_t next_reclaim_s = 0;
    std::size_t unplaced = 0;    ///< records of this harvest that are still in ticks

    // Producer side.

    void lose(LossReason reason_lost, uint64_t count = 1) noexcept { lost_by_producer.add(reason_lost, count); }

    /// Does what attention asks for, but for the bracket. Says why no stamp may be taken, if so.
    MaybeLost attend() noexcept;
    void publish_bracket(uint32_t index, uint32_t generation, HostNs before) noexcept;

    /// Drops every open span for `reason_lost`.
    void drop_all_open(LossReason reason_lost) noexcept;

    // Harvester side.

    /// Judges the entry at the head of the order, pops it, and writes a record where there is a time.
    [[nodiscard]] bool settle(uint32_t index, SlotState state, const Stamp& begin, const Stamp& end,
                              SpanRecord* record) noexcept {
        Slot& slot = ring.slot(index);
        bool written = false;
        if (state == kClosed && begin.state == StampState::kReady && end.state == StampState::kReady) [[likely]] {
            const DeviceTimeline::Placed placed =
                timeline->judge(begin.ticks, end.ticks, slot.watermark != 0 ? &slot.watermark : nullptr);
            written = finish(index, slot, placed, record);
        } else {
            written = settle_slowly(index, state, begin, end, record);
        }
        slot.watermark = newest;    // 0 while there is none
        ring.pop(index);
        return written;
    }

    /// Counts everything in the closed order as lost and frees it.
    void drain(LossReason reason_lost) noexcept;
    void ask_for_bracket(bool calibrated) noexcept;

    /// Forgets every tick seen: the clock may have started anew.
    void forget_clock() noexcept;

private:
    [[nodiscard]] bool finish(uint32_t index, const Slot& slot, const DeviceTimeline::Placed& placed,
                              SpanRecord* record) noexcept {
        if (!placed.valid) [[unlikely]] {
            count_invalid(placed.lost);
            return false;
        }
        zeros_in_a_row = 0;
        if (!has_newest || static_cast<int64_t>(placed.end - newest) > 0) {
            newest = placed.end;
            has_newest = true;
        }
        if (bracket_asked) [[unlikely]]
            use_bracket(index, placed);
        DeviceTimeline::store(placed, record);
        record->site = slot.site;
        record->step = slot.step;
        record->track = track;
        record->reserved = 0;
        record->tag = slot.tag;
        recorded.add();
        return true;
    }
    [[nodiscard]] bool settle_slowly(uint32_t index, SlotState state, const Stamp& begin, const Stamp& end,
                                     SpanRecord* record) noexcept;
    bool settle_empty_lap(const Stamp& end) noexcept;
    [[nodiscard]] bool settle_lap(uint32_t index, const Stamp& end, SpanRecord* record) noexcept;
    void count_invalid(LossReason reason_lost) noexcept;
    void use_bracket(uint32_t index, const DeviceTimeline::Placed& placed) noexcept;
};

}    // namespace lapwing::detail
