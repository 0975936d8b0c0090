// The cold half of DeviceRing: set-up, attention, harvest. Included by device_ring.hpp.
#pragma once

#include <algorithm>
#include <bit>

#include "lapwing/device_ring.hpp"

namespace lapwing {

namespace detail {
/// A number that no other ring of this process has, spread over 32 bits.
[[nodiscard]] uint32_t next_ring_salt() noexcept;

/// Sizes rounded up to powers of two, with initial <= max.
[[nodiscard]] DeviceRingOptions rounded(DeviceRingOptions options) noexcept;
}    // namespace detail

template <Backend B>
DeviceRing<B>::DeviceRing(B& backend, const DeviceRingOptions& options)
    : backend_(backend),
      options_(detail::rounded(options)),
      salt_(detail::next_ring_salt()),
      created_(now()),
      queues_(std::make_unique<std::unique_ptr<Entry>[]>(options_.max_queues)),
      scratch_(std::make_unique<Scratch>()) {}

template <Backend B>
bool DeviceRing<B>::reserve([[maybe_unused]] uint32_t first, [[maybe_unused]] uint32_t count) noexcept {
    if constexpr (requires {
                      { backend_.reserve(first, count) }
                      noexcept->std::same_as<bool>;
                  })
        return backend_.reserve(first, count);
    else
        return true;
}

template <Backend B>
detail::DeviceTimeline* DeviceRing<B>::timeline_for(const Caps& caps, const TickScale& scale) {
    // Queues of one device share a clock, and so one alignment, unless they show it differently.
    for (const auto& known : timelines_)
        if (known->valid_bits() == caps.valid_bits && known->scale().ns_per_tick() == scale.ns_per_tick())
            return known.get();
    timelines_.push_back(
        std::make_unique<detail::DeviceTimeline>(scale, caps.valid_bits, created_, options_.max_span_ns));
    return timelines_.back().get();
}

template <Backend B>
Result<uint32_t> DeviceRing<B>::add_queue(Queue queue, TrackId track) {
    const uint32_t number = queue_count_.load(std::memory_order_relaxed);
    if (number >= options_.max_queues)
        return Error{Errc::kExhausted, 0, "the ring has all its queues: raise DeviceRingOptions::max_queues"};
    auto entry = std::make_unique<Entry>(std::move(queue), options_);
    detail::DeviceQueue& core = entry->core;
    if (!core.ring.ok()) return Error{Errc::kExhausted, 0, "no memory for the slots of a device queue"};
    core.track = track;
    core.first_token = number * options_.max_spans;
    core.first_stamp = options_.first_stamp + number * 2 * options_.max_spans;
    core.abandon_after_s = options_.abandon_after_s;
    core.next_reclaim_s = options_.abandon_after_s;
    core.zeros_to_degrade = options_.zeros_to_degrade;
    core.caps = backend_.caps(entry->queue);
    core.caps.valid_bits = std::min<uint32_t>(core.caps.valid_bits, 64);
    const Result<TickScale> scale = TickScale::from_period(core.caps.ns_per_tick);
    if (core.caps.valid_bits == 0 || !scale.ok()) {
        const bool stated = core.caps.reason != nullptr && *core.caps.reason != '\0';
        core.reason = stated                      ? core.caps.reason
                      : core.caps.valid_bits == 0 ? "the driver says that this queue has no timestamps"
                                                  : "the driver's timestamp period is not a period";
        core.attention = detail::kAttendUnsupported;
    } else {
        if (!reserve(core.first_stamp, 2 * core.ring.capacity()))
            return Error{Errc::kExhausted, 0, "the backend has no room for the stamps of another queue"};
        core.timeline = timeline_for(core.caps, *scale);
        core.ask_for_bracket(false);
    }
    queues_[number] = std::move(entry);
    queue_count_.store(number + 1, std::memory_order_release);
    return number;
}

template <Backend B>
DeviceToken DeviceRing<B>::begin_attending(Entry& entry, SiteId site, uint32_t tag) noexcept {
    const detail::MaybeLost stopped = entry.core.attend();
    if (stopped.lost()) return lose(entry, stopped.reason());
    if ((entry.core.attention.load(std::memory_order_relaxed) & detail::kAttendBracket) == 0)
        return open(entry, site, tag);
    const HostNs before = now();
    const DeviceToken token = open(entry, site, tag);
    if (token.slot != detail::kNoSlot)
        entry.core.publish_bracket(token.slot - entry.core.first_token, token.generation ^ salt_, before);
    return token;
}

template <Backend B>
void DeviceRing<B>::drop_stopped(Entry& entry, uint32_t index, uint32_t generation) noexcept {
    const detail::MaybeLost stopped = entry.core.attend();
    // What was begun before the loss was swept by attend(), counted there, and is no longer open.
    if (!entry.core.ring.is_open(index, generation)) return;
    drop(entry, index, stopped.lost() ? stopped.reason() : LossReason::kDeviceLost);
}

template <Backend B>
detail::MaybeLost DeviceRing<B>::push_stamp(Entry& entry, detail::SlotState state, SiteId site, uint32_t tag) noexcept {
    detail::DeviceQueue& core = entry.core;
    if (backend_.is_capturing(entry.queue)) [[unlikely]]
        return LossReason::kCapture;
    const detail::SlotRing::FreeSlot found = core.ring.find_free();
    if (found.index == detail::kNoSlot) [[unlikely]]
        return LossReason::kRingFull;
    if (!backend_.mark(entry.queue, core.first_stamp + 2 * found.index + 1)) [[unlikely]]
        return LossReason::kDriverError;
    core.ring.take(found, state, site, step_.load(std::memory_order_relaxed), tag);
    core.ring.push(found.index);
    return {};
}

template <Backend B>
LapChain DeviceRing<B>::lap_begin(uint32_t queue, Level needed) noexcept {
    if (detail::g_level.load(std::memory_order_relaxed) < static_cast<uint8_t>(needed)) return {};
    Entry& entry = *queues_[queue];
    detail::DeviceQueue& core = entry.core;
    if (++core.chain == 0) ++core.chain;    // 0 is the null chain
    const detail::MaybeLost stopped =
        core.attention.load(std::memory_order_relaxed) != 0 ? core.attend() : detail::MaybeLost{};
    core.chain_broken = stopped.lost() ? stopped : push_stamp(entry, detail::kBoundary, 0, 0);
    return {core.chain};
}

template <Backend B>
void DeviceRing<B>::lap(uint32_t queue, LapChain chain, SiteId site, Level needed, uint32_t tag) noexcept {
    if (chain.id == 0) return;
    Entry& entry = *queues_[queue];
    detail::DeviceQueue& core = entry.core;
    if (detail::g_level.load(std::memory_order_relaxed) < static_cast<uint8_t>(needed)) [[unlikely]] {
        // Not begun; and a lap after the level is raised again must not contain the ops in between.
        if (chain.id == core.chain) core.chain_broken = LossReason::kAbandoned;
        return;
    }
    core.begun.add();
    core.begun_without_stamp.add();
    if (chain.id != core.chain || core.chain_broken.lost() || core.attention.load(std::memory_order_relaxed) != 0)
        [[unlikely]]
        return lap_attending(entry, chain, site, tag);
    const detail::MaybeLost lost = push_stamp(entry, detail::kLap, site, tag);
    if (lost.lost()) [[unlikely]] {
        core.lose(lost.reason());
        core.chain_broken = lost;
    }
}

template <Backend B>
void DeviceRing<B>::lap_attending(Entry& entry, LapChain chain, SiteId site, uint32_t tag) noexcept {
    detail::DeviceQueue& core = entry.core;
    if (chain.id != core.chain) return core.lose(LossReason::kStale);
    detail::MaybeLost lost = core.attention.load(std::memory_order_relaxed) != 0 ? core.attend() : detail::MaybeLost{};
    if (!lost.lost()) {
        const detail::MaybeLost broken = core.chain_broken;
        const bool bracket =
            !broken.lost() && (core.attention.load(std::memory_order_relaxed) & detail::kAttendBracket) != 0;
        const HostNs before = bracket ? now() : HostNs{};
        lost = push_stamp(entry, broken.lost() ? detail::kBoundary : detail::kLap, site, tag);
        if (!lost.lost()) {
            core.chain_broken = {};
            if (broken.lost()) core.lose(broken.reason());
            if (bracket) {
                const uint32_t index = core.ring.last_pushed();
                core.publish_bracket(index, core.ring.generation(index), before);
            }
            return;
        }
    }
    core.lose(lost.reason());
    core.chain_broken = lost;
}

template <Backend B>
void DeviceRing<B>::measure_floor(uint32_t queue, uint32_t pairs) noexcept {
    const LapChain chain = lap_begin(queue, Level::kLane);
    Entry& entry = *queues_[queue];
    if (chain.id == 0) return;
    for (uint32_t i = 0; i < pairs && !entry.core.chain_broken.lost(); ++i)
        entry.core.chain_broken = push_stamp(entry, detail::kEmptyLap, 0, 0);
    if (++entry.core.chain == 0) ++entry.core.chain;    // nobody has a chain of this number
}

template <Backend B>
std::size_t DeviceRing<B>::harvest(std::span<SpanRecord> out) noexcept {
    // Acquire and release hand the harvester's fields from one harvesting thread to the next.
    if (harvesting_.test_and_set(std::memory_order_acquire)) return 0;
    std::size_t written = 0;
    const uint32_t queues = queue_count_.load(std::memory_order_acquire);
    // Now and then also where nothing was found: spans that are only begun and never ended must be given up as well.
    const bool look_at_all = ++harvests_ % kMaintainEvery == 0;
    const HostNs seen = look_at_all ? now() : HostNs{};
    for (uint32_t i = 0; i < queues; ++i) {
        queues_[i]->core.unplaced = harvest_queue(*queues_[i], out.subspan(written));
        written += queues_[i]->core.unplaced;
        if (look_at_all && queues_[i]->core.timeline != nullptr) maintain(*queues_[i], seen);
    }
    std::size_t placed = 0;
    for (uint32_t i = 0; placed < written; ++i) {
        const detail::DeviceQueue& core = queues_[i]->core;
        if (core.unplaced == 0) continue;
        if (core.adopted.get() > 0 && !core.timeline->alignment().aligned()) {    // nothing of theirs is bracketed
            const Result<ClockAnchor> anchor = backend_.calibrate(queues_[i]->queue);
            if (anchor.ok()) core.timeline->anchor(*anchor, now());
        }
        core.timeline->place(out.subspan(placed, core.unplaced));
        placed += core.unplaced;
    }
    harvesting_.clear(std::memory_order_release);
    return written;
}

template <Backend B>
std::size_t DeviceRing<B>::harvest_queue(Entry& entry, std::span<SpanRecord> out) noexcept {
    detail::DeviceQueue& core = entry.core;
    const uint64_t tail = core.ring.tail();
    if (core.ring.head() == tail) return 0;
    if (core.ring.pressed() && reserve(core.first_stamp, 4 * core.ring.capacity())) core.ring.grow();

    std::size_t written = 0;
    uint32_t want = 1;    // an idle queue is asked for one stamp only
    HostNs seen;
    while (core.ring.head() != tail && written < out.size()) {
        const auto left = std::min<uint64_t>(tail - core.ring.head(), out.size() - written);
        const uint32_t count = static_cast<uint32_t>(std::min<uint64_t>(left, want));
        uint32_t ready = resolve(entry, count);
        if (ready == 0) break;
        seen = now();
        core.timeline->start_batch(seen);
        bool device_lost = false;
        for (uint32_t i = 0; i < ready; ++i) {
            const Stamp& begin = scratch_->begin[i];
            const Stamp& end = scratch_->end[i];
            if (begin.state != StampState::kReady || end.state != StampState::kReady) [[unlikely]] {
                // A begin may still be pending beside its end; beside an end that failed it never comes.
                if (begin.state == StampState::kPending && end.state == StampState::kReady) {
                    ready = i;
                    break;
                }
                device_lost |= end.state == StampState::kLost || begin.state == StampState::kLost;
            }
            if (core.settle(scratch_->index[i], scratch_->state[i], begin, end, &out[written])) ++written;
        }
        if (device_lost) [[unlikely]] {
            lose_device();
            break;
        }
        if (ready < count) break;
        want = kBatch;
    }
    if (seen != HostNs{}) maintain(entry, seen);
    return written;
}

template <Backend B>
uint32_t DeviceRing<B>::resolve(Entry& entry, uint32_t count) noexcept {
    detail::DeviceQueue& core = entry.core;
    Scratch& s = *scratch_;
    for (uint32_t i = 0; i < count; ++i) {
        s.index[i] = core.ring.at(core.ring.head() + i);
        s.state[i] = core.ring.state(s.index[i]);
        s.ask[i] = core.first_stamp + 2 * s.index[i] + 1;
    }
    // The end stamp is the later one: where it is pending, nothing behind it needs to be asked.
    backend_.poll(std::span<const uint32_t>(s.ask, count), std::span<Stamp>(s.end, count));
    uint32_t ready = 0;
    uint32_t begins = 0;
    for (; ready < count && s.end[ready].state != StampState::kPending; ++ready)
        if (s.state[ready] == detail::kClosed) s.ask[begins++] = core.first_stamp + 2 * s.index[ready];
    if (begins == 0) {
        std::fill_n(s.begin, ready, Stamp{{}, StampState::kReady});
        return ready;
    }
    if (begins == ready) {
        backend_.poll(std::span<const uint32_t>(s.ask, begins), std::span<Stamp>(s.begin, begins));
    } else {
        backend_.poll(std::span<const uint32_t>(s.ask, begins), std::span<Stamp>(s.answer, begins));
        for (uint32_t i = 0, next = 0; i < ready; ++i)
            s.begin[i] = s.state[i] == detail::kClosed ? s.answer[next++] : Stamp{{}, StampState::kReady};
    }
    return ready;
}

template <Backend B>
void DeviceRing<B>::maintain(Entry& entry, HostNs now_ns) noexcept {
    detail::DeviceQueue& core = entry.core;
    core.ring.set_coarse_s(static_cast<uint32_t>((now_ns.value - created_.value) / 1'000'000'000));
    core.ask_for_bracket(core.timeline->alignment().calibrated());
    const uint32_t now_s = core.ring.coarse_s();
    if (core.abandon_after_s == 0 || now_s < core.next_reclaim_s) return;
    core.next_reclaim_s = now_s + core.abandon_after_s / 2 + 1;
    core.attention.fetch_or(detail::kAttendReclaim, std::memory_order_relaxed);
}

template <Backend B>
void DeviceRing<B>::lose_device() noexcept {
    const uint32_t queues = queue_count_.load(std::memory_order_acquire);
    for (uint32_t i = 0; i < queues; ++i) {
        detail::DeviceQueue& core = queues_[i]->core;
        core.attention.fetch_or(detail::kAttendDeviceLost | detail::kAttendSweepLost, std::memory_order_release);
        core.drain(LossReason::kDeviceLost);
    }
}

template <Backend B>
Status DeviceRing<B>::calibrate() {
    if (harvesting_.test_and_set(std::memory_order_acquire))
        return Error{Errc::kExhausted, 0, "a harvest is under way: calibrate between harvests"};
    Status status;
    for (const auto& timeline : timelines_) {
        const uint32_t queues = queue_count_.load(std::memory_order_acquire);
        for (uint32_t i = 0; i < queues; ++i) {
            if (queues_[i]->core.timeline != timeline.get()) continue;
            Result<ClockAnchor> anchor = backend_.calibrate(queues_[i]->queue);
            if (anchor.ok())
                timeline->anchor(*anchor, now());
            else if (status.ok())
                status = anchor.error();
            break;
        }
    }
    harvesting_.clear(std::memory_order_release);
    return status;
}

template <Backend B>
void DeviceRing<B>::abandon_all() noexcept {
    const uint32_t queues = queue_count_.load(std::memory_order_acquire);
    for (uint32_t i = 0; i < queues; ++i) {
        detail::DeviceQueue& core = queues_[i]->core;
        core.attend();    // spans of a lost device are lost as that
        core.drop_all_open(LossReason::kAbandoned);
        core.drain(LossReason::kAbandoned);
    }
}

template <Backend B>
void DeviceRing<B>::restart() noexcept {
    std::vector<std::unique_ptr<detail::DeviceTimeline>> old;
    old.swap(timelines_);
    created_ = now();
    const uint32_t queues = queue_count_.load(std::memory_order_acquire);
    for (uint32_t i = 0; i < queues; ++i) {
        detail::DeviceQueue& core = queues_[i]->core;
        core.attend();
        // Where nobody had noticed the loss yet, stamps of the old clock are still in flight.
        core.drop_all_open(LossReason::kDeviceLost);
        core.drain(LossReason::kDeviceLost);
        core.chain_broken = LossReason::kDeviceLost;
        core.attention.fetch_and(~uint32_t{detail::kAttendDeviceLost}, std::memory_order_relaxed);
        if (core.timeline == nullptr) continue;
        core.timeline = timeline_for(core.caps, core.timeline->scale());
        core.forget_clock();
        core.ask_for_bracket(false);
    }
}

template <Backend B>
DeviceRingStats DeviceRing<B>::stats() const noexcept {
    DeviceRingStats out;
    const uint32_t queues = queue_count_.load(std::memory_order_acquire);
    for (uint32_t i = 0; i < queues; ++i) {
        const detail::DeviceQueue& core = queues_[i]->core;
        out.begun += core.begun.get();
        out.recorded += core.recorded.get();
        out.lost += core.lost_by_producer.snapshot();
        out.lost += core.lost_by_harvest.snapshot();
        out.in_flight += core.ring.in_flight();
        out.stamps += core.begun.get() - core.begun_without_stamp.get() + core.ring.tail() - 2 * core.adopted.get();
        out.refused_tokens += core.refused.get();
        out.capacity += core.ring.capacity();
    }
    for (const auto& timeline : timelines_) out.ambiguous_wraps += timeline->ambiguous_wraps();
    return out;
}

template <Backend B>
DeviceQueueInfo DeviceRing<B>::info(uint32_t queue) const noexcept {
    const detail::DeviceQueue& core = queues_[queue]->core;
    DeviceQueueInfo out;
    out.supported = (core.attention.load(std::memory_order_acquire) & detail::kAttendUnsupported) == 0;
    out.reason = core.reason.load(std::memory_order_relaxed);
    out.track = core.track;
    out.caps = core.caps;
    out.clock.resolution_ns = core.caps.resolution_ns;
    out.clock.valid_bits = core.caps.valid_bits;
    if (core.timeline != nullptr) {
        out.clock.calibrated = core.timeline->alignment().calibrated();
        out.clock.uncertainty_ns = core.timeline->alignment().uncertainty_ns();
        out.clock.drift_ppm = core.timeline->alignment().drift_ppm();
        out.clock.residual_ns = core.timeline->alignment().residual_ns();
        out.clock.clock_steps = core.timeline->alignment().restarts();
        out.clock.floor_ns = core.timeline->floor().median_ns();
        out.clock.floor_pairs = core.timeline->floor().pairs();
        out.calibration_refused = core.timeline->alignment().calibration_refused();
    }
    return out;
}

}    // namespace lapwing
