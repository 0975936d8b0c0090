#include "lapwing/detail/slot_ring.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>

namespace lapwing::detail {

void SlotRing::FreeMemory::operator()(void* memory) const noexcept {
    std::free(memory);
}

// calloc and not new[]: large blocks come as untouched zero pages, so a ring that never grows never costs its maximum.
SlotRing::SlotRing(uint32_t initial, uint32_t max) noexcept
    : slots_(static_cast<Slot*>(std::calloc(max, sizeof(Slot)))),
      order_(static_cast<uint32_t*>(std::calloc(max, sizeof(uint32_t)))),
      max_(max),
      mask_(initial - 1) {}

SlotRing::~SlotRing() = default;

uint32_t SlotRing::sweep_open(uint32_t places, uint32_t opened_before_s, bool* done) noexcept {
    const uint32_t slots = capacity();
    const uint32_t end = static_cast<uint32_t>(std::min<uint64_t>(uint64_t{sweep_cursor_} + places, slots));
    uint32_t dropped = 0;
    for (; sweep_cursor_ < end; ++sweep_cursor_) {
        if ((word(sweep_cursor_).load(std::memory_order_acquire) & kSlotStateMask) != kOpen) continue;
        if (slots_[sweep_cursor_].opened_s >= opened_before_s) continue;
        drop_open(sweep_cursor_);
        ++dropped;
    }
    *done = sweep_cursor_ >= slots;
    if (*done) sweep_cursor_ = 0;
    return dropped;
}

uint32_t SlotRing::drop_all_open() noexcept {
    sweep_cursor_ = 0;
    bool done = false;
    return sweep_open(capacity(), std::numeric_limits<uint32_t>::max(), &done);
}

uint64_t SlotRing::in_flight() const noexcept {
    uint64_t count = 0;
    const uint32_t slots = capacity();
    for (uint32_t i = 0; i < slots; ++i) {
        const uint64_t slot_state = word(i).load(std::memory_order_relaxed) & kSlotStateMask;
        if (is_span(slot_state)) ++count;
    }
    return count;
}

}    // namespace lapwing::detail
