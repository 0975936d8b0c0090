// What the layer counts about itself, over the whole process.
#pragma once

#include <atomic>
#include <cstdint>

#include "lapwing/loss.hpp"
#include "lapwing/sink.hpp"

namespace lapwing::attach {

/// Relaxed counters that any thread may raise. The fields mean what those of RecordingStats mean.
struct Counters {
    std::atomic<uint64_t> begun{0};
    std::atomic<uint64_t> recorded{0};
    std::atomic<uint64_t> executed_dispatches{0};
    std::atomic<uint64_t> stamps{0};
    std::atomic<uint64_t> result_reads{0};
    std::atomic<uint64_t> hook_ns{0};
    std::atomic<uint64_t> faults{0};
    LossCounters lost;

    static void add(std::atomic<uint64_t>& counter, uint64_t count = 1) noexcept {
        counter.fetch_add(count, std::memory_order_relaxed);
    }
    static void subtract(std::atomic<uint64_t>& counter, uint64_t count) noexcept {
        counter.fetch_sub(count, std::memory_order_relaxed);
    }
    static uint64_t read(const std::atomic<uint64_t>& counter) noexcept {
        return counter.load(std::memory_order_relaxed);
    }
};

/// Host time spent so far in the hooks that create instances and devices, the driver's own calls not counted: an
/// instance is there before a session is.
/// Units:   ns.
inline std::atomic<uint64_t> g_start_ns{0};

}    // namespace lapwing::attach
