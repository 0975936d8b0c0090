#include "views/sampling.hpp"

#include <algorithm>
#include <cmath>

#include "lapwing/statistics.hpp"

namespace lapwing::detail {

StepSample sample_steps(const StreamModel& model, const std::vector<StepUse>& uses) {
    StepSample out;
    bool left_out = false;
    std::vector<bool> has(uses.size());
    for (std::size_t i = 0; i < uses.size(); ++i) {
        const ModelStep& step = model.steps()[i];
        if (!step.finished || !step.record.sampled || uses[i].warmup) continue;
        ++out.population;
        left_out = left_out || !step.record.armed;
        has[i] = uses[i].counted && uses[i].missing(step.record.dispatches) == 0;
        out.size += has[i] ? 1 : 0;
    }
    if (left_out) out.has = std::move(has);
    return out;
}

ScaledTotal StepTotals::scaled(const StepSample& sample) {
    std::sort(parts_.begin(), parts_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<double> totals;    // of the steps in which there is anything; the others are zero
    for (std::size_t i = 0; i < parts_.size(); ++i) {
        if (i > 0 && parts_[i].first == parts_[i - 1].first)
            totals.back() += parts_[i].second;
        else
            totals.push_back(parts_[i].second);
    }
    const auto all = static_cast<double>(sample.population);
    const auto taken = static_cast<double>(sample.size);
    double sum = 0;
    for (const double total : totals) sum += total;
    const double mean = sum / taken;
    ScaledTotal out;
    out.total_ns = all * mean;
    if (sample.size < 2) return out;
    double squares = (taken - static_cast<double>(totals.size())) * mean * mean;
    for (const double total : totals) squares += (total - mean) * (total - mean);
    const double variance = squares / (taken - 1);
    out.error_ns = student_t_975(sample.size - 1) * all * std::sqrt(std::max(1 - taken / all, 0.0) * variance / taken);
    return out;
}

}    // namespace lapwing::detail
