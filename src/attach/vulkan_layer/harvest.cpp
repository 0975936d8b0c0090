// Reading results of what the program has seen complete, and making spans of them. Never waits.
#include <algorithm>

#include "attach/session/host_time.hpp"
#include "attach/vulkan_layer/chunk_store.hpp"
#include "attach/vulkan_layer/device_queues.hpp"

namespace lapwing::attach::vulkan_layer {

namespace {
// A driver may say NOT_READY for work that the program has seen complete. It is asked again at once, then at later
// harvests; a result that is still missing after this many reads will not come.
constexpr uint32_t kReadsAtOnce = 4;
constexpr uint32_t kMaxFruitlessReads = 64;

// Calibration costs 50 ns on some drivers and milliseconds on others (MoltenVK#1713): soon after the first, so that the
// rate of the clocks is known early, then once a second, and never more than a thousandth of the time.
constexpr int64_t kFirstAnchorIntervalNs = 10'000'000;
constexpr int64_t kAnchorIntervalNs = 1'000'000'000;
constexpr int64_t kAnchorCostFactor = 1000;
constexpr int64_t kClockNewsIntervalNs = 1'000'000'000;
}    // namespace

void DeviceQueues::harvest(int64_t now_ns) {
    // Where reads block until the device is idle they are made only when it is known to be. What was copied out is
    // memory.
    const bool may_ask = !traits_.result_reads_block || idle();
    const bool any = std::any_of(queues_.begin(), queues_.end(),
                                 [&](const auto& entry) { return is_readable(entry.second, may_ask); });
    if (any && usable()) {
        refresh_alignment(now_ns);
        spans_.clear();
        for (uint32_t attempt = 0; attempt < kReadsAtOnce; ++attempt) {
            request_results(may_ask);
            const vulkan::QueryReader::Outcome outcome =
                reader_.read(vk_, device_, ChunkStore::kQueriesPerChunk, requests_);
            Counters::add(session_.counters().result_reads, outcome.calls);
            read_failed_ = outcome.error != VK_SUCCESS;
            if (outcome.device_lost) {
                lose_pending(LossReason::kDeviceLost);
                usable_.store(false, std::memory_order_relaxed);
                break;
            }
            bool settled = true;
            for (auto& [handle, queue] : queues_) {
                while (settle_head(queue, may_ask)) {
                }
                settled &= !is_readable(queue, may_ask);
            }
            if (settled) break;
        }
        session_.device_spans(spans_);
    }
    if (session_.stamps_submits() && usable()) close_finished_lanes();
    if (step_closed_) {
        step_closed_ = false;
        if (now_ns >= next_clock_news_ns_) {    // so that the recording of a program that is killed says it too
            next_clock_news_ns_ = now_ns + kClockNewsIntervalNs;
            announce_clock();
        }
        session_.publish_stats(false);
    }
}

// Whether the head of a queue may be settled: it is complete, and reading it is memory or a call that may be made now.
bool DeviceQueues::is_readable(const Queue& queue, bool may_ask) noexcept {
    if (queue.pending.empty() || queue.pending.front().completed_ns == 0) return false;
    return may_ask || !queue.pending.front().in_place || queue.pending.front().unreliable;
}

// Puts every chunk that can be read now on the list, and notes where each execution's chunks begin in it.
void DeviceQueues::request_results(bool may_ask) {
    requests_.clear();
    if (!may_ask) return;
    for (auto& [handle, queue] : queues_) {
        for (Submission& submission : queue.pending) {
            if (submission.completed_ns == 0) break;
            if (submission.unreliable) continue;
            for (Execution& execution : submission.executions) {
                if (execution.copy != nullptr || execution.overwritten()) continue;
                execution.first_request = requests_.size();
                for (const vulkan::QueryChunk& chunk : execution.recording->chunks) requests_.push_back({chunk, 0});
            }
        }
    }
}

// Nothing where a suspended render pass has no end that can be read.
std::optional<DeviceQueues::StampPlace> DeviceQueues::end_of(const Submission& submission, const Execution& execution,
                                                             const RecordedOp& op) noexcept {
    if (op.end != RecordedOp::kEndsLater) return StampPlace{&execution, {op.chunk, op.end}};
    if (execution.resumed_by == Execution::kNever) return std::nullopt;
    const Execution& last = submission.executions[execution.resumed_by];
    if (last.overwritten()) return std::nullopt;
    return StampPlace{&last, *last.recording->resumed_end};
}

bool DeviceQueues::stamp_ready(const StampPlace& place) const noexcept {
    const Execution& execution = *place.execution;
    if (execution.copy != nullptr)
        return execution.copy->cells[execution.first_cell + place.stamp.chunk].ready(place.stamp.query);
    return reader_.ready(requests_[execution.first_request + place.stamp.chunk].offset + place.stamp.query);
}

uint64_t DeviceQueues::stamp_ticks(const StampPlace& place) const noexcept {
    const Execution& execution = *place.execution;
    if (execution.copy != nullptr)
        return execution.copy->cells[execution.first_cell + place.stamp.chunk].ticks(place.stamp.query);
    return reader_.ticks(requests_[execution.first_request + place.stamp.chunk].offset + place.stamp.query);
}

bool DeviceQueues::op_ready(const Submission& submission, const Execution& execution,
                            const RecordedOp& op) const noexcept {
    const std::optional<StampPlace> end = end_of(submission, execution, op);
    return stamp_ready({&execution, {op.chunk, op.begin}}) && (!end || stamp_ready(*end));
}

bool DeviceQueues::has_results(const Submission& submission) const noexcept {
    if (submission.unreliable) return true;
    return std::all_of(submission.executions.begin(), submission.executions.end(), [&](const Execution& execution) {
        const std::vector<RecordedOp>& ops = execution.recording->ops;
        return execution.overwritten() || std::all_of(ops.begin(), ops.end(), [&](const RecordedOp& op) {
                   return op_ready(submission, execution, op);
               });
    });
}

// Heads only: spans of a queue leave in device order.
bool DeviceQueues::settle_head(Queue& queue, bool may_ask) {
    if (!is_readable(queue, may_ask)) return false;
    Submission& head = queue.pending.front();
    if (!has_results(head) && (draining_ || ++head.fruitless_reads < kMaxFruitlessReads)) return false;
    time_submission(queue, head);
    retire(queue, head);
    queue.pending.pop_front();
    return true;
}

// The device is destroyed and the time for late results is over. What the last harvest has read of a submission is
// still timed.
void DeviceQueues::settle_rest() {
    spans_.clear();
    for (auto& [handle, queue] : queues_) {
        for (const Submission& submission : queue.pending) time_submission(queue, submission);
        close_lane(queue);
    }
    session_.device_spans(spans_);
}

// The process exits: of what the program has seen complete, what lies in memory is timed. Nothing is called, and what
// is timed stays where it is, for other threads may still be in the driver.
void DeviceQueues::settle_from_memory() {
    spans_.clear();
    for (auto& [handle, queue] : queues_) {
        for (const Submission& submission : queue.pending) {
            const bool in_memory = submission.completed_ns != 0 && (!submission.in_place || submission.unreliable);
            if (in_memory && has_results(submission)) {
                time_submission(queue, submission);
            } else if (submission.in_lane) {
                gather_lane(queue, submission, LossReason::kAbandoned);
            } else {
                lose(submission, LossReason::kAbandoned);
            }
        }
        close_lane(queue);
    }
    session_.device_spans(spans_);
}

void DeviceQueues::time_submission(Queue& queue, const Submission& submission) {
    if (submission.in_lane) return gather_lane(queue, submission, std::nullopt);
    timed_.clear();
    for (const Execution& execution : submission.executions) {
        if (execution.overwritten() || submission.unreliable) {
            session_.counters().lost.add(
                execution.overwritten() ? execution.if_overwritten : LossReason::kUnreliableDriver,
                execution.recording->ops.size());
        } else {
            time_execution(queue, submission, execution);
        }
    }
    if (!timed_.empty()) emit_timed(queue, submission);
}

void DeviceQueues::time_execution(Queue& queue, const Submission& submission, const Execution& execution) {
    if (execution.recording->empty_pair) read_empty_pair(queue, submission, execution);
    const std::vector<RecordedOp>& ops = execution.recording->ops;
    auto first_use = execution.first_uses.begin();
    for (std::size_t i = 0; i < ops.size(); ++i) {
        const RecordedOp& op = ops[i];
        const bool warmup = first_use != execution.first_uses.end() && *first_use == i;
        if (warmup) ++first_use;
        if (const std::optional<LossReason> lost = time_op(queue, submission, execution, op, warmup))
            session_.counters().lost.add(*lost);
    }
}

void DeviceQueues::read_empty_pair(Queue& queue, const Submission& submission, const Execution& execution) {
    const RecordedStamp first = *execution.recording->empty_pair;
    const StampPlace begin{&execution, first};
    const StampPlace end{&execution, {first.chunk, static_cast<uint16_t>(first.query + 1)}};
    if (!stamp_ready(begin) || !stamp_ready(end)) return;
    const SpanTime time =
        queue.clock.judge(stamp_ticks(begin), stamp_ticks(end), submission.submitted_ns, submission.completed_ns);
    if (!time.lost) floor_.add(queue.clock.to_ns(time.duration_ticks));
}

// Adds an op to those that are timed, or says why it has no time.
std::optional<LossReason> DeviceQueues::time_op(Queue& queue, const Submission& submission, const Execution& execution,
                                                const RecordedOp& op, bool warmup) {
    if (!op_ready(submission, execution, op))
        return draining_ && !read_failed_ ? LossReason::kAbandoned : LossReason::kDriverError;
    const std::optional<StampPlace> end = end_of(submission, execution, op);
    if (!end) return LossReason::kAbandoned;    // its other part was recorded while nothing was timed
    const SpanTime time = queue.clock.judge(stamp_ticks({&execution, {op.chunk, op.begin}}), stamp_ticks(*end),
                                            submission.submitted_ns, submission.completed_ns);
    if (time.lost) return time.lost;
    const Ticks begin{time.begin_ticks};
    const uint64_t unwrapped =
        timed_.empty() ? queue.clock.unwrap_first(begin, submission.submitted_ns) : queue.clock.unwrap(begin);
    timed_.push_back({&op, unwrapped, unwrapped + time.duration_ticks, warmup});
    return std::nullopt;
}

void DeviceQueues::emit_timed(Queue& queue, const Submission& submission) {
    // Secondaries run inside their primary, but are listed behind it.
    const auto earlier = [](const TimedOp& a, const TimedOp& b) {
        return static_cast<int64_t>(a.begin - b.begin) < 0;    // modulo 2^64: a stamp may lie before the first one
    };
    std::stable_sort(timed_.begin(), timed_.end(), earlier);
    uint64_t last = timed_.front().end;
    for (const TimedOp& timed : timed_)
        if (static_cast<int64_t>(timed.end - last) > 0) last = timed.end;
    queue.clock.bracket(timed_.front().begin, last, submission.submitted_ns, submission.completed_ns);

    const TrackId track = track_of(queue);
    const uint64_t names_generation = pipelines_.generation();
    for (const TimedOp& timed : timed_) {
        SpanRecord span;
        span.begin_ns = queue.clock.to_host_ns(timed.begin);
        // Both ends are converted and then subtracted, so that neighbours that share a stamp share a moment.
        span.duration_ns = queue.clock.to_host_ns(timed.end) - span.begin_ns;
        span.site = sites_.find(*timed.op, timed.warmup, session_, names_generation);
        span.step = submission.step;
        span.track = track;
        spans_.push_back(span);
    }
}

// Announced when its first span comes.
TrackId DeviceQueues::track_of(Queue& queue) {
    if (queue.track == 0) {
        std::string name = "queue " + std::to_string(queue.family);
        if (queue.index > 0) name += '.' + std::to_string(queue.index);
        queue.track = session_.add_track(TrackKind::kDeviceQueue, info_.id, std::move(name));
    }
    return queue.track;
}

void DeviceQueues::refresh_alignment(int64_t now_ns) {
    if (!traits_.calibrated || now_ns < next_anchor_ns_) return;
    const Result<ClockAnchor> anchor = vulkan::calibrate(vk_, device_, traits_);
    const int64_t after_ns = host_now_ns();
    anchor_interval_ns_ = std::clamp(4 * anchor_interval_ns_, kFirstAnchorIntervalNs, kAnchorIntervalNs);
    next_anchor_ns_ = after_ns + std::max(anchor_interval_ns_, (after_ns - now_ns) * kAnchorCostFactor);
    if (!anchor.ok()) return;    // brackets go on
    for (auto& [handle, queue] : queues_) queue.clock.anchor(anchor.value(), after_ns);
}

void DeviceQueues::announce_clock() {
    info_.clock.floor_ns = floor_.median_ns();
    info_.clock.floor_pairs = floor_.pairs();
    info_.clock.uncertainty_ns.reset();
    for (const auto& [handle, queue] : queues_) {
        const std::optional<int64_t> uncertainty_ns = queue.clock.uncertainty_ns();
        if (queue.track == 0 || !uncertainty_ns) continue;
        info_.clock.calibrated = queue.clock.alignment().calibrated();
        info_.clock.uncertainty_ns = std::max(info_.clock.uncertainty_ns.value_or(0), *uncertainty_ns);
        info_.clock.drift_ppm = queue.clock.alignment().drift_ppm();
        info_.clock.residual_ns = queue.clock.alignment().residual_ns();
        info_.clock.clock_steps = queue.clock.alignment().restarts();
    }
    session_.update_device(info_);
}

}    // namespace lapwing::attach::vulkan_layer
