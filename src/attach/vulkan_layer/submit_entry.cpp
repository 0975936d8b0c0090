// A submit's entry into the books, before the driver sees it, and the driver's answer.
#include <algorithm>

#include "attach/vulkan_layer/chunk_store.hpp"
#include "attach/vulkan_layer/device_queues.hpp"

namespace lapwing::attach::vulkan_layer {

namespace {
// A program that resubmits one recording for ever without learning of completion piles up executions whose results are
// long overwritten; they are let go in batches of this size.
constexpr std::size_t kOverwrittenBatch = 4096;

// Whether a pipeline is executed for the first time.
bool note_first_uses(PipelineTable& pipelines, Execution& execution) {
    if (!pipelines.any_cold()) return false;
    const std::vector<RecordedOp>& ops = execution.recording->ops;
    for (std::size_t i = 0; i < ops.size(); ++i)
        if (ops[i].pipeline != nullptr && pipelines.first_execution(*ops[i].pipeline))
            execution.first_uses.push_back(static_cast<uint32_t>(i));
    bool any = !execution.first_uses.empty();
    for (PipelineInfo* pipeline : execution.recording->untimed_pipelines) any |= pipelines.first_execution(*pipeline);
    return any;
}

// Only whole submissions: executions refer to each other by their place.
void let_overwritten_go(Queue& queue, Counters& counters) noexcept {
    if (queue.pending.size() % kOverwrittenBatch != 0) return;
    std::erase_if(queue.pending, [&](const Submission& submission) {
        const bool gone = !submission.in_lane && submission.copies.empty() &&
                          std::all_of(submission.executions.begin(), submission.executions.end(),
                                      [](const Execution& execution) { return execution.overwritten(); });
        if (!gone) return false;
        for (const Execution& execution : submission.executions)
            counters.lost.add(execution.if_overwritten, execution.recording->ops.size());
        return true;
    });
}

// All chunks of a recording and its secondaries, in the order in which DeviceQueues::enter() meets them.
void collect_chunks(const Recording& recording, std::vector<vulkan::QueryChunk>& out) {
    out.insert(out.end(), recording.chunks.begin(), recording.chunks.end());
    for (const std::shared_ptr<Recording>& child : recording.children) collect_chunks(*child, out);
}
}    // namespace

SubmitTicket DeviceQueues::begin_submit(VkQueue handle, VkFence fence, SubmitContents& contents, int64_t now_ns) {
    SubmitTicket ticket;
    const std::lock_guard lock(mutex_);
    if (!usable()) return ticket;
    harvest(now_ns);
    if (!usable()) return ticket;    // the device was found lost
    // Nothing runs and nobody can learn that it is over: it would keep the queue busy for ever.
    if (contents.recordings.empty() && fence == VK_NULL_HANDLE && contents.signals.empty()) return ticket;

    Queue& queue = queue_of(handle);
    Submission submission = spare_submission();
    submission.sequence = queue.submitted + 1;
    submission.submitted_ns = now_ns;
    enter_batches(queue, submission, contents, ticket);
    submission.unreliable = render_pass_seen_;
    ticket.work.commands = !contents.recordings.empty();
    const Session::Submitted place = session_.submitted(now_ns, ticket.work);
    submission.step = place.step;
    if (place.stamped) enter_lane(queue, submission, contents, ticket);

    if (fence != VK_NULL_HANDLE) fences_[fence] = {&queue, submission.sequence};
    for (const SubmitContents::Signal& signal : contents.signals) {
        // A signal behind some stages only may precede our last stamp: the result is then not ready and is asked for
        // again, unless asking would block. It may also precede our copies, whose command buffers must not be used
        // again before they are done: what covers all must be waited for.
        if (!signal.covers_all && (traits_.result_reads_block || !submission.copies.empty())) continue;
        if (const auto found = timelines_.find(signal.semaphore); found != timelines_.end())
            found->second.push_back({signal.value, &queue, submission.sequence});
    }

    ticket.queue = &queue;
    ticket.sequence = ++queue.submitted;
    if (!submission.executions.empty() || submission.in_lane) {
        queue.pending.push_back(std::move(submission));
        let_overwritten_go(queue, session_.counters());
    }
    return ticket;
}

void DeviceQueues::enter_batches(Queue& queue, Submission& submission, SubmitContents& contents, SubmitTicket& ticket) {
    uint32_t position = 0;
    for (const SubmitContents::Batch& batch : contents.batches) {
        std::size_t first = submission.executions.size();    // the first one without its copy behind it
        std::size_t first_copy = submission.copies.size();
        std::size_t suspended = Execution::kNever;
        const uint32_t end = position + batch.buffers;
        for (; position < end; ++position) {
            const std::shared_ptr<Recording>& recording = contents.recordings[position];
            if (recording != nullptr) {
                Placement results = place_results(queue, submission, recording, batch.takes_copies);
                const std::size_t own = submission.executions.size();
                enter(queue, submission, recording, results, ticket);
                join_passes(submission, *recording, own, suspended);
                // Nothing may stand between the parts of a suspended render pass.
                if (recording->pass_suspended && position + 1 < end) continue;
            }
            // Two executions of a secondary by one primary write the same queries in front of the copy.
            for (; first < submission.executions.size(); ++first) {
                Execution& execution = submission.executions[first];
                if (execution.copy != nullptr && execution.number != execution.recording->executions)
                    execution.overwritten_before_copy = true;
            }
            for (; first_copy < submission.copies.size(); ++first_copy)
                contents.inserts.push_back({position, submission.copies[first_copy].copy->commands});
        }
    }
}

// `own` is the place of the recording's own execution, where it has one; `suspended` that of the execution whose render
// pass goes on.
void DeviceQueues::join_passes(Submission& submission, const Recording& recording, std::size_t own,
                               std::size_t& suspended) noexcept {
    if (recording.resumed_end && suspended != Execution::kNever) submission.executions[suspended].resumed_by = own;
    if (!recording.pass_suspended) suspended = Execution::kNever;
    if (!recording.ops.empty() && recording.ops.back().end == RecordedOp::kEndsLater) suspended = own;
}

DeviceQueues::Placement DeviceQueues::place_results(const Queue& queue, Submission& submission,
                                                    const std::shared_ptr<Recording>& recording, bool takes_copies) {
    Placement out;
    if (!recording->copied) return out;
    if (is_contested(queue, *recording)) return out;
    if (!takes_copies) {
        out.if_overwritten = LossReason::kUnsupported;
        return out;
    }
    if (!recording->spare_copies.empty()) {
        out.copy = recording->spare_copies.back();
        recording->spare_copies.pop_back();
    } else {
        copied_chunks_.clear();
        collect_chunks(*recording, copied_chunks_);
        recording->spare_copies.reserve(recording->copies_made + 1);
        const CopyStore::Made made = copies_.make(recording->queue_family, copied_chunks_);
        if (made.copy == nullptr) {
            out.if_overwritten = made.why_not;
            return out;
        }
        ++recording->copies_made;
        out.copy = made.copy;
    }
    for (const vulkan::ResultCell& cell : out.copy->cells) cell.clear(ChunkStore::kQueriesPerChunk);
    submission.copies.push_back({recording, out.copy});
    return out;
}

bool DeviceQueues::is_contested(const Queue& queue, const Recording& recording) const noexcept {
    const auto pending_elsewhere = [&](const Recording& one) {
        return one.last_queue != nullptr && one.last_queue != &queue && one.last_queue->completed < one.last_sequence;
    };
    return pending_elsewhere(recording) ||
           std::any_of(recording.children.begin(), recording.children.end(),
                       [&](const std::shared_ptr<Recording>& child) { return is_contested(queue, *child); });
}

void DeviceQueues::enter(Queue& queue, Submission& submission, const std::shared_ptr<Recording>& recording,
                         Placement& results, SubmitTicket& ticket) {
    ticket.work.dispatches += recording->dispatches;
    ticket.work.begun += recording->ops.size() + recording->unstamped.total();
    if (!session_.stamps_submits()) ticket.work.untimed += recording->untimed;
    ticket.work.opens_label |= recording->opens_step;
    ticket.unstamped += recording->unstamped;
    ticket.stamps += recording->stamps;
    if (recording->has_render_pass && traits_.wrong_after_render_pass) render_pass_seen_ = true;

    Execution execution;
    execution.recording = recording;
    execution.number = ++recording->executions;
    execution.copy = results.copy;
    execution.first_cell = results.next_cell;
    execution.if_overwritten = results.if_overwritten;
    results.next_cell += recording->chunks.size();
    // On two queues at once the same queries are written twice at a time.
    if (is_contested(queue, *recording)) recording->contested = execution.number;
    recording->last_queue = &queue;
    recording->last_sequence = submission.sequence;
    submission.first_use |= note_first_uses(pipelines_, execution);
    if (!recording->ops.empty() || recording->resumed_end) {
        submission.in_place |= execution.copy == nullptr;
        submission.executions.push_back(std::move(execution));
    }
    for (const std::shared_ptr<Recording>& child : recording->children)
        enter(queue, submission, child, results, ticket);
}

Submission DeviceQueues::spare_submission() {
    if (spare_submissions_.empty()) return {};
    Submission out = std::move(spare_submissions_.back());
    spare_submissions_.pop_back();
    return out;
}

// A submission whose results were read: its copies may be used again, and so may its memory.
void DeviceQueues::retire(Queue& queue, Submission& submission) {
    for (const CopyInFlight& in_flight : submission.copies) in_flight.of->spare_copies.push_back(in_flight.copy);
    if (submission.bracket != nullptr) queue.spare_brackets.push_back(std::move(submission.bracket));
    submission.executions.clear();
    submission.copies.clear();
    if (spare_submissions_.size() >= kMaxSpareSubmissions) return;
    Submission spare;
    spare.executions = std::move(submission.executions);
    spare.copies = std::move(submission.copies);
    spare_submissions_.push_back(std::move(spare));
}

void DeviceQueues::end_submit(const SubmitTicket& ticket, VkResult result) noexcept {
    if (ticket.queue == nullptr) return;
    if (result != VK_SUCCESS) {
        // Where the device was lost meanwhile, the submit is among what was lost with it.
        if (!take_back(ticket))
            Counters::add(session_.counters().begun, ticket.work.begun - ticket.unstamped.total() + ticket.lanes);
        if (result == VK_ERROR_DEVICE_LOST) device_lost();
        return;
    }
    Counters& counters = session_.counters();
    Counters::add(counters.begun, ticket.work.begun + ticket.lanes);
    Counters::add(counters.executed_dispatches, ticket.work.dispatches);
    Counters::add(counters.stamps, ticket.stamps);
    for (std::size_t i = 0; i < kLossReasonCount; ++i)
        if (ticket.unstamped.by_reason[i] > 0)
            counters.lost.add(static_cast<LossReason>(i), ticket.unstamped.by_reason[i]);
}

bool DeviceQueues::take_back(const SubmitTicket& ticket) noexcept {
    const std::lock_guard lock(mutex_);
    if (!usable()) return false;
    Queue& queue = *ticket.queue;
    const auto found = std::find_if(queue.pending.begin(), queue.pending.end(), [&](const Submission& submission) {
        return submission.sequence == ticket.sequence;
    });
    if (found != queue.pending.end()) {
        // Newest first: a recording may be in the submission more than once.
        for (auto execution = found->executions.rbegin(); execution != found->executions.rend(); ++execution)
            if (execution->number == execution->recording->executions) --execution->recording->executions;
        retire(queue, *found);
        queue.pending.erase(found);
    }
    if (ticket.lanes > 0) queue.lane_entered = kNoStep;
    std::erase_if(
        fences_, [&](const auto& use) { return use.second.queue == &queue && use.second.sequence == ticket.sequence; });
    for (auto& [semaphore, uses] : timelines_)
        std::erase_if(uses,
                      [&](const TimelineUse& use) { return use.queue == &queue && use.sequence == ticket.sequence; });
    // The program synchronises its queue, so no later submit has taken the next number.
    if (queue.submitted == ticket.sequence && queue.completed < ticket.sequence) {
        --queue.submitted;
        session_.withdrawn(ticket.work);
    }
    return true;
}

}    // namespace lapwing::attach::vulkan_layer
