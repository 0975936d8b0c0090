// The backend concept: what can stamp a queue and say later what the stamp was. Nothing else crosses this line.
#pragma once

#include <concepts>
#include <cstdint>
#include <span>

#include "lapwing/result.hpp"
#include "lapwing/units.hpp"

namespace lapwing {

/// What a queue's clock can do, and what it cannot and why.
struct Caps {
    double ns_per_tick = 0;      ///< finite and > 0 where `valid_bits` > 0
    uint32_t valid_bits = 0;     ///< 1..64; 0 = this queue has no timestamps, `reason` says why
    double resolution_ns = 0;    ///< smallest step that was seen or is documented; >= ns_per_tick
    bool calibrated = false;     ///< calibrate() pairs the clocks by the driver's own means
    const char* reason = "";     ///< static: what is missing and why; empty when nothing is
};

/// One device tick paired with one host moment.
/// Units:   `uncertainty_ns` is the half-width of the interval that is known to contain the true host moment.
struct ClockAnchor {
    Ticks device;
    HostNs host;
    int64_t uncertainty_ns = 0;
};

/// What became of a stamp.
enum class StampState : uint8_t {
    kPending = 0,    ///< not there yet: ask again later
    kReady,          ///< `ticks` is valid
    kFailed,         ///< the driver reported an error for it; it will never be there
    kLost,           ///< the device is lost or was reset
};

/// The answer of poll() for one slot.
struct Stamp {
    Ticks ticks;
    StampState state = StampState::kPending;
};

/// A backend. `Queue` is a cheap handle of an in-order stream of device work, passed by value or reference.
///
/// caps(queue)          cold: what this queue's clock is
/// mark(queue, slot)    hot, noexcept: queue one timestamp whose result will be asked for by `slot`; false = the driver
/// refused.
///                      A slot is marked again only after its last result was polled or given up.
/// poll(slots, out)     cold, noexcept, never blocks and never waits for the device: out[i] answers slots[i];
///                      out.size() >= slots.size()
/// calibrate(queue)     cold: a fresh anchor, or kUnsupported with the reason
/// is_capturing(queue)  hot, noexcept: whether commands on it are being captured into a graph (constant false where the
/// API has no capture)
template <class B>
concept Backend = requires(B backend, typename B::Queue& queue, uint32_t slot, std::span<const uint32_t> slots,
                           std::span<Stamp> out) {
    { backend.caps(queue) } -> std::same_as<Caps>;
    { backend.mark(queue, slot) }
    noexcept->std::same_as<bool>;
    { backend.poll(slots, out) }
    noexcept->std::same_as<void>;
    { backend.calibrate(queue) } -> std::same_as<Result<ClockAnchor>>;
    { backend.is_capturing(queue) }
    noexcept->std::same_as<bool>;
};

}    // namespace lapwing
