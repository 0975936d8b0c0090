// Totals of all steps, scaled up from the steps that were timed.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "lapwing/report.hpp"
#include "views/step_times.hpp"
#include "views/stream_model.hpp"

namespace lapwing::detail {

/// Which steps stand for which.
struct StepSample {
    uint64_t population = 0;    ///< N: finished steps that the stride chose among, without those of warm-up
    uint64_t size = 0;          ///< n: of them, timed and complete
    std::vector<bool> has;      ///< by StepIndex; empty where every step was timed, so that there is nothing to scale
    [[nodiscard]] bool scales() const noexcept { return !has.empty(); }
};
[[nodiscard]] StepSample sample_steps(const StreamModel& model, const std::vector<StepUse>& uses);

/// One quantity in the steps of the sample.
class StepTotals {
public:
    /// Spans come in runs of one step; a step may come again.
    void add(StepIndex step, int64_t ns) {
        if (!parts_.empty() && parts_.back().first == step)
            parts_.back().second += static_cast<double>(ns);
        else
            parts_.emplace_back(step, static_cast<double>(ns));
    }
    /// N x mean, +- t(n - 1) x N x sqrt((1 - n / N) x s^2 / n): simple random sampling without replacement.
    /// Source:  Cochran, Sampling Techniques, 3rd ed., 2.5 and 2.7.
    [[nodiscard]] ScaledTotal scaled(const StepSample& sample);

private:
    std::vector<std::pair<StepIndex, double>> parts_;
};

}    // namespace lapwing::detail
