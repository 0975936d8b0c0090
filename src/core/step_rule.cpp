#include "lapwing/step_rule.hpp"

#include <regex.h>

#include <array>
#include <utility>

#include "core/numbers.hpp"

namespace lapwing {

namespace {
constexpr uint64_t kMaxSubmits = 1'000'000;
constexpr std::string_view kLabelPrefix = "label:";
constexpr std::string_view kSubmitsPrefix = "submits:";
}    // namespace

struct LabelPattern::State {
    regex_t compiled{};
    ~State() { ::regfree(&compiled); }
};

LabelPattern::LabelPattern(std::unique_ptr<State> state) noexcept : state_(std::move(state)) {}
LabelPattern::~LabelPattern() = default;
LabelPattern::LabelPattern(LabelPattern&&) noexcept = default;
LabelPattern& LabelPattern::operator=(LabelPattern&&) noexcept = default;

Result<LabelPattern> LabelPattern::compile(const std::string& expression) {
    if (expression.empty()) return Error{Errc::kInvalidArgument, 0, "'label:' names no regular expression"};
    auto state = std::make_unique<State>();
    if (const int fault = ::regcomp(&state->compiled, expression.c_str(), REG_EXTENDED | REG_NOSUB); fault != 0) {
        std::array<char, 128> text{};
        ::regerror(fault, &state->compiled, text.data(), text.size());
        state->compiled = {};    // nothing was compiled: there is nothing to free
        Error error = detail::refused(expression, "a POSIX extended regular expression: ");
        error.message += text.data();
        return error;
    }
    return LabelPattern(std::move(state));
}

bool LabelPattern::matches(const std::string& label) const noexcept {
    return ::regexec(&state_->compiled, label.c_str(), 0, nullptr, 0) == 0;
}

Result<StepRule> parse_step_rule(std::string_view text) {
    StepRule rule;
    if (text == "sync") return rule;
    if (text.substr(0, kLabelPrefix.size()) == kLabelPrefix) {
        rule.kind = StepRule::Kind::kLabel;
        rule.pattern = text.substr(kLabelPrefix.size());
        const Result<LabelPattern> pattern = LabelPattern::compile(rule.pattern);
        if (!pattern.ok()) return pattern.error();
        return rule;
    }
    if (text.substr(0, kSubmitsPrefix.size()) == kSubmitsPrefix) {
        const std::optional<uint64_t> submits =
            detail::whole_number(text.substr(kSubmitsPrefix.size()), 1, kMaxSubmits);
        if (submits) {
            rule.kind = StepRule::Kind::kSubmits;
            rule.submits = static_cast<uint32_t>(*submits);
            return rule;
        }
    }
    return detail::refused(text, "one of: sync, label:REGEX, submits:N with N from 1 to 1000000");
}

}    // namespace lapwing
