// From a driver's handles to kernels: looked up without a lock, extended with one.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "lapwing/kernel_table.hpp"

namespace lapwing::detail {

/// An open-addressed table with linear probing. It starts with 512 slots and doubles at half full, up to `max_handles`.
/// Threads: find: any. insert: one at a time, beside any number of finds.
class HandleMap {
public:
    explicit HandleMap(uint32_t max_handles) : max_handles_(std::bit_ceil(max_handles == 0 ? 1u : max_handles)) {
        slots_.store(make(kFirstBits), std::memory_order_relaxed);
    }

    [[nodiscard]] std::optional<KernelId> find(uint64_t handle) const noexcept {
        // Acquire: the slots of a larger array are filled before it is published.
        const Array& array = *slots_.load(std::memory_order_acquire);
        for (uint32_t slot = handle_slot(handle, array.bits);; slot = (slot + 1) & array.mask()) {
            const uint64_t key = array.slots[slot].handle.load(std::memory_order_acquire);
            if (key == handle) return array.slots[slot].kernel.load(std::memory_order_relaxed);
            if (key == 0) return std::nullopt;    // at most half of the slots are taken
        }
    }

    /// Says what `handle` stands for. False: there is no room for it.
    [[nodiscard]] bool insert(uint64_t handle, KernelId kernel) {
        const Array* array = slots_.load(std::memory_order_relaxed);
        Slot* slot = slot_of(*array, handle);
        if (slot->handle.load(std::memory_order_relaxed) == 0) {
            if (used_ == max_handles_) return false;
            if (2 * (used_ + 1) > array->mask() + 1) slot = slot_of(grow(*array), handle);
            ++used_;
        }
        slot->kernel.store(kernel, std::memory_order_relaxed);
        // Release: who finds the handle finds its kernel.
        slot->handle.store(handle, std::memory_order_release);
        return true;
    }

private:
    static constexpr uint32_t kFirstBits = 9;
    struct Slot {
        std::atomic<uint64_t> handle{0};
        std::atomic<KernelId> kernel{0};
    };
    struct Array {
        uint32_t bits = 0;
        std::unique_ptr<Slot[]> slots;
        [[nodiscard]] uint32_t mask() const noexcept { return (1u << bits) - 1; }
    };

    Array* make(uint32_t bits) {
        arrays_.push_back(std::make_unique<Array>(Array{bits, std::make_unique<Slot[]>(std::size_t{1} << bits)}));
        return arrays_.back().get();
    }
    static Slot* slot_of(const Array& array, uint64_t handle) noexcept {
        uint32_t slot = handle_slot(handle, array.bits);
        for (;; slot = (slot + 1) & array.mask()) {
            const uint64_t key = array.slots[slot].handle.load(std::memory_order_relaxed);
            if (key == handle || key == 0) return &array.slots[slot];
        }
    }
    const Array& grow(const Array& old) {
        Array* const larger = make(old.bits + 1);
        for (uint32_t i = 0; i <= old.mask(); ++i) {
            const uint64_t handle = old.slots[i].handle.load(std::memory_order_relaxed);
            if (handle == 0) continue;
            Slot* const slot = slot_of(*larger, handle);
            slot->handle.store(handle, std::memory_order_relaxed);
            slot->kernel.store(old.slots[i].kernel.load(std::memory_order_relaxed), std::memory_order_relaxed);
        }
        slots_.store(larger, std::memory_order_release);
        return *larger;
    }

    uint32_t max_handles_;
    uint32_t used_ = 0;
    std::atomic<Array*> slots_{nullptr};
    std::vector<std::unique_ptr<Array>> arrays_;    // smaller ones stay: someone may be looking at one
};

}    // namespace lapwing::detail
