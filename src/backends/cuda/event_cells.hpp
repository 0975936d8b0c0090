// What became of each slot's last stamp, with the event that is the slot's for good.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <new>

#include "backends/cuda/driver_types.hpp"
#include "lapwing/backend.hpp"
#include "lapwing/detail/slot_ring.hpp"

namespace lapwing::cuda {

/// One stream of the program's.
struct MarkedStream {
    Stream handle = nullptr;
    bool special = false;    ///< the default stream, which is whose the calling thread's context is

    // Who marks.
    uint64_t recorded = 0;       ///< stamps so far, numbered from 1
    bool closed = false;         ///< by close_queue(), or the driver knows the handle no more
    bool refuse_next = false;    ///< the driver did not say whether the stream is captured
    detail::SoloCounter marks;

    // Who polls.
    uint64_t complete = 0;    ///< every stamp up to this number is complete
};

/// A slot. It belongs to who marks until it is handed over, then to who polls until it is free again.
struct EventCell {
    MarkedStream* stream = nullptr;    ///< null: never marked
    Event event = nullptr;
    uint64_t number = 0;    ///< of the stamp on its stream
    uint64_t ticks = 0;     ///< the result, once there
    StampState state = StampState::kFailed;
};

/// Cells in pages, as they are reserved.
class EventCells {
public:
    static constexpr uint32_t kMostSlots = 1u << 24;

    EventCells() = default;
    EventCells(const EventCells&) = delete;
    EventCells& operator=(const EventCells&) = delete;
    ~EventCells() {
        for (const std::atomic<Page*>& page : pages_) delete page.load(std::memory_order_relaxed);
    }

    /// Makes room, without events.
    [[nodiscard]] bool reserve(uint32_t first, uint32_t count) noexcept {
        if (count > kMostSlots || first > kMostSlots - count) return false;
        const uint64_t end = uint64_t{first} + count;
        for (uint64_t slot = first / kPageSlots * kPageSlots; slot < end; slot += kPageSlots) {
            std::atomic<Page*>& page = pages_[slot / kPageSlots];
            if (page.load(std::memory_order_relaxed) != nullptr) continue;
            Page* const fresh = new (std::nothrow) Page{};
            if (fresh == nullptr) return false;
            page.store(fresh, std::memory_order_release);
        }
        return true;
    }

    /// Null where the slot was not reserved.
    [[nodiscard]] EventCell* find(uint32_t slot) const noexcept {
        if (slot >= kMostSlots) return nullptr;
        Page* const page = pages_[slot / kPageSlots].load(std::memory_order_acquire);
        return page == nullptr ? nullptr : &(*page)[slot % kPageSlots];
    }

    template <class Visit>
    void each(Visit visit) noexcept {
        for (const std::atomic<Page*>& page : pages_)
            if (Page* const cells = page.load(std::memory_order_acquire); cells != nullptr)
                for (EventCell& cell : *cells) visit(cell);
    }

private:
    static constexpr uint32_t kPageSlots = 1024;
    using Page = std::array<EventCell, kPageSlots>;
    std::array<std::atomic<Page*>, kMostSlots / kPageSlots> pages_{};
};

}    // namespace lapwing::cuda
