// What became of each slot's last stamp, shared by the thread that enqueues and the thread that polls.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <new>

#include "backends/opencl/entry_points.hpp"
#include "lapwing/backend.hpp"
#include "lapwing/detail/slot_ring.hpp"

namespace lapwing::opencl {

/// One command queue.
struct Stream {
    cl_command_queue handle = nullptr;
    bool in_order = true;
    Caps caps;

    // Who enqueues.
    uint64_t enqueued = 0;    ///< commands that got cells, numbered from 1
    detail::SoloCounter marks;
    detail::SoloCounter adopted;

    // Who polls.
    uint64_t complete = 0;      ///< in order: every command up to this number is complete
    uint64_t read = 0;          ///< number of the newest command whose profile was read ...
    uint64_t last_begin = 0;    ///< ... and what it was
    uint64_t last_end = 0;
};

/// A slot. `event` is owned (one reference) from the moment it is stored until it is exchanged for null, and tells who
/// polls that there is something to read; results are written before it is cleared.
struct EventCell {
    static constexpr uint32_t kNoPartner = 0xffff'ffff;

    std::atomic<cl_event> event{nullptr};
    Stream* stream = nullptr;
    uint64_t number = 0;              ///< of the command on its stream
    uint64_t ticks = 0;               ///< the result, once there
    uint32_t partner = kNoPartner;    ///< the other slot of an adopted command
    StampState state = StampState::kPending;
    bool holds_partners_event = false;    ///< the end of an adopted command, whose event serves both
};

/// Cells in pages, as they are reserved. A cell belongs to who enqueues until its slot is handed over, then to who
/// polls until the slot is free again; the ring's own hand-over orders both.
class EventCells {
public:
    static constexpr uint32_t kMostSlots = 1u << 24;

    EventCells() = default;
    EventCells(const EventCells&) = delete;
    EventCells& operator=(const EventCells&) = delete;
    ~EventCells() {
        for (const std::atomic<Page*>& page : pages_) delete page.load(std::memory_order_relaxed);
    }

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

}    // namespace lapwing::opencl
