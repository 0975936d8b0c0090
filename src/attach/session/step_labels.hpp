// Which labels begin a step, with the answers kept.
#pragma once

#include <memory>
#include <shared_mutex>
#include <unordered_map>

#include "attach/session/label_table.hpp"
#include "lapwing/step_rule.hpp"

namespace lapwing::attach {

/// Matches labels against the expression of a label rule.
/// Threads: any; a shared lock a call, an exclusive one for a label that was not seen before.
class StepLabels {
public:
    /// Null for other rules.
    [[nodiscard]] static std::unique_ptr<StepLabels> of(const StepRule& rule);

    /// Errors:  std::bad_alloc.
    [[nodiscard]] bool begins_step(const char* label, LabelTable& labels);

private:
    explicit StepLabels(LabelPattern pattern) noexcept : pattern_(std::move(pattern)) {}

    LabelPattern pattern_;
    std::shared_mutex mutex_;
    std::unordered_map<const std::string*, bool> known_;    // bounded by the table of labels
};

}    // namespace lapwing::attach
