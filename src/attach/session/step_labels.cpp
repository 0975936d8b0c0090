#include "attach/session/step_labels.hpp"

#include <mutex>
#include <utility>

namespace lapwing::attach {

std::unique_ptr<StepLabels> StepLabels::of(const StepRule& rule) {
    if (rule.kind != StepRule::Kind::kLabel) return nullptr;
    Result<LabelPattern> pattern = LabelPattern::compile(rule.pattern);
    // parse_step_rule() has compiled it before.
    return pattern.ok() ? std::unique_ptr<StepLabels>(new StepLabels(std::move(pattern).value())) : nullptr;
}

bool StepLabels::begins_step(const char* label, LabelTable& labels) {
    if (label == nullptr) return false;
    const std::string* const text = labels.intern(label);
    if (text == labels.other()) return pattern_.matches(label);    // the table is full: no place to keep the answer
    {
        const std::shared_lock lock(mutex_);
        if (const auto known = known_.find(text); known != known_.end()) return known->second;
    }
    const bool begins = pattern_.matches(*text);
    const std::unique_lock lock(mutex_);
    known_.emplace(text, begins);
    return begins;
}

}    // namespace lapwing::attach
