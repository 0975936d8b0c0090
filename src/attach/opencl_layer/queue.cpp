#include "attach/opencl_layer/queue.hpp"

#include <algorithm>
#include <string>

#include "attach/session/host_time.hpp"

namespace lapwing::attach::opencl_layer {

namespace {
constexpr std::size_t kFirstRing = 512;
constexpr std::size_t kLargestRing = 65536;
constexpr uint64_t kHarvestEvery = 256;
// One clock reading and one profiling value more, at one command in this time.
constexpr int64_t kPairIntervalNs = 5'000'000;
}    // namespace

Queue::Queue(cl_command_queue handle, Device& device, bool in_order, bool timed, QueueView view, Session& session)
    : handle_(handle),
      device_(device),
      in_order_(in_order),
      timed_(timed),
      view_(std::move(view)),
      session_(session),
      ring_(kFirstRing),
      clock_(device.caps(), TickScale()) {}

Queue::Ticket Queue::begin(SpanKind kind) {
    Ticket ticket;
    ticket.submitted_ns = host_now_ns();
    ticket.work.dispatches = kind == SpanKind::kDispatch ? 1 : 0;
    const Session::Submitted submitted = session_.submitted(ticket.submitted_ns, ticket.work);
    ticket.step = submitted.step;
    ticket.armed = submitted.armed;
    ticket.timed = submitted.armed && timed_;
    return ticket;
}

void Queue::withdraw(const Ticket& ticket) noexcept {
    session_.withdrawn(ticket.work);
}

uint64_t Queue::enqueued(const Ticket& ticket, Command& command) noexcept {
    Counters& counters = session_.counters();
    if (ticket.work.dispatches > 0) Counters::add(counters.executed_dispatches);
    command.step = ticket.step;
    command.submitted_ns = ticket.submitted_ns;
    if (command.event != nullptr && ticket.submitted_ns >= next_pair_ns_.load(std::memory_order_relaxed)) {
        command.enqueued_ns = host_now_ns();
        next_pair_ns_.store(command.enqueued_ns + kPairIntervalNs, std::memory_order_relaxed);
    }
    const bool lane = session_.stamps_submits();
    std::optional<LossReason> lost;
    if (ticket.armed && !timed_)
        lost = LossReason::kUnsupported;
    else if (ticket.timed && command.event == nullptr)
        lost = LossReason::kDriverError;
    bool begins = ticket.armed && !lane;
    bool harvest_now = false;
    uint64_t number = 0;
    {
        const std::lock_guard lock(mutex_);
        number = command.number = ++newest_;
        if (ticket.armed && lane && lane_entered_ != ticket.step) {
            lane_entered_ = ticket.step;
            begins = true;
        }
        if (command.event != nullptr) {
            if (tail_ - head_ == ring_.size() && ring_.size() < kLargestRing) {
                try {
                    std::vector<Command> larger(ring_.size() * 2);
                    for (uint64_t i = head_; i < tail_; ++i)
                        larger[i & (larger.size() - 1)] = ring_[i & (ring_.size() - 1)];
                    ring_.swap(larger);
                } catch (...) {
                    Counters::add(counters.faults);
                }
            }
            if (tail_ - head_ < ring_.size())
                ring_[tail_++ & (ring_.size() - 1)] = command;
            else
                lost = LossReason::kRingFull;
        }
        harvest_now = tail_ - head_ >= kHarvestEvery && newest_ % kHarvestEvery == 0;
    }
    if (begins) Counters::add(counters.begun);
    // A lane that is lost is counted once, with its first command.
    if (lost && (!lane || begins)) counters.lost.add(*lost);
    if (lost && command.event != nullptr) next().clReleaseEvent(command.event);
    if (harvest_now) harvest();
    return number;
}

uint64_t Queue::newest() noexcept {
    const std::lock_guard lock(mutex_);
    return newest_;
}

// From the newest on: programs mostly ask for what they enqueued last.
std::optional<uint64_t> Queue::number_of(cl_event event) noexcept {
    const std::lock_guard lock(mutex_);
    for (uint64_t i = tail_; i-- > head_;)
        if (const Command& command = ring_[i & (ring_.size() - 1)]; command.event == event) return command.number;
    return std::nullopt;
}

cl_uint Queue::references_to(cl_event event) noexcept {
    return number_of(event) ? 1 : 0;
}

std::size_t Queue::pending() noexcept {
    const std::lock_guard lock(mutex_);
    return tail_ - head_;
}

void Queue::seen_complete(std::optional<uint64_t> number) {
    harvest();
    uint64_t count = 0;
    {
        const std::lock_guard lock(mutex_);
        uint64_t up_to = number.value_or(0);
        if (!number) up_to = tail_ == head_ ? newest_ : ring_[head_ & (ring_.size() - 1)].number - 1;
        if (up_to > seen_) {
            count = up_to - seen_;
            seen_ = up_to;
        }
    }
    if (count == 0) return;
    const int64_t now_ns = host_now_ns();
    const bool closed = session_.completed(count, now_ns);
    if (session_.stamps_submits()) close_finished_lane();
    if (!closed) return;
    {
        const std::lock_guard lock(harvest_mutex_);
        device_.note_clock(clock_, now_ns);
    }
    session_.publish_stats(false);
}

void Queue::abandon() noexcept {
    const std::lock_guard lock(harvest_mutex_);
    try {
        for (std::size_t count = copy_head(); count > 0; count = copy_head()) {
            for (std::size_t i = 0; i < count; ++i) lose(batch_[i], LossReason::kAbandoned);
            drop_head(count);
        }
        close_lane();
        session_.device_spans(spans_);
        spans_.clear();
        if (track_ != 0) device_.note_clock(clock_, host_now_ns(), true);
    } catch (...) {
        Counters::add(session_.counters().faults);
    }
}

}    // namespace lapwing::attach::opencl_layer
