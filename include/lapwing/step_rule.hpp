// What makes a step in a program that was not changed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "lapwing/result.hpp"

namespace lapwing {

/// Where a step begins.
struct StepRule {
    enum class Kind : uint8_t {
        kSync = 0,    ///< after a moment at which the program has seen all it submitted complete
        kLabel,       ///< where a label opens that matches `pattern`
        kSubmits,     ///< at every `submits`-th submit that holds a command buffer
    };
    Kind kind = Kind::kSync;
    std::string pattern{};    ///< kLabel: POSIX extended regular expression, found anywhere in the label
    uint32_t submits = 0;     ///< kSubmits: >= 1
};

/// Parses "sync", "label:REGEX" or "submits:N" (N from 1 to 1000000): strict, nothing trimmed.
/// Errors:  kInvalidArgument with the text, and what is wrong with the expression.
[[nodiscard]] Result<StepRule> parse_step_rule(std::string_view text);

/// A compiled regular expression (POSIX extended: compiled and matched without exceptions).
/// Threads: matches() from any.
class LabelPattern {
public:
    /// Errors:  kInvalidArgument with the expression and the fault in it; an empty one is refused.
    [[nodiscard]] static Result<LabelPattern> compile(const std::string& expression);
    ~LabelPattern();
    LabelPattern(LabelPattern&&) noexcept;
    LabelPattern& operator=(LabelPattern&&) noexcept;

    /// Whether the expression is found in `label`.
    /// Cost:    cold: microseconds; keep the answer.
    [[nodiscard]] bool matches(const std::string& label) const noexcept;

private:
    struct State;
    explicit LabelPattern(std::unique_ptr<State> state) noexcept;
    std::unique_ptr<State> state_;
};

}    // namespace lapwing
