// What became of each slot's last mark, shared by the thread that marks and the thread that polls.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "lapwing/backend.hpp"

namespace lapwing::vulkan {

/// A state and a tick for each slot, with a serial number for each mark of it.
///
/// A slot may be given up and marked again while its old recording is still in flight: the serial number keeps the old
/// result out of the new mark.
/// Threads: mark() on one thread a slot, resolve() under the backend's lock, at() anywhere.
class SlotTable {
public:
    explicit SlotTable(uint32_t slots) : entries_(slots) {}

    [[nodiscard]] uint32_t size() const noexcept { return static_cast<uint32_t>(entries_.size()); }

    /// hot: the slot is pending from here on; returns the serial number of this mark.
    uint32_t mark(uint32_t slot) noexcept {
        Entry& entry = entries_[slot];
        const uint32_t serial = static_cast<uint32_t>(entry.word.load(std::memory_order_relaxed) >> kStateBits) + 1;
        // Relaxed: the mark reaches the polling thread through the ring or the lock that hands the recording over.
        entry.word.store(pack(serial, StampState::kPending), std::memory_order_relaxed);
        return serial;
    }

    /// The result of mark number `serial`; ignored where the slot was marked again since, or is already resolved.
    void resolve(uint32_t slot, uint32_t serial, StampState state, Ticks ticks) noexcept {
        Entry& entry = entries_[slot];
        uint64_t expected = pack(serial, StampState::kPending);
        if (entry.word.load(std::memory_order_relaxed) != expected) return;
        entry.ticks.store(ticks.value, std::memory_order_relaxed);
        // Release: who sees the state sees the ticks. A mark in between makes this fail, and its own ticks come later.
        entry.word.compare_exchange_strong(expected, pack(serial, state), std::memory_order_release,
                                           std::memory_order_relaxed);
    }

    [[nodiscard]] Stamp at(uint32_t slot) const noexcept {
        const Entry& entry = entries_[slot];
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
    std::vector<Entry> entries_;
};

}    // namespace lapwing::vulkan
