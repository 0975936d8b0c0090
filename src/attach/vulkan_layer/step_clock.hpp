// Steps of a program that was not changed: the work between two moments at which it has seen all it submitted complete.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>

#include "lapwing/sink.hpp"

namespace lapwing::vulkan_layer {

/// Finds steps from submits and completions, over all devices of a process.
///
/// A step closes when nothing is outstanding and at least one dispatch ran since the last one closed; copies before
/// the first dispatch belong to the step that follows.
///
/// While the program holds a label open on a queue it says that it is in the middle of something: ggml does so around
/// each graph, and waits inside its first ones to make its buffers larger. A step that falls idle inside such a scope
/// closes with the scope, unless more is submitted. A scope in which the program falls idle more than 8 times is no
/// step (it may be the whole program) and is ignored.
/// Threads: any; one short lock a call.
class StepClock {
public:
    /// What one submit holds.
    struct Work {
        uint64_t dispatches = 0;
        uint64_t begun = 0;    ///< spans begun
    };

    /// A submit is about to be made.
    /// Shape:   returns the index of the step it belongs to.
    uint32_t submitted(int64_t now_ns, const Work& work) noexcept;

    /// The driver refused that submit: it never was.
    void withdrawn(const Work& work) noexcept;

    /// The program has seen `count` more submits complete.
    /// Shape:   the step that this closed, if any.
    [[nodiscard]] std::optional<StepRecord> completed(uint64_t count, int64_t now_ns) noexcept;

    /// A label was opened on a queue, or closed.
    void scope_opened() noexcept;
    [[nodiscard]] std::optional<StepRecord> scope_closed() noexcept;

    /// Index of the step that is open.
    [[nodiscard]] uint32_t index() const noexcept;

private:
    [[nodiscard]] std::optional<StepRecord> close(int64_t now_ns) noexcept;

    mutable std::mutex mutex_;
    uint32_t index_ = 0;
    uint64_t outstanding_ = 0;
    Work work_;
    std::optional<int64_t> begin_ns_;    // of the first submit since the last step closed
    uint32_t open_scopes_ = 0;
    uint32_t idle_in_scope_ = 0;
    std::optional<int64_t> idle_ns_;    // when the open step fell idle inside a scope; absent while it runs
};

}    // namespace lapwing::vulkan_layer
