// What Lapwing itself costs: host time of its calls, measured on a sample of them.
#pragma once

#include <atomic>
#include <cstdint>

#include "lapwing/clock.hpp"

namespace lapwing {

/// A plain copy of a meter.
struct OwnCost {
    uint64_t calls = 0;
    uint64_t sampled_calls = 0;
    uint64_t sampled_ticks = 0;    ///< host ticks spent in the sampled calls, the clock readings' own time included

    /// Mean of the sampled calls. Units: ns; 0 where none was sampled.
    [[nodiscard]] double ns_per_call(const HostScale& scale) const noexcept {
        if (sampled_calls == 0) return 0;
        return static_cast<double>(scale.to_ns(static_cast<int64_t>(sampled_ticks))) /
               static_cast<double>(sampled_calls);
    }
    /// All calls, extrapolated from the sampled ones. Units: ns.
    [[nodiscard]] int64_t total_ns(const HostScale& scale) const noexcept {
        return static_cast<int64_t>(ns_per_call(scale) * static_cast<double>(calls));
    }
};

/// Meters the calls of one thread, or of one externally synchronised object.
/// Shape:   every `stride`-th call is timed, the first included; `stride` is a power of two, 1 times all.
/// Cost:    hot: an addition and a branch a call; two ticks (about 20 ns) on sampled ones.
/// Threads: one writer, any reader.
class OwnCostMeter {
public:
    explicit OwnCostMeter(uint64_t stride = 64) noexcept : mask_(stride - 1) {}

    /// Times its own scope where the call is one of the sample.
    class Scope {
    public:
        explicit Scope(OwnCostMeter& meter) noexcept : meter_(meter) {
            const uint64_t call = meter.calls_.load(std::memory_order_relaxed);
            meter.calls_.store(call + 1, std::memory_order_relaxed);
            if ((call & meter.mask_) == 0) [[unlikely]] {
                sampled_ = true;
                begin_ = tick();
            }
        }
        ~Scope() {
            if (sampled_) [[unlikely]]
                meter_.add_sample(tick().value - begin_.value);
        }
        Scope(const Scope&) = delete;
        Scope& operator=(const Scope&) = delete;

    private:
        OwnCostMeter& meter_;
        HostTicks begin_;
        bool sampled_ = false;
    };

    [[nodiscard]] OwnCost snapshot() const noexcept {
        OwnCost out;
        // Samples before calls: a reader never sees more samples than calls.
        out.sampled_ticks = sampled_ticks_.load(std::memory_order_relaxed);
        out.sampled_calls = sampled_calls_.load(std::memory_order_acquire);
        out.calls = calls_.load(std::memory_order_relaxed);
        return out;
    }

private:
    void add_sample(uint64_t ticks) noexcept {
        sampled_ticks_.store(sampled_ticks_.load(std::memory_order_relaxed) + ticks, std::memory_order_relaxed);
        sampled_calls_.store(sampled_calls_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    }

    uint64_t mask_;
    std::atomic<uint64_t> calls_{0};
    std::atomic<uint64_t> sampled_calls_{0};
    std::atomic<uint64_t> sampled_ticks_{0};
};

}    // namespace lapwing
