// A limit for what the timing itself costs, and the controller that holds it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace lapwing {

/// What one step took.
struct StepCost {
    int64_t wall_ns = 0;    ///< from the end of the step before to its own end
    int64_t host_ns = 0;    ///< of it: host time spent in Lapwing
    bool armed = false;     ///< whether its kernels were timed
};

/// The latest values of a series, and their median.
class RecentValues {
public:
    static constexpr std::size_t kCapacity = 256;
    void add(int64_t value) noexcept {
        values_[count_ % kCapacity] = value;
        ++count_;
    }
    [[nodiscard]] std::size_t size() const noexcept { return count_ < kCapacity ? count_ : kCapacity; }
    [[nodiscard]] uint64_t count() const noexcept { return count_; }    ///< ever added
    /// 0 where there are none.
    [[nodiscard]] int64_t median() const noexcept;
    /// Standard error of the median, from the median absolute deviation.
    [[nodiscard]] double median_error() const noexcept;

private:
    std::array<int64_t, kCapacity> values_{};
    uint64_t count_ = 0;
};

/// Chooses the stride between timed steps so that Lapwing's own cost stays within a share of wall time.
///
/// Cost = host time in Lapwing + what a timed step takes longer than an untimed one. The latter is the median, over the
/// latest pairs of neighbouring steps of which one was timed, of the difference of their wall times: neighbours,
/// because steps change slowly (a context grows) and jump (other work on the machine). Host time that also made the
/// step longer is counted twice: the cost is an upper bound.
///
/// The stride is solved for, not searched: the smallest at which cost / wall <= budget. It is raised as soon as the
/// cost exceeds its standard error and the budget; it is lowered when the cost and a standard error fit into 4/5 of the
/// budget, at least 16 pairs or 1024 steps after the last change, and after four times as many as before where a
/// lowering had to be taken back: noise costs ever fewer changes.
///
/// Settling: every second step of the first 32 is timed, to learn the cost. From then on the budget holds: the first
/// stride is one at which the cost and a standard error fit, so where steps vary much it is long, and shrinks later.
/// Cost:    cold: some microseconds every eighth pair.
/// Threads: one at a time.
class Budget {
public:
    static constexpr uint32_t kSettlingSteps = 32;
    static constexpr uint32_t kMaxStride = 1'000'000;

    /// `share` of wall time, 0 < share <= 1.
    explicit Budget(double share) noexcept : budget_(share) {}

    void add(const StepCost& cost) noexcept;

    /// Steps between timed ones; 2 while it settles.
    [[nodiscard]] uint32_t stride() const noexcept { return steps_ < kSettlingSteps ? 2 : stride_; }

    [[nodiscard]] double budget() const noexcept { return budget_; }
    /// How often the stride was changed since it settled.
    [[nodiscard]] uint64_t changes() const noexcept { return changes_; }
    /// What a timed step takes longer than an untimed one. Units: ns; nothing until 16 pairs were seen.
    [[nodiscard]] std::optional<int64_t> armed_step_ns() const noexcept { return armed_step_ns_; }
    /// Own cost over wall time since it settled; nothing before.
    [[nodiscard]] std::optional<double> share() const noexcept;

private:
    static constexpr uint64_t kMinPairs = 16;
    static constexpr uint64_t kPairsALook = 8;
    static constexpr uint64_t kStepsALook = 1024;
    static constexpr uint64_t kMaxPatience = 65536;

    [[nodiscard]] uint32_t stride_for(double budget, double armed_ns) const noexcept;
    void adjust() noexcept;

    double budget_;
    uint64_t steps_ = 0;
    std::optional<StepCost> last_;
    std::optional<int64_t> armed_step_ns_;
    RecentValues pairs_;    // wall of an armed step less that of its neighbour
    RecentValues wall_;     // of unarmed steps
    RecentValues host_unarmed_;
    RecentValues host_armed_;
    uint32_t stride_ = 1;
    uint64_t changes_ = 0;
    uint64_t pairs_at_change_ = 0;
    uint64_t steps_at_change_ = 0;
    uint64_t looked_at_ = 0;           // steps
    uint64_t patience_ = kMinPairs;    // pairs before the stride may be lowered
    bool lowered_last_ = false;
    double spent_ns_ = 0;    // since it settled
    double wall_ns_ = 0;
};

}    // namespace lapwing
