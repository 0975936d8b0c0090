#include "lapwing/clock.hpp"

#include <time.h>

#include <array>
#include <atomic>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "core/counter_calibration.hpp"

namespace lapwing {

namespace {

struct Choice {
    HostClockSource source;
    const char* reason;
};

Choice choose() noexcept {
#if defined(__x86_64__)
    unsigned eax = 0;
    unsigned ebx = 0;
    unsigned ecx = 0;
    unsigned edx = 0;
    // Source: Intel SDM volume 2A, CPUID leaf 80000007H, EDX bit 8: the counter runs at a constant rate in all P-, C-
    // and T-states. AMD APM volume 3, the same leaf: TscInvariant.
    if (__get_cpuid(0x80000007u, &eax, &ebx, &ecx, &edx) != 0 && (edx & (1u << 8)) != 0)
        return {HostClockSource::kTsc, "CPUID says that the time-stamp counter is invariant"};
    return {HostClockSource::kClockMonotonic, "CPUID does not say that the time-stamp counter is invariant"};
#elif defined(__aarch64__)
    return {HostClockSource::kVirtualCounter, "the architecture's counter has a constant rate"};
#else
    return {HostClockSource::kClockMonotonic, "no counter is known on this architecture"};
#endif
}

// The published conversion. A writer fills the next slot and then names it; a reader whose slot was filled again
// meanwhile (its sequence changed) looks once more. A thread that dies in the middle of filling, as those that fork()
// does not copy, leaves the named slot whole.
class PublishedScale {
public:
    void publish(const HostScale& scale, uint64_t calibrations) noexcept {
        const uint32_t next = (current_.load(std::memory_order_relaxed) + 1) % kSlots;
        Slot& slot = slots_[next];
        const uint64_t sequence = slot.sequence.load(std::memory_order_relaxed);
        // Each field is stored with release, so that a reader that sees one of them also sees the odd sequence.
        slot.sequence.store(sequence + 1, std::memory_order_release);
        slot.base_tick.store(scale.base_tick, std::memory_order_release);
        slot.base_ns.store(scale.base_ns, std::memory_order_release);
        slot.multiplier.store(scale.multiplier, std::memory_order_release);
        slot.uncertainty_ns.store(scale.uncertainty_ns, std::memory_order_release);
        slot.calibrations.store(calibrations, std::memory_order_release);
        slot.sequence.store(sequence + 2, std::memory_order_release);
        current_.store(next, std::memory_order_release);
    }

    HostScale read(uint64_t* calibrations) const noexcept {
        for (;;) {
            const Slot& slot = slots_[current_.load(std::memory_order_acquire)];
            const uint64_t before = slot.sequence.load(std::memory_order_acquire);
            HostScale out;
            // Acquire loads keep the second look at the sequence behind them.
            out.base_tick = slot.base_tick.load(std::memory_order_acquire);
            out.base_ns = slot.base_ns.load(std::memory_order_acquire);
            out.multiplier = slot.multiplier.load(std::memory_order_acquire);
            out.uncertainty_ns = slot.uncertainty_ns.load(std::memory_order_acquire);
            *calibrations = slot.calibrations.load(std::memory_order_acquire);
            if ((before & 1) == 0 && slot.sequence.load(std::memory_order_relaxed) == before) return out;
        }
    }

private:
    static constexpr uint32_t kSlots = 4;
    struct Slot {
        std::atomic<uint64_t> sequence{0};
        std::atomic<uint64_t> base_tick{0};
        std::atomic<int64_t> base_ns{0};
        std::atomic<uint64_t> multiplier{uint64_t{1} << 48};
        std::atomic<int64_t> uncertainty_ns{0};
        std::atomic<uint64_t> calibrations{0};
    };
    std::array<Slot, kSlots> slots_{};
    std::atomic<uint32_t> current_{0};
};

int64_t monotonic_ns() noexcept {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

// The narrowest of a few readings: an interrupt between the two clocks widens a pair and never narrows one.
detail::ClockPair read_pair() noexcept {
    detail::ClockPair best;
    for (int attempt = 0; attempt < 8; ++attempt) {
        const uint64_t before = tick_ordered().value;
        const int64_t ns = monotonic_ns();
        const uint64_t after = tick_ordered().value;
        const uint64_t width = after - before;
        if (attempt == 0 || width < best.width_ticks) best = {before + width / 2, ns, width};
    }
    return best;
}

constinit Choice g_choice{HostClockSource::kClockMonotonic, "not settled yet"};
constinit detail::CounterCalibration g_calibration;
constinit PublishedScale g_scale;
constinit std::atomic_flag g_calibrating = ATOMIC_FLAG_INIT;

void calibrate_if_wanted() noexcept {
    if (g_choice.source == HostClockSource::kClockMonotonic) return;
    if (g_calibrating.test_and_set(std::memory_order_acquire)) return;
    if (g_calibration.wants_pair(monotonic_ns())) {
        g_calibration.add(read_pair());
        g_scale.publish(g_calibration.scale(), g_calibration.pairs());
    }
    g_calibrating.clear(std::memory_order_release);
}

}    // namespace

namespace detail {

constinit bool g_tick_by_counter = false;

HostTicks tick_by_clock() noexcept {
    return HostTicks{static_cast<uint64_t>(monotonic_ns())};
}

namespace {
// Runs before the program's other static initialisers (101 is the first priority that is not the compiler's own), so
// that no tick is taken before the choice. Two pairs are taken here, so that every reader finds a rate, be it a rough
// one, and the first conversions have a baseline.
struct ChooseFirst {
    ChooseFirst() noexcept {
        g_choice = choose();
        g_tick_by_counter = g_choice.source != HostClockSource::kClockMonotonic;
        calibrate_if_wanted();
        calibrate_if_wanted();
    }
};
__attribute__((init_priority(101), used)) const ChooseFirst g_choose_first;
}    // namespace

}    // namespace detail

const char* to_text(HostClockSource source) noexcept {
    switch (source) {
        case HostClockSource::kTsc:
            return "tsc";
        case HostClockSource::kVirtualCounter:
            return "cntvct_el0";
        case HostClockSource::kClockMonotonic:
            return "clock_monotonic";
    }
    return "unknown";
}

HostClockInfo host_clock() noexcept {
    calibrate_if_wanted();
    HostClockInfo info;
    const HostScale scale = g_scale.read(&info.calibrations);
    info.source = g_choice.source;
    info.reason = g_choice.reason;
    info.ns_per_tick = static_cast<double>(scale.multiplier) / static_cast<double>(uint64_t{1} << 48);
    info.uncertainty_ns = scale.uncertainty_ns;
    return info;
}

HostNs host_now() noexcept {
    return HostNs{monotonic_ns()};
}

HostScale host_scale() noexcept {
    calibrate_if_wanted();
    uint64_t calibrations = 0;
    return g_scale.read(&calibrations);
}

HostNs to_host(HostTicks tick) noexcept {
    return host_scale().to_host(tick);
}

}    // namespace lapwing
