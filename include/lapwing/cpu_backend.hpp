// The host's own clock as a device: spans of work that the calling thread does itself.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "lapwing/backend.hpp"
#include "lapwing/clock.hpp"

namespace lapwing {

struct CpuOptions {
    uint32_t max_stamps = 1u << 20;    ///< slot numbers 0 .. max_stamps - 1 may be marked; memory is used as touched
};

/// A device whose queue is the calling thread: a mark is a tick, and its result is there at once.
/// Units:   ticks are those of lapwing::tick(), valid bits 64; the one place where host ticks become device ticks.
/// Cost:    the constructor waits up to 5 ms, once a process, so that the counter's rate is known to some ppm.
/// Threads: mark on different slots at once; poll where the marks happened before.
class CpuBackend {
public:
    struct Queue {};

    explicit CpuBackend(const CpuOptions& options = {});
    CpuBackend(const CpuBackend&) = delete;
    CpuBackend& operator=(const CpuBackend&) = delete;

    // The backend concept; see backend.hpp.

    [[nodiscard]] Caps caps(const Queue& queue) const;
    [[nodiscard]] bool mark(const Queue& /*queue*/, uint32_t slot) noexcept {
        LAPWING_ASSERT(slot < max_stamps_);
        stamps_[slot] = tick().value;
        return true;
    }
    void poll(std::span<const uint32_t> slots, std::span<Stamp> out) noexcept;
    [[nodiscard]] Result<ClockAnchor> calibrate(const Queue& queue);
    [[nodiscard]] bool is_capturing(const Queue& /*queue*/) const noexcept { return false; }
    [[nodiscard]] bool reserve(uint32_t first, uint32_t count) noexcept {
        return uint64_t{first} + count <= max_stamps_;
    }

private:
    struct FreeMemory {
        void operator()(uint64_t* memory) const noexcept;
    };
    uint32_t max_stamps_;
    double ns_per_tick_;
    std::unique_ptr<uint64_t[], FreeMemory> stamps_;
};

}    // namespace lapwing
