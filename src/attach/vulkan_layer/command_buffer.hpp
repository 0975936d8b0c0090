// A command buffer as the layer follows it: what is being recorded into it, and the stamps around each command.
#pragma once

#include <vulkan/vulkan_core.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>

#include "attach/vulkan_layer/label_stack.hpp"
#include "attach/vulkan_layer/recording.hpp"

namespace lapwing::attach::vulkan_layer {

class Device;

/// The queue family whose queues execute the buffers of a command pool.
struct PoolFamily {
    uint32_t index = 0;
    std::optional<LossReason> no_stamps;    ///< why its commands cannot be timed, if they cannot
};

/// Threads: the program synchronises a command buffer; no member needs a lock.
class CommandBuffer {
public:
    CommandBuffer(Device& device, VkCommandBuffer handle, VkCommandPool pool, const PoolFamily& family) noexcept
        : device_(device), handle_(handle), pool_(pool), family_(family) {}

    /// vkBeginCommandBuffer: drops what was recorded before and copies the arm flag.
    void begin(const VkCommandBufferBeginInfo& info) noexcept;
    /// vkResetCommandBuffer and pool resets.
    void drop_recording() noexcept { recording_.reset(); }

    /// Before a command that is work. True: after_command() must follow the command.
    /// Cost:    hot: unarmed one branch more than nothing; armed at most one reset and one stamp in the buffer.
    [[nodiscard]] bool before_command(SpanKind kind, const std::array<uint32_t, 3>& grid) noexcept {
        return !count_untimed(kind) && before_armed_command(kind, grid);
    }
    /// Where commands are only counted: counts one. False: it is to be timed, by before_command().
    [[nodiscard]] bool count_untimed(SpanKind kind) noexcept {
        if (armed_) return false;
        if (recording_ == nullptr) return true;
        recording_->has_work = true;
        if (kind == SpanKind::kDispatch) {
            ++recording_->dispatches;
            ++recording_->untimed;
            if (pipeline_ != nullptr && !pipeline_noted_) note_untimed();
        }
        return true;
    }
    /// Queues the stamp that closes the command and opens the next one.
    void after_command() noexcept;

    void bind_compute_pipeline(VkPipeline pipeline) noexcept;
    void push_label(const char* label) noexcept;
    void pop_label() noexcept {
        if (armed_) labels_.pop();
    }
    /// Before a render pass begins, and behind its end. `resumes` and `suspends` are those of dynamic rendering, whose
    /// passes may go on in a later command buffer of the submit, with nothing in between.
    void begin_render_pass(bool resumes, bool suspends) noexcept;
    void end_render_pass() noexcept;
    /// A command that is work, and that has no span.
    void pass_over() noexcept;
    /// vkCmdExecuteCommands of one secondary.
    void execute(const CommandBuffer& secondary) noexcept;

    [[nodiscard]] Device& device() const noexcept { return device_; }
    [[nodiscard]] VkCommandPool pool() const noexcept { return pool_; }
    [[nodiscard]] const std::shared_ptr<Recording>& recording() const noexcept { return recording_; }

private:
    [[nodiscard]] bool before_armed_command(SpanKind kind, const std::array<uint32_t, 3>& grid) noexcept;
    void lose_command(SpanKind kind, LossReason reason) noexcept;
    void note_untimed() noexcept;
    void begin_step(bool armed) noexcept;
    void append_op(SpanKind kind, const std::array<uint32_t, 3>& grid);
    [[nodiscard]] bool open_boundary();
    void stamp(uint32_t query) noexcept;
    void stamp_end_of_resumed_pass() noexcept;

    Device& device_;
    const VkCommandBuffer handle_;
    const VkCommandPool pool_;
    const PoolFamily family_;

    std::shared_ptr<Recording> recording_;
    LabelStack labels_;
    PipelineInfo* pipeline_ = nullptr;
    bool pipeline_noted_ = false;    // as used without stamps
    bool armed_ = false;
    bool inside_render_pass_ = false;
    enum class Pass : uint8_t {
        kNone,
        kTimed,      // begun here, behind a stamp
        kUntimed,    // begun here
        kEarlier,    // begun in an earlier command buffer
    };
    Pass pass_ = Pass::kNone;    // the render pass that is open or suspended
    bool pass_suspends_ = false;
    bool chained_ = false;    // the last stamp of the newest chunk also begins the next command
};

}    // namespace lapwing::attach::vulkan_layer
