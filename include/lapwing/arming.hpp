// Which steps are timed: one in so many, not the first ones, not for ever, and not above a budget.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "lapwing/budget.hpp"
#include "lapwing/result.hpp"

namespace lapwing {

struct ArmingOptions {
    uint32_t every = 1;         ///< time one step in this many, the first included; 1..1000000
    uint64_t skip = 0;          ///< steps at the beginning that are not timed; the first step is the one behind them
    int64_t duration_ns = 0;    ///< no step that begins this long after the first timed one is timed; 0 = no limit
    double budget = 0;          ///< most that the timing may cost, as a share of wall time; 0 = whatever it costs
};

/// The parts of ArmingOptions as users write them: "64"; "3"; "500ms", "10s", "2m", "1h"; "1%", "0.5%". Strict, nothing
/// trimmed.
/// Errors:  kInvalidArgument with the text in quotes and the accepted range, to be put behind an option's name.
[[nodiscard]] Result<uint32_t> parse_every(std::string_view text);
[[nodiscard]] Result<uint64_t> parse_skip(std::string_view text);
[[nodiscard]] Result<int64_t> parse_duration(std::string_view text);
[[nodiscard]] Result<double> parse_budget(std::string_view text);

/// Decides for each step whether its kernels are timed.
///
/// With a budget, the stride between timed steps is the larger of `every` and what the budget asks for, and at stride 1
/// one step in 16 stays untimed: what the stamps cost the device is told from the steps without them.
/// Cost:    cold: once a step; with a budget now and then a few microseconds.
/// Threads: one at a time.
class Arming {
public:
    explicit Arming(const ArmingOptions& options) noexcept;

    struct Decision {
        bool armed = false;      ///< its kernels are timed
        bool sampled = false;    ///< it is one of those that the stride chooses among: not skipped, not after the end
        friend bool operator==(const Decision&, const Decision&) = default;
    };
    /// Shape:   `step` does not decrease; the same step again gets the same answer.
    /// Units:   `now_ns`: any clock, the same for all calls.
    Decision decide(uint32_t step, int64_t now_ns) noexcept;

    /// Work of a timed step begins: the first time starts `duration_ns`.
    void worked(int64_t now_ns) noexcept;

    /// What a finished step has cost; of no effect without a budget.
    void ended(const StepCost& cost) noexcept;

    /// Steps between timed ones, now.
    [[nodiscard]] uint32_t stride() const noexcept;
    /// Null without a budget.
    [[nodiscard]] const Budget* budget() const noexcept { return budget_ ? &*budget_ : nullptr; }

private:
    ArmingOptions options_;
    std::optional<Budget> budget_;
    std::optional<uint32_t> step_;    // the one decided last
    Decision decision_;
    uint64_t next_;    // the first step that is due
    uint32_t since_control_ = 0;
    std::optional<int64_t> deadline_ns_;
};

}    // namespace lapwing
