// The host time that the layer takes from the program's threads.
#pragma once

#include <cstdint>
#include <optional>

#include "attach/session/counters.hpp"
#include "attach/session/host_time.hpp"

namespace lapwing::attach {

/// Adds the time of one hook, less the driver call in its middle, to `hook_ns`.
/// Cost:    four clock reads; hooks that run a thousand times a step measure one call of many and count it for all.
class CostMeter {
public:
    /// Measures this call.
    explicit CostMeter(Counters& counters) noexcept : CostMeter(counters.hook_ns) {}
    /// Measures this call for `total_ns`.
    explicit CostMeter(std::atomic<uint64_t>& total_ns) noexcept
        : total_ns_(total_ns), weight_(1), since_ns_(host_now_ns()) {}

    /// Whether a call of this thread is one of the sample: the first 31, each for itself, since first uses are set up
    /// in them; then one in 31, for all 31. Asked once a call. Cost:    hot: a decrement and a branch.
    [[nodiscard]] static bool is_due() noexcept { return --t_until == 0; }
    struct Sampled {};
    /// Measures this call, which is_due() has chosen.
    CostMeter(Counters& counters, Sampled) noexcept
        : total_ns_(counters.hook_ns), weight_(next_weight()), since_ns_(host_now_ns()) {}

    CostMeter(const CostMeter&) = delete;
    CostMeter& operator=(const CostMeter&) = delete;
    ~CostMeter() {
        pause();
        Counters::add(total_ns_, spent_ns_ > kInterruptedNs ? spent_ns_ : spent_ns_ * weight_);
    }

    /// The driver's own call begins.
    void pause() noexcept {
        if (since_ns_ == 0) return;
        spent_ns_ += static_cast<uint64_t>(host_now_ns() - since_ns_);
        since_ns_ = 0;
    }
    /// The driver's own call is over.
    void resume() noexcept { since_ns_ = host_now_ns(); }

private:
    // A hook of a command takes a microsecond. One that took so long lost its processor: counted for 31 it would pass a
    // time slice of another program off as a tenth of a second of ours.
    static constexpr uint64_t kInterruptedNs = 100'000;
    // Prime: engines call hooks in a fixed order (label, bind, dispatch, label end), and every one must get its turn.
    static constexpr uint32_t kStride = 31;
    // Read in each hook: initial-exec spares a call of the dynamic linker's.
    [[gnu::tls_model("initial-exec")]] static inline constinit thread_local uint32_t t_until = 1;
    static inline constinit thread_local uint32_t t_first = kStride;
    static uint32_t next_weight() noexcept {
        if (t_first == 0) {
            t_until = kStride;
            return kStride;
        }
        t_until = --t_first == 0 ? kStride : 1;
        return 1;
    }

    std::atomic<uint64_t>& total_ns_;
    const uint32_t weight_;
    int64_t since_ns_;
    uint64_t spent_ns_ = 0;
};

}    // namespace lapwing::attach
