#include "attach/vulkan_layer/command_buffer.hpp"

#include <algorithm>

#include "attach/vulkan_layer/device.hpp"

namespace lapwing::attach::vulkan_layer {

void CommandBuffer::begin(const VkCommandBufferBeginInfo& info) noexcept {
    recording_.reset();
    try {
        const bool one_time = (info.flags & VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT) != 0;
        recording_ = std::make_shared<Recording>(device_.chunks(), device_.copies(), family_.index, one_time);
    } catch (...) {
        device_.count_fault();
    }
    armed_ = recording_ != nullptr && device_.armed();
    inside_render_pass_ = (info.flags & VK_COMMAND_BUFFER_USAGE_RENDER_PASS_CONTINUE_BIT) != 0;
    pass_ = Pass::kNone;
    chained_ = false;
    pipeline_ = nullptr;
    labels_.clear();
}

bool CommandBuffer::before_armed_command(SpanKind kind, const std::array<uint32_t, 3>& grid) noexcept {
    recording_->has_work = true;
    if (kind == SpanKind::kDispatch) ++recording_->dispatches;
    // Queries may not be reset inside a render pass, and work commands in one are not ours to time.
    const std::optional<LossReason> refused = inside_render_pass_ ? LossReason::kUnsupported : family_.no_stamps;
    if (refused) {
        lose_command(kind, *refused);
        return false;
    }
    try {
        if (open_boundary()) {
            append_op(kind, grid);
            return true;
        }
    } catch (...) {
        device_.count_fault();
    }
    chained_ = false;
    lose_command(kind, LossReason::kRingFull);
    return false;
}

void CommandBuffer::lose_command(SpanKind kind, LossReason reason) noexcept {
    ++recording_->unstamped[reason];
    if (kind == SpanKind::kDispatch && pipeline_ != nullptr && !pipeline_noted_) note_untimed();
}

void CommandBuffer::pass_over() noexcept {
    chained_ = false;    // it lies between two stamps of ours
    if (recording_ == nullptr) return;
    recording_->has_work = true;
    if (armed_) ++recording_->unstamped[LossReason::kUnsupported];
}

// Makes sure that the newest chunk has room for the stamp behind the next command, and that its last stamp stands
// right before that command.
bool CommandBuffer::open_boundary() {
    std::vector<vulkan::QueryChunk>& chunks = recording_->chunks;
    const uint32_t wanted = chained_ ? 1 : 2;
    if (chunks.empty() || chunks.back().used + wanted > ChunkStore::kQueriesPerChunk) {
        if (chunks.size() == chunks.capacity())    // before taking, so that no chunk is lost to bad_alloc
            chunks.reserve(std::max<std::size_t>(4, 2 * chunks.size()));
        const std::optional<vulkan::QueryChunk> chunk = device_.chunks().take();
        if (!chunk) return false;
        chunks.push_back(*chunk);
        // In the buffer rather than from the host: right for every later submit too, and needs no feature.
        device_.vk.CmdResetQueryPool(handle_, chunk->pool, chunk->first, ChunkStore::kQueriesPerChunk);
        chained_ = false;
    }
    return true;
}

void CommandBuffer::append_op(SpanKind kind, const std::array<uint32_t, 3>& grid) {
    RecordedOp op;
    op.kind = kind;
    op.grid = grid;
    std::string_view pipeline_name;
    if (kind == SpanKind::kDispatch && pipeline_ != nullptr) {
        op.pipeline = pipeline_;
        if (const std::string* name = pipeline_->name.load(std::memory_order_acquire); name != nullptr)
            pipeline_name = *name;
    }
    const CommandLabels labels = labels_.name_command(pipeline_name, device_.labels());
    op.op_label = labels.op;
    op.kernel_label = labels.kernel;
    op.chunk = static_cast<uint32_t>(recording_->chunks.size() - 1);
    recording_->ops.push_back(op);

    // From here on nothing fails: the stamps and the op stay in step.
    vulkan::QueryChunk& chunk = recording_->chunks.back();
    if (!chained_) {
        const bool room = chunk.used + 3 <= ChunkStore::kQueriesPerChunk;
        if (room && !recording_->empty_pair && device_.queues().wants_empty_pair(recording_->one_time)) {
            recording_->empty_pair = {op.chunk, static_cast<uint16_t>(chunk.used)};
            stamp(chunk.used++);
        }
        stamp(chunk.used++);
    }
    recording_->ops.back().begin = static_cast<uint16_t>(chunk.used - 1);
}

void CommandBuffer::after_command() noexcept {
    vulkan::QueryChunk& chunk = recording_->chunks.back();
    recording_->ops.back().end = static_cast<uint16_t>(chunk.used);
    stamp(chunk.used++);
    chained_ = true;
}

void CommandBuffer::stamp(uint32_t query) noexcept {
    const vulkan::QueryChunk& chunk = recording_->chunks.back();
    // Bottom of pipe: the moment all earlier commands are complete. Top of pipe would be early on a real device.
    device_.vk.CmdWriteTimestamp(handle_, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, chunk.pool, chunk.first + query);
    ++recording_->stamps;
    recording_->has_stamps = true;
    recording_->copied |= !recording_->one_time;
}

// Once a bind.
void CommandBuffer::note_untimed() noexcept {
    pipeline_noted_ = true;
    if (pipeline_->executed.load(std::memory_order_relaxed)) return;
    std::vector<PipelineInfo*>& used = recording_->untimed_pipelines;
    if (std::find(used.begin(), used.end(), pipeline_) != used.end()) return;
    try {
        used.push_back(pipeline_);
    } catch (...) {
        device_.count_fault();
    }
}

void CommandBuffer::bind_compute_pipeline(VkPipeline pipeline) noexcept {
    pipeline_noted_ = false;
    if (!armed_ && !device_.pipelines().any_cold()) {
        pipeline_ = nullptr;
        return;
    }
    pipeline_ = device_.pipelines().find(pipeline);
}

void CommandBuffer::push_label(const char* label) noexcept {
    try {
        if (recording_ != nullptr && !recording_->opens_step)
            if (const std::optional<bool> armed = device_.session().label_begins_step(label)) begin_step(*armed);
        if (!armed_) return;
        labels_.push(label);
    } catch (...) {
        device_.count_fault();
    }
}

// The first label of a buffer that begins a step decides for what follows it; the buffer was begun before the step was
// known.
void CommandBuffer::begin_step(bool armed) noexcept {
    recording_->opens_step = true;
    armed = armed && device_.queues().usable();
    if (armed == armed_) return;
    armed_ = armed;
    chained_ = false;
    labels_.clear();
}

void CommandBuffer::begin_render_pass(bool resumes, bool suspends) noexcept {
    if (recording_ != nullptr) recording_->has_work = recording_->has_render_pass = true;
    if (!resumes) {
        pass_ = before_command(SpanKind::kRender, {}) ? Pass::kTimed : Pass::kUntimed;
    } else if (pass_ == Pass::kNone) {
        pass_ = Pass::kEarlier;
    }
    pass_suspends_ = suspends;
    inside_render_pass_ = true;
}

void CommandBuffer::end_render_pass() noexcept {
    inside_render_pass_ = false;
    chained_ = false;    // a command behind the pass must not be charged for the draws in it
    if (recording_ == nullptr) return;
    recording_->pass_suspended = pass_suspends_;
    if (pass_suspends_) {
        if (pass_ == Pass::kTimed) recording_->ops.back().end = RecordedOp::kEndsLater;
        return;
    }
    if (pass_ == Pass::kTimed) after_command();
    if (pass_ == Pass::kEarlier) stamp_end_of_resumed_pass();
    pass_ = Pass::kNone;
}

void CommandBuffer::stamp_end_of_resumed_pass() noexcept {
    if (!armed_ || family_.no_stamps) return;
    try {
        if (!open_boundary()) return;
    } catch (...) {
        device_.count_fault();
        return;
    }
    vulkan::QueryChunk& chunk = recording_->chunks.back();
    recording_->resumed_end = {static_cast<uint32_t>(recording_->chunks.size() - 1), static_cast<uint16_t>(chunk.used)};
    stamp(chunk.used++);
    chained_ = true;
}

void CommandBuffer::execute(const CommandBuffer& secondary) noexcept {
    chained_ = false;    // its work lies between two stamps of ours
    if (recording_ == nullptr || secondary.recording_ == nullptr) return;
    try {
        recording_->children.push_back(secondary.recording_);
        recording_->has_work |= secondary.recording_->has_work;
        recording_->has_stamps |= secondary.recording_->has_stamps;
        recording_->copied |= secondary.recording_->copied || (!recording_->one_time && recording_->has_stamps);
    } catch (...) {
        device_.count_fault();
    }
}

}    // namespace lapwing::attach::vulkan_layer
