// Texts kept once, for as long as the process runs, so that recordings may hold plain pointers to them.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace lapwing::attach {

/// Interns texts: equal texts give the same pointer, which stays valid as long as the table.
/// Shape:   at most `capacity` texts and `max_bytes` bytes; beyond that every new text is `other()`, so a program that
///          numbers its labels cannot grow the table for ever (OBI#1230).
/// Threads: any; a shared lock a call, an exclusive one for a new text.
class LabelTable {
public:
    explicit LabelTable(std::size_t capacity = 65536, std::size_t max_bytes = 16u << 20);
    ~LabelTable();
    LabelTable(const LabelTable&) = delete;
    LabelTable& operator=(const LabelTable&) = delete;

    /// Errors:  std::bad_alloc.
    [[nodiscard]] const std::string* intern(std::string_view text);

    /// The text "other", which stands for all that found the table full.
    [[nodiscard]] const std::string* other() const noexcept;

    [[nodiscard]] std::size_t size() const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}    // namespace lapwing::attach
