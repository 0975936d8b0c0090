// The slots of one device queue: who owns which, and in which order they were closed. Knows no backend.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>

#include "lapwing/detail/atomic.hpp"
#include "lapwing/loss.hpp"
#include "lapwing/record.hpp"

namespace lapwing::detail {

/// State of a slot, the low bits of its word; the generation is above them. The producer moves free -> open -> closed
/// (or straight to lap and boundary), the harvester closed -> free. An open slot is the producer's alone.
enum SlotState : uint64_t {
    kFree = 0,
    kOpen = 1,        ///< begin stamp queued, end stamp not
    kClosed = 2,      ///< both stamps queued, in the closed order
    kLap = 3,         ///< end stamp queued; begins at the previous lap or boundary of the order
    kBoundary = 4,    ///< one stamp, no span: where a lap chain starts
    kEmptyLap = 5,    ///< a lap over nothing, no span: measures the floor
};
/// Whether a slot in this state holds a span that was begun and not harvested.
[[nodiscard]] constexpr bool is_span(uint64_t state) noexcept {
    return state == kOpen || state == kClosed || state == kLap;
}
inline constexpr uint64_t kSlotStateMask = 7;
inline constexpr uint32_t kSlotGenerationShift = 3;
inline constexpr uint32_t kNoSlot = 0xffff'ffff;

/// Zeroed memory is a free slot of generation 0. `word` is shared by both sides; the rest belongs to who owns the slot.
struct Slot {
    uint64_t word;
    Plain<SiteId> site;
    Plain<uint32_t> step;
    uint64_t watermark;          ///< harvester: newest tick seen on the queue when the slot was freed; 0 = none
    Plain<uint32_t> opened_s;    ///< producer: coarse host time of begin
    Plain<uint32_t> tag;
};
static_assert(sizeof(Slot) == 32);

/// A counter with one writer: no read-modify-write instruction.
class SoloCounter {
public:
    void add(uint64_t count = 1) noexcept {
        value_.store(value_.load(std::memory_order_relaxed) + count, std::memory_order_relaxed);
    }
    [[nodiscard]] uint64_t get() const noexcept { return value_.load(std::memory_order_relaxed); }

private:
    std::atomic<uint64_t> value_{0};
};

/// Loss counters with one writer.
class SoloLosses {
public:
    void add(LossReason reason, uint64_t count = 1) noexcept { counts_[static_cast<std::size_t>(reason)].add(count); }
    [[nodiscard]] LossCounts snapshot() const noexcept {
        LossCounts out;
        for (std::size_t i = 0; i < kLossReasonCount; ++i) out.by_reason[i] = counts_[i].get();
        return out;
    }

private:
    std::array<SoloCounter, kLossReasonCount> counts_;
};

/// Slots and closed order of one queue. Memory for all `max` slots is reserved at once and touched as it is used:
/// growing is one store, and neither side ever sees an address change.
///
/// Memory order: the producer publishes a closed slot by the release store of the order's tail, the harvester gives one
/// back by the release store of its word; each side acquires what it reads of the other. No instruction on the
/// producer's side reads, modifies and writes at once, because a device queue is externally synchronised anyway.
class SlotRing {
public:
    /// Shape:   `initial` and `max` are powers of two, initial <= max. `ok()` is false where memory was refused.
    SlotRing(uint32_t initial, uint32_t max) noexcept;
    ~SlotRing();
    SlotRing(const SlotRing&) = delete;
    SlotRing& operator=(const SlotRing&) = delete;

    [[nodiscard]] bool ok() const noexcept { return slots_ != nullptr && order_ != nullptr; }
    [[nodiscard]] uint32_t max() const noexcept { return max_; }
    [[nodiscard]] uint32_t capacity() const noexcept { return mask_.load(std::memory_order_relaxed) + 1; }

    // Producer side: externally synchronised with the queue.

    /// A free slot and its word; index kNoSlot where there is none.
    struct FreeSlot {
        uint32_t index;
        uint64_t word;
    };

    /// Looks for a free slot at the cursor. A few places are looked at, so one long-open slot costs nothing; when
    /// all of them are taken, the cursor moves on and does not stick.
    [[nodiscard]] FreeSlot find_free() noexcept {
        const uint32_t mask = mask_.load(std::memory_order_relaxed);
        for (uint32_t i = 0; i < kLook; ++i) {
            const uint32_t index = (cursor_ + i) & mask;
            const uint64_t found = word(index).load(std::memory_order_acquire);
            if ((found & kSlotStateMask) == kFree) [[likely]] {
                cursor_ = index + 1;
                return {index, found};
            }
        }
        ++cursor_;
        return {kNoSlot, 0};
    }

    /// Moves a free slot on to `state`. Returns its generation.
    uint32_t take(const FreeSlot& found, SlotState state, SiteId site, uint32_t step, uint32_t tag) noexcept {
        Slot& slot = slots_[found.index];
        slot.site = site;
        slot.tag = tag;
        slot.step = step;
        slot.opened_s = coarse_s_.load(std::memory_order_relaxed);
        word(found.index).store(found.word | state, std::memory_order_relaxed);
        return static_cast<uint32_t>(found.word >> kSlotGenerationShift);
    }

