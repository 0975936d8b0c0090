// What became of each slot's last mark, shared by the thread that marks and the thread that polls.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <new>

#include "lapwing/backend.hpp"

namespace lapwing::vulkan {

/// A state and a tick for each slot, with a serial number for each mark of it. Memory comes in pages, as it is
/// reserved.
///
/// A slot may be given up and marked again while its old recording is still in flight: the serial number keeps the old
/// result out of the new mark.
/// Threads: mark() on one thread a slot; reserve() and resolve() under the backend's lock; has() and at() anywhere.
class SlotTable {
public:
    static constexpr uint32_t kMostSlots = 1u << 24;

    SlotTable() = default;
    SlotTable(const SlotTable&) = delete;
    SlotTable& operator=(const SlotTable&) = delete;
    ~SlotTable() {
        for (const std::atomic<Page*>& page : pages_) delete page.load(std::memory_order_relaxed);
    }

    /// Makes slots first .. first + count - 1 usable; false where memory or kMostSlots refuses.
    [[nodiscard]] bool reserve(uint32_t first, uint32_t count) noexcept {
        if (count > kMostSlots || first > kMostSlots - count) return false;
        const uint64_t end = uint64_t{first} + count;
        for (uint64_t slot = first / kPageSlots * kPageSlots; slot < end; slot += kPageSlots) {
            std::atomic<Page*>& page = pages_[slot / kPageSlots];
            if (page.load(std::memory_order_relaxed) != nullptr) continue;
            Page* fresh = new (std::nothrow) Page{};
            if (fresh == nullptr) return false;
            page.store(fresh, std::memory_order_release);    // its entries before its address
        }
        return true;
    }

    /// Whether the slot was reserved.
    [[nodiscard]] bool has(uint32_t slot) const noexcept { return slot < kMostSlots && page_of(slot) != nullptr; }

    /// hot: `has(slot)`; the slot is pending from here on; returns the serial number of this mark.
    uint32_t mark(uint32_t slot) noexcept {
        Entry& entry = entry_of(slot);
        const uint32_t serial = static_cast<uint32_t>(entry.word.load(std::memory_order_relaxed) >> kStateBits) + 1;
        // Relaxed: the mark reaches the polling thread through the ring or the lock that hands the recording over.
        entry.word.store(pack(serial, StampState::kPending), std::memory_order_relaxed);
        return serial;
    }

    /// The result of mark number `serial`; ignored where the slot was marked again since, or is already resolved.
    void resolve(uint32_t slot, uint32_t serial, StampState state, Ticks ticks) noexcept {
        Entry& entry = entry_of(slot);
        uint64_t expected = pack(serial, StampState::kPending);
        if (entry.word.load(std::memory_order_relaxed) != expected) return;
        entry.ticks.store(ticks.value, std::memory_order_relaxed);
        // Release: who sees the state sees the ticks. A mark in between makes this fail, and its own ticks come later.
        entry.word.compare_exchange_strong(expected, pack(serial, state), std::memory_order_release,
                                           std::memory_order_relaxed);
    }

    [[nodiscard]] Stamp at(uint32_t slot) const noexcept {
        const Entry& entry = entry_of(slot);
        const auto state = static_cast<StampState>(entry.word.load(std::memory_order_acquire) & kStateMask);
        return {Ticks{entry.ticks.load(std::memory_order_relaxed)}, state};
    }

private:
    static constexpr uint32_t kStateBits = 2;
    static constexpr uint64_t kStateMask = (uint64_t{1} << kStateBits) - 1;
    static_assert(static_cast<uint64_t>(StampState::kLost) <= kStateMask);

    static constexpr uint64_t pack(uint32_t serial, StampState state) noexcept {
        return uint64_t{serial} << kStateBits | static_cast<uint64_t>(state);
    }
    struct Entry {
        std::atomic<uint64_t> word{0};    // {serial, state}
        std::atomic<uint64_t> ticks{0};
    };
    static constexpr uint32_t kPageSlots = 4096;
    using Page = std::array<Entry, kPageSlots>;

    [[nodiscard]] Page* page_of(uint32_t slot) const noexcept {
        return pages_[slot / kPageSlots].load(std::memory_order_acquire);
    }
    [[nodiscard]] Entry& entry_of(uint32_t slot) const noexcept { return (*page_of(slot))[slot % kPageSlots]; }

    std::array<std::atomic<Page*>, kMostSlots / kPageSlots> pages_{};
};

}    // namespace lapwing::vulkan
