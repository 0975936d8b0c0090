// Level lane: one span a step and queue, from two stamps around the work of each submit.
#include <algorithm>

#include "attach/vulkan_layer/chunk_store.hpp"
#include "attach/vulkan_layer/device_queues.hpp"

namespace lapwing::attach::vulkan_layer {

namespace {
constexpr const char* kLaneName = "step";

// Numbers of the first and the last command buffer with work, counted over all batches, and whether ours may stand
// there.
struct Edges {
    std::optional<uint32_t> first;
    uint32_t last = 0;
    bool take_ours = true;
};

Edges find_edges(const SubmitContents& contents) {
    Edges out;
    uint32_t position = 0;
    bool last_takes = true;
    for (const SubmitContents::Batch& batch : contents.batches) {
        for (const uint32_t end = position + batch.buffers; position < end; ++position) {
            const std::shared_ptr<Recording>& recording = contents.recordings[position];
            if (recording != nullptr && !recording->has_work) continue;
            if (!out.first) {
                out.first = position;
                out.take_ours = batch.takes_copies;
            }
            out.last = position;
            last_takes = batch.takes_copies;
        }
    }
    out.take_ours &= last_takes;
    return out;
}
}    // namespace

// Work alone is bracketed: a submit that only signals, or whose command buffers only synchronise, is no part of a lane.
void DeviceQueues::enter_lane(Queue& queue, Submission& submission, SubmitContents& contents, SubmitTicket& ticket) {
    const Edges edges = find_edges(contents);
    if (!edges.first) return;
    submission.in_lane = true;
    if (queue.lane_entered != submission.step) ++ticket.lanes;
    queue.lane_entered = submission.step;
    // Includes queues that cannot reset queries.
    if (queue.clock.caps().valid_bits == 0 || !edges.take_ours)
        submission.lane_lost = LossReason::kUnsupported;
    else
        submission.lane_lost = bracket(queue, submission);
    if (submission.lane_lost) {
        // One that is lost already speaks for all of its lane: without completion they would pile up.
        const Submission* const last = queue.pending.empty() ? nullptr : &queue.pending.back();
        if (last != nullptr && last->in_lane && last->step == submission.step && last->lane_lost)
            submission.in_lane = false;
        return;
    }
    ticket.stamps += 2;
    contents.inserts.push_back({*edges.first, submission.copies.front().copy->commands, true});
    contents.inserts.push_back({edges.last, submission.copies.back().copy->commands, false});
}

// Puts a bracket's execution into the submission, or says why there is none.
std::optional<LossReason> DeviceQueues::bracket(Queue& queue, Submission& submission) {
    if (queue.spare_brackets.empty()) {
        const std::optional<vulkan::QueryChunk> chunk = chunks_.take();
        if (!chunk) return LossReason::kRingFull;
        auto made = std::make_shared<Recording>(chunks_, copies_, queue.family, false);
        made->chunks.push_back(*chunk);
        made->chunks.back().used = 2;
        RecordedOp op;
        op.end = 1;
        made->ops.push_back(op);
        made->spare_copies.reserve(2);
        const CopyStore::MadeBracket bracket = copies_.make_bracket(queue.family, made->chunks.back());
        if (bracket.front == nullptr) return bracket.why_not;
        made->spare_copies = {bracket.front, bracket.behind};
        queue.spare_brackets.push_back(std::move(made));
    }
    const std::shared_ptr<Recording> recording = std::move(queue.spare_brackets.back());
    queue.spare_brackets.pop_back();
    for (ResultCopy* const copy : recording->spare_copies) submission.copies.push_back({recording, copy});
    recording->spare_copies.clear();
    submission.bracket = recording;

    Execution execution;
    execution.recording = recording;
    execution.number = ++recording->executions;
    execution.copy = submission.copies.back().copy;
    for (const vulkan::ResultCell& cell : execution.copy->cells) cell.clear(ChunkStore::kQueriesPerChunk);
    submission.executions.push_back(std::move(execution));
    return std::nullopt;
}

// A submit is settled, in the order of its queue: `lost` says why it has no times, where that is known.
void DeviceQueues::gather_lane(Queue& queue, const Submission& submission, std::optional<LossReason> lost) {
    if (queue.lane && queue.lane->step != submission.step) close_lane(queue);
    if (!queue.lane) queue.lane.emplace().step = submission.step;
    OpenLane& lane = *queue.lane;
    lane.warmup |= submission.first_use;
    timed_.clear();
    if (!lost) lost = submission.lane_lost;
    if (!lost && submission.unreliable) lost = LossReason::kUnreliableDriver;
    if (!lost) {
        const Execution& execution = submission.executions.front();
        lost = time_op(queue, submission, execution, execution.recording->ops.front(), false);
    }
    if (!lane.lost) lane.lost = lost;
    if (lost) return;
    const TimedOp& timed = timed_.front();
    queue.clock.bracket(timed.begin, timed.end, submission.submitted_ns, submission.completed_ns);
    if (!lane.placed) {
        lane.placed = true;
        lane.begin = timed.begin;
        lane.begin_ns = queue.clock.to_host_ns(timed.begin);
    }
    lane.end = timed.end;
}

// The lane has all its submits: a span, or a loss where one of them has no times.
void DeviceQueues::close_lane(Queue& queue) {
    if (!queue.lane) return;
    const OpenLane lane = *queue.lane;
    queue.lane.reset();
    if (lane.lost) return session_.counters().lost.add(*lane.lost);
    Site site;
    site.label = kLaneName;
    site.lane = kLaneName;
    site.warmup = lane.warmup;
    SpanRecord span;
    span.begin_ns = lane.begin_ns;
    span.duration_ns = queue.clock.to_ns(lane.end - lane.begin);
    span.site = session_.site(site);
    span.step = lane.step;
    span.track = track_of(queue);
    spans_.push_back(span);
    queue.clock.ends_at(span.begin_ns + span.duration_ns);
}

// A step may close long after its last submit was settled, where steps are found by labels or queue labels are open.
void DeviceQueues::close_finished_lanes() {
    spans_.clear();
    for (auto& [handle, queue] : queues_) {
        if (!queue.lane || !session_.is_step_over(queue.lane->step)) continue;
        if (queue.pending.empty() || queue.pending.front().step != queue.lane->step) close_lane(queue);
    }
    session_.device_spans(spans_);
}

// Every lane that is not closed, and those of pending submits.
void DeviceQueues::lose_lanes(Queue& queue, LossReason reason) noexcept {
    LossCounters& lost = session_.counters().lost;
    uint32_t counted = kNoStep;
    if (queue.lane) {
        lost.add(queue.lane->lost.value_or(reason));
        counted = queue.lane->step;
    }
    queue.lane.reset();
    for (const Submission& submission : queue.pending) {
        if (!submission.in_lane || submission.step == counted) continue;
        lost.add(submission.lane_lost.value_or(reason));
        counted = submission.step;
    }
}

}    // namespace lapwing::attach::vulkan_layer
