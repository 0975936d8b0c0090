// Reading the times of commands that are complete, and making spans of them. Never waits.
#include <algorithm>

#include "attach/opencl_layer/queue.hpp"
#include "attach/session/host_time.hpp"

namespace lapwing::attach::opencl_layer {

namespace {
constexpr const char* kLaneName = "step";
// The session's table is bounded, this cache in front of it must be as well.
constexpr std::size_t kMaxSites = 65536;

enum class Read : uint8_t { kTimes, kLater, kFailed };

cl_int status_of(cl_event event) noexcept {
    cl_int status = CL_QUEUED;
    if (next().clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, nullptr) != CL_SUCCESS)
        return -1;
    return status;
}

bool read_profile(cl_event event, cl_profiling_info what, cl_ulong* out) noexcept {
    return next().clGetEventProfilingInfo(event, what, sizeof *out, out, nullptr) == CL_SUCCESS;
}
}    // namespace

std::size_t Queue::SiteHash::operator()(const SiteKey& key) const noexcept {
    std::size_t seed = reinterpret_cast<uintptr_t>(key.type) ^ reinterpret_cast<uintptr_t>(key.kernel) << 1;
    const auto mix = [&](std::size_t value) { seed ^= value + 0x9e3779b97f4a7c15u + (seed << 6) + (seed >> 2); };
    for (const uint32_t extent : key.grid) mix(extent);
    mix(key.warmup ? 1 : 0);
    return seed;
}

std::size_t Queue::copy_head() noexcept {
    const std::lock_guard lock(mutex_);
    const auto count = static_cast<std::size_t>(std::min<uint64_t>(tail_ - head_, kBatch));
    for (std::size_t i = 0; i < count; ++i) batch_[i] = ring_[(head_ + i) & (ring_.size() - 1)];
    return count;
}

void Queue::drop_head(std::size_t count) noexcept {
    const std::lock_guard lock(mutex_);
    head_ = std::min(head_ + count, tail_);
}

void Queue::harvest() noexcept {
    const std::unique_lock lock(harvest_mutex_, std::try_to_lock);
    if (!lock.owns_lock()) return;
    try {
        for (;;) {
            const std::size_t count = copy_head();
            if (count == 0) break;
            const std::size_t settled = settle_batch(count);
            drop_head(settled);
            for (std::size_t i = 0; i < settled; ++i) next().clReleaseEvent(batch_[i].event);
            if (settled < count || count < kBatch) break;
        }
        session_.device_spans(spans_);
    } catch (...) {
        Counters::add(session_.counters().faults);
    }
    spans_.clear();
}

// How many of the batch, from its head on, are settled: timed or lost.
std::size_t Queue::settle_batch(std::size_t count) {
    timed_commands_.clear();
    // In order, one complete command answers for all before it.
    bool all_complete = in_order_ && count > 1 && status_of(batch_[count - 1].event) == CL_COMPLETE;
    std::size_t settled = 0;
    for (; settled < count; ++settled) {
        const Command& command = batch_[settled];
        cl_ulong begin = 0;
        cl_ulong end = 0;
        const auto read = [&] {
            return read_profile(command.event, CL_PROFILING_COMMAND_END, &end) &&
                   read_profile(command.event, CL_PROFILING_COMMAND_START, &begin);
        };
        // Two threads may have handed their commands over in another order than the driver took them.
        Read result = all_complete && read() ? Read::kTimes : Read::kFailed;
        if (result == Read::kFailed) {
            const cl_int status = status_of(command.event);
            if (status > CL_COMPLETE)
                result = Read::kLater;
            else if (status == CL_COMPLETE && read())
                result = Read::kTimes;
        }
        if (result == Read::kLater) break;
        Counters::add(session_.counters().result_reads);
        if (result == Read::kFailed)
            lose(command, LossReason::kDriverError);
        else
            judge(command, begin, end);
    }
    if (!timed_commands_.empty()) emit();
    return settled;
}

void Queue::judge(const Command& command, uint64_t begin, uint64_t end) {
    const int64_t now_ns = host_now_ns();
    // Some drivers answer with the same numbers for every command.
    const bool repeats = in_order_ && begin == last_begin_ && end == last_end_ && end > begin &&
                         static_cast<double>(end - begin) > clock_.caps().resolution_ns;
    last_begin_ = begin;
    last_end_ = end;
    if (repeats) return lose(command, LossReason::kStale);
    const SpanTime time = clock_.judge(begin, end, command.submitted_ns, now_ns);
    if (time.lost) return lose(command, *time.lost);
    const uint64_t first = clock_.unwrap_first(Ticks{time.begin_ticks}, command.submitted_ns);
    cl_ulong queued = 0;
    if (command.enqueued_ns != 0 && read_profile(command.event, CL_PROFILING_COMMAND_QUEUED, &queued) && queued != 0 &&
        queued <= begin)
        clock_.moment(first - (begin - queued), command.submitted_ns, command.enqueued_ns);
    timed_commands_.push_back({&command, first, first + time.duration_ticks});
}

