// Device ticks placed on the host clock, with an uncertainty, from anchors and brackets.
#pragma once

#include <cstdint>
#include <optional>

#include "lapwing/stamp.hpp"
#include "lapwing/units.hpp"

namespace lapwing {

/// Maps the unwrapped ticks of one device clock to the host clock.
///
/// An *anchor* is a pair that the driver delivered (calibrated timestamps). A *bracket* is a device interval that is
/// known to lie inside a host interval: between the moment before a submit and the moment after its completion was
/// seen. Brackets narrow the offset without any help from the driver, and unmask anchors of another epoch: an anchor
/// that contradicts the brackets by more than both uncertainties (and what clocks may drift between the two) is
/// refused, later ones are not used either, and the alignment goes on by brackets alone. Threads: one at a time.
class ClockAlignment {
public:
    explicit ClockAlignment(TickScale scale) noexcept;

    /// A pair from the driver. Units: `device` unwrapped ticks, `uncertainty_ns` half-width.
    void anchor(uint64_t device, HostNs host, int64_t uncertainty_ns) noexcept;

    /// Device interval [first, last] lies within host interval [before, after].
    /// Shape:   a bracket that is longer on the device than on the host is ignored and counted; one that contradicts
    ///          the earlier ones (the clocks drifted apart) replaces them and is counted as a restart.
    void bracket(uint64_t first, uint64_t last, HostNs before, HostNs after) noexcept;

    /// Whether to_host() means anything yet.
    [[nodiscard]] bool aligned() const noexcept;

    /// The host moment of a device tick. Before alignment, ticks are converted as if both clocks began together.
    [[nodiscard]] HostNs to_host(uint64_t device) const noexcept;

    /// The pair of moments that to_host() counts from: to_host(t) == align(t, origin().device, origin().host, scale).
    /// Shape:   valid until the next anchor or bracket; lets a batch convert without asking again.
    struct Origin {
        uint64_t device = 0;
        HostNs host;
    };
    [[nodiscard]] Origin origin() const noexcept;

    /// Half-width of the interval that contains the true host moment; absent before alignment.
    [[nodiscard]] std::optional<int64_t> uncertainty_ns() const noexcept;

    /// Whether the driver's anchors are in use.
    [[nodiscard]] bool calibrated() const noexcept;

    /// Whether an anchor was refused because it contradicts the brackets.
    [[nodiscard]] bool calibration_refused() const noexcept;

    /// Brackets that were longer on the device than on the host.
    [[nodiscard]] uint64_t brackets_refused() const noexcept { return brackets_refused_; }

    /// How often a bracket contradicted the earlier ones and replaced them.
    [[nodiscard]] uint64_t restarts() const noexcept { return restarts_; }

private:
    void refuse_contradicted_anchor() noexcept;

    TickScale scale_;
    bool has_anchor_ = false;
    bool has_bracket_ = false;
    bool refused_ = false;
    uint64_t anchor_device_ = 0;
    int64_t anchor_host_ns_ = 0;
    int64_t anchor_uncertainty_ns_ = 0;
    uint64_t brackets_refused_ = 0;
    uint64_t restarts_ = 0;
    uint64_t newest_device_ = 0;
    uint64_t base_device_ = 0;     // tick that bracket offsets are relative to
    int64_t offset_low_ns_ = 0;    // host - (device - base) lies in [low, high]
    int64_t offset_high_ns_ = 0;
};

}    // namespace lapwing