    /// Whether the slot is open in just this generation.
    [[nodiscard]] bool is_open(uint32_t index, uint32_t generation) const noexcept {
        return word(index).load(std::memory_order_relaxed) == open_word(generation);
    }
    void close(uint32_t index, uint32_t generation) noexcept {
        word(index).store(open_word(generation) ^ kOpen ^ kClosed, std::memory_order_relaxed);
        push(index);
    }

    /// Appends to the closed order and publishes everything written to the slot before.
    void push(uint32_t index) noexcept {
        const uint64_t position = tail_.load(std::memory_order_relaxed);
        AtomicRef<uint32_t>(order_[position & (max_ - 1)]).store(index, std::memory_order_relaxed);
        tail_.store(position + 1, std::memory_order_release);
    }

    /// The slot that push() appended last.
    [[nodiscard]] uint32_t last_pushed() const noexcept { return at(tail_.load(std::memory_order_relaxed) - 1); }

    /// Gives an open slot back without a result.
    void drop_open(uint32_t index) noexcept { release(index); }

    /// Drops at most `places` slots from the sweep cursor on that were opened before `opened_before_s`.
    /// Shape:   returns how many were dropped; `*done` says whether the sweep passed the last slot.
    uint32_t sweep_open(uint32_t places, uint32_t opened_before_s, bool* done) noexcept;

    /// Drops every open slot; returns how many.
    uint32_t drop_all_open() noexcept;

    // Harvester side: one at a time.

    [[nodiscard]] uint64_t head() const noexcept { return head_; }
    [[nodiscard]] uint64_t tail() const noexcept { return tail_.load(std::memory_order_acquire); }
    [[nodiscard]] uint32_t at(uint64_t position) const noexcept {
        return AtomicRef<uint32_t>(order_[position & (max_ - 1)]).load(std::memory_order_relaxed);
    }
    [[nodiscard]] SlotState state(uint32_t index) const noexcept {
        return static_cast<SlotState>(word(index).load(std::memory_order_relaxed) & kSlotStateMask);
    }
    [[nodiscard]] Slot& slot(uint32_t index) noexcept { return slots_[index]; }
    [[nodiscard]] uint32_t generation(uint32_t index) const noexcept {
        return static_cast<uint32_t>(word(index).load(std::memory_order_relaxed) >> kSlotGenerationShift);
    }

    /// Frees the slot at the head of the order and moves on.
    void pop(uint32_t index) noexcept {
        release(index);
        ++head_;
    }

    /// Whether a larger ring would help: more than half is waiting for results, and there is room to grow.
    [[nodiscard]] bool pressed() const noexcept { return capacity() < max_ && (tail() - head_) * 2 > capacity(); }

    /// Doubles the ring, up to its maximum. New slots are zeroed memory that nobody has written, so the producer may
    /// use them as soon as it sees the mask.
    void grow() noexcept {
        if (capacity() < max_) mask_.store(capacity() * 2 - 1, std::memory_order_relaxed);
    }
    [[nodiscard]] uint32_t coarse_s() const noexcept { return coarse_s_.load(std::memory_order_relaxed); }
    void set_coarse_s(uint32_t seconds) noexcept {
        if (coarse_s_.load(std::memory_order_relaxed) != seconds) coarse_s_.store(seconds, std::memory_order_relaxed);
    }

    // Any thread.

    /// Spans begun and neither recorded nor lost; boundaries are not spans. A scan of all slots.
    [[nodiscard]] uint64_t in_flight() const noexcept;

private:
    static constexpr uint32_t kLook = 8;

    [[nodiscard]] AtomicRef<uint64_t> word(uint32_t index) const noexcept {
        return AtomicRef<uint64_t>(slots_[index].word);
    }
    [[nodiscard]] static constexpr uint64_t open_word(uint32_t generation) noexcept {
        return static_cast<uint64_t>(generation) << kSlotGenerationShift | kOpen;
    }
    void release(uint32_t index) noexcept {
        const uint64_t next = (word(index).load(std::memory_order_relaxed) >> kSlotGenerationShift) + 1;
        word(index).store((next & 0xffff'ffff) << kSlotGenerationShift, std::memory_order_release);
    }

    struct FreeMemory {
        void operator()(void* memory) const noexcept;
    };
    // 64 is the line size of the machines this runs on; the library's own constant is not on every compiler.
    std::unique_ptr<Slot[], FreeMemory> slots_;
    std::unique_ptr<uint32_t[], FreeMemory> order_;
    uint32_t max_;
    Atomic<uint32_t> mask_;
    std::atomic<uint32_t> coarse_s_{0};
    alignas(64) uint32_t cursor_ = 0;
    uint32_t sweep_cursor_ = 0;
    Atomic<uint64_t> tail_{0};
    alignas(64) Plain<uint64_t> head_{0};
};

}    // namespace lapwing::detail
