#include "lapwing/cpu_backend.hpp"

#include <chrono>
#include <cstdlib>
#include <thread>

namespace lapwing {

namespace {
// The rate comes from two pairs of clock readings, each good to some 20 ns: 5 ms apart they give it to 10 ppm.
double settled_ns_per_tick() {
    using std::chrono::milliseconds;
    static const bool settled = [] {
        if (host_clock().source == HostClockSource::kClockMonotonic) return true;
        std::this_thread::sleep_for(milliseconds(5));
        return true;
    }();
    static_cast<void>(settled);
    return host_clock().ns_per_tick;
}
}    // namespace

void CpuBackend::FreeMemory::operator()(uint64_t* memory) const noexcept {
    std::free(memory);
}

CpuBackend::CpuBackend(const CpuOptions& options)
    : max_stamps_(options.max_stamps),
      ns_per_tick_(settled_ns_per_tick()),
      stamps_(static_cast<uint64_t*>(std::calloc(options.max_stamps, sizeof(uint64_t)))) {
    LAPWING_ASSERT(stamps_ != nullptr);
}

Caps CpuBackend::caps(const Queue& /*queue*/) const {
    Caps caps;
    caps.ns_per_tick = ns_per_tick_;
    caps.valid_bits = 64;
    caps.resolution_ns = ns_per_tick_;
    caps.calibrated = true;
    return caps;
}

void CpuBackend::poll(std::span<const uint32_t> slots, std::span<Stamp> out) noexcept {
    for (std::size_t i = 0; i < slots.size(); ++i) out[i] = Stamp{Ticks{stamps_[slots[i]]}, StampState::kReady};
}

Result<ClockAnchor> CpuBackend::calibrate(const Queue& /*queue*/) {
    const HostScale scale = host_scale();
    const HostTicks now = tick();
    return ClockAnchor{Ticks{now.value}, scale.to_host(now), scale.uncertainty_ns};
}

static_assert(Backend<CpuBackend>);

}    // namespace lapwing
