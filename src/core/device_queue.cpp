#include "lapwing/detail/device_queue.hpp"

namespace lapwing::detail {

namespace {
constexpr uint32_t kSweepPlaces = 64;             // places a reclaiming call looks at: some 50 ns
constexpr uint32_t kBracketPatience = 256;        // batches after which a bracket's span is taken for lost
constexpr uint32_t kCalibratedCheckEvery = 64;    // batches between brackets that only check a calibrated clock

MaybeLost lost_by_state(const Stamp& stamp) noexcept {
    switch (stamp.state) {
        case StampState::kReady:
            return {};
        case StampState::kLost:
            return LossReason::kDeviceLost;
        case StampState::kFailed:
        case StampState::kPending:
            break;
    }
    return LossReason::kDriverError;
}
}    // namespace

MaybeLost DeviceQueue::attend() noexcept {
    const uint32_t asked = attention.load(std::memory_order_acquire);
    if ((asked & kAttendSweepLost) != 0) {
        drop_all_open(LossReason::kDeviceLost);
        chain_broken = LossReason::kDeviceLost;
        attention.fetch_and(~uint32_t{kAttendSweepLost}, std::memory_order_relaxed);
    }
    if ((asked & kAttendDeviceLost) != 0) return LossReason::kDeviceLost;
    if ((asked & kAttendUnsupported) != 0) return LossReason::kUnsupported;
    if ((asked & kAttendReclaim) != 0) {
        const uint32_t now_s = ring.coarse_s();
        const uint32_t before_s = now_s > abandon_after_s ? now_s - abandon_after_s : 0;
        bool done = false;
        lose(LossReason::kAbandoned, ring.sweep_open(kSweepPlaces, before_s, &done));
        if (done) attention.fetch_and(~uint32_t{kAttendReclaim}, std::memory_order_relaxed);
    }
    return {};
}

void DeviceQueue::publish_bracket(uint32_t index, uint32_t generation, HostNs before) noexcept {
    bracket_slot.store(index, std::memory_order_relaxed);
    bracket_generation.store(generation, std::memory_order_relaxed);
    bracket_before_ns.store(before.value, std::memory_order_relaxed);
    // Release: who sees the request gone sees the three values.
    attention.fetch_and(~uint32_t{kAttendBracket}, std::memory_order_release);
}

void DeviceQueue::drop_all_open(LossReason reason_lost) noexcept {
    lose(reason_lost, ring.drop_all_open());
}

void DeviceQueue::drain(LossReason reason_lost) noexcept {
    const uint64_t tail = ring.tail();
    while (ring.head() != tail) {
        const uint32_t index = ring.at(ring.head());
        if (is_span(ring.state(index))) lost_by_harvest.add(reason_lost);
        ring.pop(index);
    }
    chain_last_lost = reason_lost;
}

void DeviceQueue::forget_clock() noexcept {
    has_newest = false;
    newest = 0;
    bracket_asked = false;
    bracket_age = 0;
    zeros_in_a_row = 0;
    for (uint32_t index = 0; index < ring.capacity(); ++index) ring.slot(index).watermark = 0;
}

void DeviceQueue::ask_for_bracket(bool calibrated) noexcept {
    ++bracket_age;
    if (bracket_asked && bracket_age < kBracketPatience) return;
    if (!bracket_asked && calibrated && bracket_age < kCalibratedCheckEvery) return;
    bracket_asked = true;
    bracket_age = 0;
    attention.fetch_or(kAttendBracket, std::memory_order_relaxed);
}

void DeviceQueue::use_bracket(uint32_t index, const DeviceTimeline::Placed& placed) noexcept {
    // Acquire: pairs with publish_bracket. While the request stands, the values belong to the producer.
    if ((attention.load(std::memory_order_acquire) & kAttendBracket) != 0) return;
    if (bracket_slot.load(std::memory_order_relaxed) != index) return;
    if (bracket_generation.load(std::memory_order_relaxed) != ring.generation(index)) return;
    DeviceTimeline::Placed inside = placed;
    if (ring.state(index) == kLap) inside.begin = inside.end;    // a lap begins before its own stamp was queued
    timeline->bracket(inside, HostNs{bracket_before_ns.load(std::memory_order_relaxed)});
    bracket_asked = false;
    bracket_age = 0;
}

void DeviceQueue::count_invalid(LossReason reason_lost) noexcept {
    lost_by_harvest.add(reason_lost);
    if (reason_lost != LossReason::kZeroStamp || zeros_to_degrade == 0) return;
    if (++zeros_in_a_row < zeros_to_degrade) return;
    reason.store("the driver delivers zero timestamps on this queue", std::memory_order_relaxed);
    attention.fetch_or(kAttendUnsupported, std::memory_order_release);
}

bool DeviceQueue::settle_slowly(uint32_t index, SlotState state, const Stamp& begin, const Stamp& end,
                                SpanRecord* record) noexcept {
    if (state == kBoundary) {
        chain_last = end.ticks;
        chain_last_lost = lost_by_state(end);
        return false;
    }
    if (state == kEmptyLap) return settle_empty_lap(end);
    if (state == kLap) return settle_lap(index, end, record);
    const MaybeLost end_lost = lost_by_state(end);
    const MaybeLost lost = end_lost.lost() ? end_lost : lost_by_state(begin);
    lost_by_harvest.add(lost.reason());
    return false;
}

bool DeviceQueue::settle_empty_lap(const Stamp& end) noexcept {
    const Ticks first = chain_last;
    const bool begins = !chain_last_lost.lost();
    chain_last = end.ticks;
    chain_last_lost = lost_by_state(end);
    if (!begins || chain_last_lost.lost()) return false;
    const DeviceTimeline::Placed placed = timeline->judge(first, end.ticks, nullptr);
    if (placed.valid) timeline->empty_pair(placed);
    return false;
}

bool DeviceQueue::settle_lap(uint32_t index, const Stamp& end, SpanRecord* record) noexcept {
    const Slot& slot = ring.slot(index);
    const Ticks first = chain_last;
    MaybeLost lost = chain_last_lost;
    chain_last = end.ticks;
    chain_last_lost = lost_by_state(end);
    if (chain_last_lost.lost()) lost = chain_last_lost;
    if (lost.lost()) {
        lost_by_harvest.add(lost.reason());
        return false;
    }
    // Only the end was queued after the slot was freed; the begin is an older lap's and may precede the watermark.
    DeviceTimeline::Placed placed = timeline->judge(first, end.ticks, nullptr);
    if (placed.valid && slot.watermark != 0 && static_cast<int64_t>(placed.end - slot.watermark) < 0) {
        placed.valid = false;
        placed.lost = LossReason::kStale;
        chain_last_lost = LossReason::kStale;
    }
    return finish(index, slot, placed, record);
}

}    // namespace lapwing::detail
