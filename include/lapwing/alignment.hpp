// Device ticks placed on the host clock, with an uncertainty, from anchors and brackets.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "lapwing/drift.hpp"
#include "lapwing/stamp.hpp"
#include "lapwing/units.hpp"

namespace lapwing {

/// Maps the unwrapped ticks of one device clock to the host clock.
///
/// An *anchor* is a pair that the driver delivered (calibrated timestamps). A *bracket* is a device interval that is
/// known to lie inside a host interval: between the moment before a submit and the moment after its completion was
/// seen. Brackets narrow the offset without any help from the driver, and unmask anchors of another epoch: an anchor
/// that contradicts the brackets by more than both uncertainties (and what clocks may drift between the two) is
/// refused, later ones are not used either, and the alignment goes on by brackets alone.
///
/// Clocks drift: the rate is estimated from both (ClockDrift) and applied. By anchors, the mapping is a chain of lines
/// that join: what was placed does not move when a new anchor comes, and what the anchor was off from its prediction
/// (the residual) is worked in over as long as the last two anchors were apart. By brackets, bounds widen with time as
/// the rate is uncertain, and every new bracket narrows them again. Where anchors or brackets contradict by more than
/// drift can explain what held before, a clock has stepped: the mapping starts anew and the step is counted.
/// Threads: one at a time.
class ClockAlignment {
public:
    explicit ClockAlignment(TickScale scale) noexcept;

    /// A pair from the driver. Units: `device` unwrapped ticks, `uncertainty_ns` half-width.
    void anchor(uint64_t device, HostNs host, int64_t uncertainty_ns) noexcept;

    /// Device interval [first, last] lies within host interval [before, after].
    /// Shape:   a bracket that is longer on the device than on the host is ignored and counted; one that contradicts
    ///          the earlier ones replaces them and is counted as a restart.
    void bracket(uint64_t first, uint64_t last, HostNs before, HostNs after) noexcept;

    /// Ticks up to `device` were placed: they do not move any more, and the uncertainty holds for them.
    void placed(uint64_t device) noexcept;

    /// Whether to_host() means anything yet.
    [[nodiscard]] bool aligned() const noexcept;

    /// The host moment of a device tick. Before alignment, ticks are converted as if both clocks began together.
    [[nodiscard]] HostNs to_host(uint64_t device) const noexcept;

    /// A piece of the mapping: host = `host` + ns + ns x `rate`, with ns = the device time from `device` on.
    struct Line {
        uint64_t from = 0;    ///< first tick that it holds for
        uint64_t device = 0;
        HostNs host;
        double rate = 0;
        [[nodiscard]] int64_t at(uint64_t tick, const TickScale& scale) const noexcept {
            const int64_t ns = scale.to_signed_ns(static_cast<int64_t>(tick - device));
            return host.value + ns + (rate == 0 ? 0 : static_cast<int64_t>(static_cast<double>(ns) * rate));
        }
    };

    /// The newest piece, by which to_host() converts all ticks that are not before its `from`.
    /// Shape:   valid until the next anchor or bracket; lets a batch convert without asking again.
    [[nodiscard]] Line line() const noexcept;

    /// Half-width of the interval that contains the true host moment of the newest tick; absent before alignment.
    [[nodiscard]] std::optional<int64_t> uncertainty_ns() const noexcept;

    /// Whether the driver's anchors are in use.
    [[nodiscard]] bool calibrated() const noexcept;

    /// Whether an anchor was refused because it contradicts the brackets.
    [[nodiscard]] bool calibration_refused() const noexcept;

    /// Brackets that were longer on the device than on the host.
    [[nodiscard]] uint64_t brackets_refused() const noexcept { return brackets_refused_; }

    /// How often a clock was seen to step, so that the mapping started anew.
    [[nodiscard]] uint64_t restarts() const noexcept { return restarts_; }

    /// Host ns gained per million device ns; absent while anchors and brackets do not tell it to half its size or
    /// to 1 ppm. Positive: the device clock is slow.
    [[nodiscard]] std::optional<double> drift_ppm() const noexcept;

    /// What the newest anchor, or the middle of the newest bracket, was off from where the mapping had predicted it;
    /// absent before there is a second one. Units: ns, signed: host minus prediction.
    [[nodiscard]] std::optional<int64_t> residual_ns() const noexcept { return residual_ns_; }

private:
    [[nodiscard]] int64_t ns_between(uint64_t from, uint64_t to) const noexcept;
    void advance_brackets(uint64_t device) noexcept;
    void start_anew() noexcept;
    [[nodiscard]] bool contradicts_brackets() const noexcept;
    void push(const Line& line) noexcept;
    void see(uint64_t device) noexcept;

    TickScale scale_;
    ClockDrift drift_;
    uint64_t brackets_refused_ = 0;
    uint64_t restarts_ = 0;
    std::optional<int64_t> residual_ns_;
    uint64_t newest_ = 0;    // newest tick of an anchor, a bracket or a placed span
    bool has_newest_ = false;
    uint64_t base_ = 0;    // tick that drift fixes count from
    bool has_base_ = false;

    bool refused_ = false;
    bool has_anchor_ = false;
    bool confirmed_ = false;    // a bracket agreed with the anchors
    uint64_t anchor_device_ = 0;
    int64_t anchor_host_ns_ = 0;
    int64_t anchor_uncertainty_ns_ = 0;
    int64_t worked_in_ns_ = 0;         // what the newest line corrects ...
    int64_t worked_in_over_ns_ = 1;    // ... on this way, and again on every further one until an anchor comes
    std::array<Line, 4> lines_{};
    std::size_t line_count_ = 0;

    bool has_bracket_ = false;
    uint64_t bracket_device_ = 0;    // tick that the bounds hold for
    int64_t bracket_low_ns_ = 0;     // host moment of bracket_device_ lies in [low, high]
    int64_t bracket_high_ns_ = 0;
};

}    // namespace lapwing
