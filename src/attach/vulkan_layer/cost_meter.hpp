// The host time that the layer takes from the program's threads.
#pragma once

#include <cstdint>

#include "attach/vulkan_layer/counters.hpp"
#include "attach/vulkan_layer/host_time.hpp"

namespace lapwing::vulkan_layer {

/// Adds the time of one hook, less the driver call in its middle, to `hook_ns`.
/// Cost:    four clock reads where it measures; hooks that run a thousand times a step measure one call of many and
///          count it for all (Sampled).
class CostMeter {
public:
    /// Measures this call.
    explicit CostMeter(Counters& counters) noexcept : CostMeter(counters.hook_ns) {}
    /// Measures this call for `total_ns`.
    explicit CostMeter(std::atomic<uint64_t>& total_ns) noexcept
        : total_ns_(total_ns), weight_(1), since_ns_(host_now_ns()) {}

    struct Sampled {};
    /// Measures the first 31 calls of this thread, each for itself: first uses are set up in them. Then one call in 31,
    /// for all 31.
    CostMeter(Counters& counters, Sampled) noexcept
        : total_ns_(counters.hook_ns), weight_(weight_of(t_calls++)), since_ns_(weight_ == 0 ? 0 : host_now_ns()) {}

    CostMeter(const CostMeter&) = delete;
    CostMeter& operator=(const CostMeter&) = delete;
    ~CostMeter() {
        pause();
        if (weight_ > 0) Counters::add(total_ns_, spent_ns_ * weight_);
    }

    /// The driver's own call begins.
    void pause() noexcept {
        if (weight_ == 0 || since_ns_ == 0) return;
        spent_ns_ += static_cast<uint64_t>(host_now_ns() - since_ns_);
        since_ns_ = 0;
    }
    /// The driver's own call is over.
    void resume() noexcept {
        if (weight_ > 0) since_ns_ = host_now_ns();
    }

private:
    // Prime: engines call hooks in a fixed order (label, bind, dispatch, label end), and every one must get its turn.
    static constexpr uint32_t kStride = 31;
    static inline thread_local uint32_t t_calls = 0;
    static constexpr uint32_t weight_of(uint32_t call) noexcept {
        if (call < kStride) return 1;
        return call % kStride == 0 ? kStride : 0;
    }

    std::atomic<uint64_t>& total_ns_;
    const uint32_t weight_;
    int64_t since_ns_;
    uint64_t spent_ns_ = 0;
};

}    // namespace lapwing::vulkan_layer
