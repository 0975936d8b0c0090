// Steps of a program that was not changed, found by what it submits, and which of them are timed.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>

#include "lapwing/arming.hpp"
#include "lapwing/sink.hpp"
#include "lapwing/step_rule.hpp"

namespace lapwing::attach {

/// Finds steps from submits, completions and labels, over all devices of a process, and arms them.
///
/// sync: a step closes when nothing is outstanding and at least one dispatch ran since the last one closed; copies
/// before the first dispatch belong to the step that follows. While the program holds a label open on a queue it says
/// that it is in the middle of something: ggml does so around each graph, and waits inside its first ones to make its
/// buffers larger. A step that falls idle inside such a scope closes with the scope, unless more is submitted. A scope
/// in which the program falls idle more than 8 times is no step (it may be the whole program) and is ignored.
///
/// label: a step begins at the first submit with a command buffer after a matching label was opened on a queue, or at a
/// submit of command buffers in which one opens; it lasts until the next one begins. What comes before the first is in
/// no step and is not timed.
///
/// submits: a step is N submits with a command buffer, and what is submitted between them.
///
/// Command buffers are recorded ahead: they get stamps where the step that they are expected in is armed. That is the
/// open step, or the next one as soon as it is known that the next submit begins it (sync: the step has closed; label:
/// the label was opened, be it in a command buffer that is still being recorded; submits: the N-th was made).
/// Threads: any; one short lock a call.
class StepClock {
public:
    /// Steps by `rule`; none is armed where nothing `takes_stamps`. `own_host_ns`: the host time Lapwing has taken so
    /// far, for a budget; null = not known.
    StepClock(const StepRule& rule, const ArmingOptions& arming, bool takes_stamps,
              const std::atomic<uint64_t>* own_host_ns = nullptr) noexcept;
    StepClock() noexcept : StepClock({}, {}, true) {}

    /// What one submit holds.
    struct Work {
        uint64_t dispatches = 0;
        uint64_t begun = 0;          ///< spans begun
        uint64_t untimed = 0;        ///< dispatches of buffers that were recorded while timing was off
        bool commands = true;        ///< it holds a command buffer
        bool opens_label = false;    ///< a label that begins a step opens in it
    };
    struct Submitted {
        uint32_t step = kNoStep;               ///< the step it belongs to
        bool armed = false;                    ///< whether that step is timed
        std::optional<StepRecord> closed{};    ///< the step that it ended
    };

    /// A submit is about to be made.
    [[nodiscard]] Submitted submitted(int64_t now_ns, const Work& work) noexcept;

    /// The driver refused that submit: it never was.
    void withdrawn(const Work& work) noexcept;

    /// The program has seen `count` more submits complete.
    /// Shape:   the step that this closed, if any.
    [[nodiscard]] std::optional<StepRecord> completed(uint64_t count, int64_t now_ns) noexcept;

    /// A label was opened on a queue, or closed.
    void scope_opened() noexcept;
    [[nodiscard]] std::optional<StepRecord> scope_closed() noexcept;

    /// A label that begins a step was opened, on a queue (the next submit begins the step) or in a command buffer that
    /// is being recorded (its submit does). Only with label steps.
    /// Shape:   whether the step is armed.
    bool label_opened(bool on_queue, int64_t now_ns) noexcept;

    /// The recording ends: closes the step that is open, unless completion would have to do it.
    [[nodiscard]] std::optional<StepRecord> finish() noexcept;

    /// Nothing is armed from now on.
    void disarm() noexcept;

    /// Whether command buffers that are begun now get stamps. Hot: one relaxed load.
    [[nodiscard]] bool armed() const noexcept { return armed_.load(std::memory_order_relaxed); }

    /// Whether nothing more is submitted in a step.
    [[nodiscard]] bool is_over(uint32_t step) const noexcept;

    /// Index of the step that is open.
    [[nodiscard]] uint32_t index() const noexcept;

    /// Fills in what the stats say of the budget and the stride.
    void describe(RecordingStats& stats) const noexcept;

private:
    [[nodiscard]] bool by_sync() const noexcept { return rule_ == StepRule::Kind::kSync; }
    [[nodiscard]] std::optional<StepRecord> begin_step(int64_t now_ns) noexcept;
    StepRecord close(int64_t now_ns) noexcept;
    bool arm(uint32_t step, int64_t now_ns) noexcept;

    const StepRule::Kind rule_;
    const uint32_t submits_a_step_;
    const bool takes_stamps_;
    const std::atomic<uint64_t>* const own_host_ns_;

    mutable std::mutex mutex_;
    Arming arming_;
    std::atomic<bool> armed_{false};
    bool disarmed_ = false;
    Arming::Decision decision_;    // of the open step
    Arming::Decision next_;        // of the one that was decided last
    uint32_t index_ = 0;           // of the open step; before it began, the one to come
    uint64_t outstanding_ = 0;
    Work work_{.commands = false};        // of the open step
    std::optional<int64_t> begin_ns_;     // of its first submit; absent before
    int64_t last_ns_ = 0;                 // the latest moment known: submit or completion
    std::optional<int64_t> closed_ns_;    // when the last step ended
    uint64_t host_ns_at_close_ = 0;
    // sync
    uint32_t open_scopes_ = 0;
    uint32_t idle_in_scope_ = 0;
    std::optional<int64_t> idle_ns_;    // when the open step fell idle inside a scope; absent while it runs
    // label and submits
    uint32_t submits_ = 0;        // with a command buffer, in the open step
    bool begins_next_ = false;    // the next submit with a command buffer begins a step
};

}    // namespace lapwing::attach
