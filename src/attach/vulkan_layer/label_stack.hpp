// The labels that are open at a place in a command buffer.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "attach/session/label_table.hpp"

namespace lapwing::attach::vulkan_layer {

/// The labels that name one command. Null = none.
struct CommandLabels {
    const std::string* op = nullptr;        ///< full label
    const std::string* kernel = nullptr;    ///< without its grid; only where the pipeline has no name
};

/// A stack of labels. Ends without a begin are ignored, begins beyond 64 are counted only, so that unbalanced and
/// runaway programs do no harm.
/// Threads: those of its command buffer, which the program synchronises.
class LabelStack {
public:
    /// Errors:  std::bad_alloc, and the stack is as before. A null label counts as an empty one.
    void push(const char* label);
    void pop() noexcept;
    void clear() noexcept { depth_ = 0; }
    [[nodiscard]] std::size_t depth() const noexcept { return depth_; }

    /// Which of the open labels name a command.
    ///
    /// The innermost label names the kernel if it is the pipeline's own name, or, where the pipeline has none, if it
    /// carries a grid; the one around it is then the op. Otherwise the innermost label is the op. Labels that only
    /// number submits are never an op. ggml: [submit 3, RMS_NORM+MUL norm-0, rms_norm_mul_f32 (1,1,1)].
    /// Shape:   `pipeline` is its object name, empty if none; copies and fills have an empty one.
    /// Errors:  std::bad_alloc.
    [[nodiscard]] CommandLabels name_command(std::string_view pipeline, LabelTable& table);

private:
    // The texts are interned when a command first needs them: labels around no command, and those that number
    // submits, must not fill the table.
    struct Entry {
        std::string text;
        const std::string* interned = nullptr;
    };
    static constexpr std::size_t kMaxDepth = 64;

    [[nodiscard]] static const std::string* interned(Entry& entry, LabelTable& table);

    std::vector<Entry> entries_;    // never shrinks: the strings keep their memory for the next label
    std::size_t depth_ = 0;
};

}    // namespace lapwing::attach::vulkan_layer