void Queue::lose(const Command& command, LossReason reason) {
    if (session_.stamps_submits()) return gather_lane(command.step, reason, 0, 0, command.first_use);
    session_.counters().lost.add(reason);
}

void Queue::emit() {
    const auto earlier = [](const Timed& a, const Timed& b) { return static_cast<int64_t>(a.begin - b.begin) < 0; };
    if (!in_order_) std::stable_sort(timed_commands_.begin(), timed_commands_.end(), earlier);
    uint64_t last = timed_commands_.front().end;
    int64_t submitted_ns = timed_commands_.front().command->submitted_ns;
    for (const Timed& timed : timed_commands_) {
        if (static_cast<int64_t>(timed.end - last) > 0) last = timed.end;
        submitted_ns = std::min(submitted_ns, timed.command->submitted_ns);
    }
    clock_.bracket(timed_commands_.front().begin, last, submitted_ns, host_now_ns());
    for (const Timed& timed : timed_commands_) {
        const Command& command = *timed.command;
        if (session_.stamps_submits()) {
            gather_lane(command.step, std::nullopt, timed.begin, timed.end, command.first_use);
            continue;
        }
        SpanRecord span;
        span.begin_ns = clock_.to_host_ns(timed.begin);
        span.duration_ns = clock_.to_host_ns(timed.end) - span.begin_ns;
        span.site = site_of(command);
        span.step = command.step;
        span.track = track();
        spans_.push_back(span);
    }
}

SiteId Queue::site_of(const Command& command) {
    const SiteKey key{command.type, command.kernel, command.grid, command.first_use};
    if (const auto found = sites_.find(key); found != sites_.end()) return found->second;
    if (sites_.size() >= kMaxSites) sites_.clear();
    Site site;
    site.kind = command.type->kind;
    site.grid = command.grid;
    site.warmup = command.first_use;
    if (command.kernel != nullptr)
        site.kernel = command.kernel->name;
    else if (site.kind == SpanKind::kDispatch)
        site.kernel = command.type->label;    // a function of the host
    else
        site.label = command.type->label;
    const SiteId id = session_.site(site);
    sites_.emplace(key, id);
    return id;
}

// Announced when its first span comes.
TrackId Queue::track() {
    if (track_ == 0) {
        std::string name = "queue ";
        name += std::to_string(device_.next_queue());
        track_ = session_.add_track(TrackKind::kDeviceQueue, device_.id(), std::move(name));
    }
    return track_;
}

// Level lane: from the first begin to the last end of a step's commands on this queue.
void Queue::gather_lane(uint32_t step, std::optional<LossReason> lost, uint64_t begin, uint64_t end, bool first_use) {
    if (lane_ && lane_->step != step) close_lane();
    if (!lane_) lane_.emplace().step = step;
    Lane& lane = *lane_;
    lane.warmup |= first_use;
    if (!lane.lost) lane.lost = lost;
    if (lost) return;
    if (!lane.placed || static_cast<int64_t>(begin - lane.begin) < 0) lane.begin = begin;
    if (!lane.placed || static_cast<int64_t>(end - lane.end) > 0) lane.end = end;
    lane.placed = true;
}

void Queue::close_lane() {
    if (!lane_) return;
    const Lane lane = *lane_;
    lane_.reset();
    if (lane.lost) return session_.counters().lost.add(*lane.lost);
    Site site;
    site.label = kLaneName;
    site.lane = kLaneName;
    site.warmup = lane.warmup;
    SpanRecord span;
    span.begin_ns = clock_.to_host_ns(lane.begin);
    span.duration_ns = clock_.to_host_ns(lane.end) - span.begin_ns;
    span.site = session_.site(site);
    span.step = lane.step;
    span.track = track();
    spans_.push_back(span);
}

void Queue::close_finished_lane() {
    const std::unique_lock lock(harvest_mutex_, std::try_to_lock);
    if (!lock.owns_lock() || !lane_ || !session_.is_step_over(lane_->step)) return;
    {
        const std::lock_guard short_lock(mutex_);
        if (tail_ != head_ && ring_[head_ & (ring_.size() - 1)].step == lane_->step) return;
    }
    close_lane();
    session_.device_spans(spans_);
    spans_.clear();
}

}    // namespace lapwing::attach::opencl_layer
