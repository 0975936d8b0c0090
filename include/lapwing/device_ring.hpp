// Device spans of one device: begin, end and lap on the hot path, harvest on the cold one.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "lapwing/backend.hpp"
#include "lapwing/clock.hpp"
#include "lapwing/detail/device_queue.hpp"
#include "lapwing/level.hpp"
#include "lapwing/loss.hpp"
#include "lapwing/record.hpp"
#include "lapwing/result.hpp"
#include "lapwing/sink.hpp"

namespace lapwing {

/// How a DeviceRing is laid out. Sizes are rounded up to powers of two.
struct DeviceRingOptions {
    uint32_t initial_spans = 1024;    ///< slots a queue starts with; >= 8
    uint32_t max_spans = 65536;       ///< slots a queue may grow to; at the cap the newest span is dropped and counted
    uint32_t max_queues = 16;         ///< queues that may be added
    uint32_t first_stamp = 0;         ///< lowest slot number the backend is asked for; each queue takes 2 x max_spans

    /// Zero stamps in a row after which a queue is taken for one without timestamps; 0 = never.
    uint32_t zeros_to_degrade = 16;

    /// Age at which a span that was begun and never ended is given up as abandoned. Units: seconds of host time, looked
    /// at when a harvest finds something; 0 = never.
    uint32_t abandon_after_s = 60;

    /// Longest plausible span. Units: ns; 0 = as long as the ring has lived. Longer ones are lost as implausible.
    int64_t max_span_ns = 0;

    /// The host clock, for tests and simulations; null = host_now().
    HostNs (*now)(void* context) noexcept = nullptr;
    void* now_context = nullptr;
};

/// A span that was begun. The default is null: ending it does nothing.
struct DeviceToken {
    uint32_t slot = detail::kNoSlot;
    uint32_t generation = 0;
    friend bool operator==(const DeviceToken&, const DeviceToken&) = default;
};

/// A chain of laps on one queue. The default is null: its laps do nothing.
struct LapChain {
    uint32_t id = 0;
};

/// What became of the spans. `begun == recorded + lost.total() + in_flight` whenever nobody is at work on the ring.
struct DeviceRingStats {
    uint64_t begun = 0;
    uint64_t recorded = 0;
    LossCounts lost;
    uint64_t in_flight = 0;    ///< open, or waiting for the device
    uint64_t stamps = 0;       ///< timestamps queued on the device
    uint64_t refused_tokens =
        0;    ///< ends with a stale, doubly used or foreign token: no span of theirs is lost by it
    uint64_t ambiguous_wraps =
        0;                    ///< harvests whose first stamp could lie a counter's wrap away from where it was put
    uint32_t capacity = 0;    ///< slots now, over all queues
};

/// A queue as it was added, and what became of it.
struct DeviceQueueInfo {
    bool supported = false;
    const char* reason = "";    ///< static: why there are no stamps; empty where there are
    TrackId track = 0;
    Caps caps;
    ClockInfo clock;
    bool calibration_refused = false;    ///< the driver's clock pairs contradict what the host saw
};

/// The spans of one device, over all its queues.
///
/// A queue has a ring of slots. begin() takes a free slot and queues a stamp, end() queues the second one, harvest()
/// collects the spans whose stamps have arrived, in the order in which they were ended, and never waits. A queue whose
/// ring is full drops the newest span. All that is begun is recorded or counted as lost (see DeviceRingStats).
///
/// lap() times N ops with N + 1 stamps: a lap is "completed after the previous one", so the laps of a chain abut and
/// add up.
///
/// Host alignment needs no help: one begin after each harvest notes the host time before its stamp, which brackets the
/// device clock together with the time at which the result was seen. calibrate() adds the driver's own pair, and the
/// brackets refuse it where it lies.
///
/// Shape:   the backend outlives the ring. Stamp slots first_stamp .. first_stamp + queues x 2 x max_spans - 1 are
/// used.
///          A backend may have `bool reserve(uint32_t first, uint32_t count) noexcept` (optional, cold): it is called
///          before stamps in a range are first asked for, and a ring does not grow where it says no.
/// Threads: begin, end, lap_begin, lap and reclaim of one queue are externally synchronised, as the queue itself is;
///          different queues are independent. harvest, calibrate: any thread, one at a time, a second one returns at
///          once. stats: any thread. Everything else: nobody else at work on the ring.
template <Backend B>
class DeviceRing {
public:
    using Queue = typename B::Queue;

    explicit DeviceRing(B& backend, const DeviceRingOptions& options = {});
    DeviceRing(const DeviceRing&) = delete;
    DeviceRing& operator=(const DeviceRing&) = delete;

    /// Adds a queue; its spans get `track`. A queue without timestamps is added too: its spans are lost as unsupported.
    /// Returns: the number to name it by, from 0.
    /// Errors:  kExhausted at max_queues, or where memory or the backend's reserve() refuses.
    /// Cost:    cold: allocates.
    [[nodiscard]] Result<uint32_t> add_queue(Queue queue, TrackId track);

    /// Step that spans begun from now on belong to.
    void set_step(uint32_t step) noexcept { step_.store(step, std::memory_order_relaxed); }

    /// Begins a span: queues a stamp. Null, and nothing is begun, where the level is below `needed`. `tag` comes back
    /// in the span's record. Cost:    hot: one load when off; else one driver call (mark), no lock, no allocation, no
    /// read-modify-write. Once
    /// a
    ///          harvest also a reading of the host clock.
    DeviceToken begin(uint32_t queue, SiteId site, Level needed = Level::kKernel, uint32_t tag = 0) noexcept {
        if (detail::g_level.load(std::memory_order_relaxed) < static_cast<uint8_t>(needed)) return {};
        Entry& entry = *queues_[queue];
        entry.core.begun.add();
        if (entry.core.attention.load(std::memory_order_relaxed) != 0) [[unlikely]]
            return begin_attending(entry, site, tag);
        return open(entry, site, tag);
    }

    /// Ends a span: queues its second stamp. Null tokens are ignored; stale, doubly used and foreign ones are refused
    /// and counted. A span may end while the level is lower than it was at its begin. Cost:    hot: one driver call.
    void end(uint32_t queue, DeviceToken token) noexcept {
        Entry& entry = *queues_[queue];
        detail::DeviceQueue& core = entry.core;
        const uint32_t index = token.slot - core.first_token;
        const uint32_t generation = token.generation ^ salt_;
        if (index >= core.ring.max() || !core.ring.is_open(index, generation)) [[unlikely]] {
            if (token.slot != detail::kNoSlot) core.refused.add();
            return;
        }
        if ((core.attention.load(std::memory_order_relaxed) & detail::kAttendStop) != 0) [[unlikely]]
            return drop_stopped(entry, index, generation);
        if (backend_.is_capturing(entry.queue)) [[unlikely]]
            return drop(entry, index, LossReason::kCapture);
        if (!backend_.mark(entry.queue, core.first_stamp + 2 * index + 1)) [[unlikely]]
            return drop(entry, index, LossReason::kDriverError);
        core.ring.close(index, generation);
    }

    /// Times a command that carries both its times, by what stands for it (an OpenCL event): queues nothing. Its span
    /// begins and ends here as far as the ring is concerned. False where nothing was begun, or it is lost already.
    /// Shape:   for backends that have `bool adopt(queue, command, begin_slot, end_slot) noexcept`. Such spans bring no
    ///          bracket: the first harvest takes the driver's pair of clocks, and calibrate() keeps up with drift.
    /// Cost:    hot: one driver call (adopt).
    template <class Command>
    bool adopt(uint32_t queue, const Command& command, SiteId site, Level needed = Level::kKernel,
               uint32_t tag = 0) noexcept requires requires(B& backend, Queue& handle) {
        backend.adopt(handle, command, uint32_t{}, uint32_t{});
    }
    {
        if (detail::g_level.load(std::memory_order_relaxed) < static_cast<uint8_t>(needed)) return false;
        Entry& entry = *queues_[queue];
        detail::DeviceQueue& core = entry.core;
        core.begun.add();
        if ((core.attention.load(std::memory_order_relaxed) & ~uint32_t{detail::kAttendBracket}) != 0) [[unlikely]] {
            if (const detail::MaybeLost stopped = core.attend(); stopped.lost())
                return lose(entry, stopped.reason()).slot != detail::kNoSlot;
        }
        const detail::SlotRing::FreeSlot found = core.ring.find_free();
        if (found.index == detail::kNoSlot) [[unlikely]]
            return lose(entry, LossReason::kRingFull).slot != detail::kNoSlot;
        const uint32_t first = core.first_stamp + 2 * found.index;
        if (!backend_.adopt(entry.queue, command, first, first + 1)) [[unlikely]]
            return lose(entry, LossReason::kDriverError).slot != detail::kNoSlot;
        core.adopted.add();
        core.ring.take(found, detail::kClosed, site, step_.load(std::memory_order_relaxed), tag);
        core.ring.push(found.index);
        return true;
    }

    /// Starts a chain: queues the stamp at which the first lap begins. A queue has one chain at a time; the earlier one
    /// is over. Null where the level is below `needed`.
    LapChain lap_begin(uint32_t queue, Level needed = Level::kKernel) noexcept;

    /// Ends an op: queues one stamp; the span of `site` begins at the chain's previous stamp. Where that one is missing
    /// (ring full, capture, ...) this op is lost for the same reason, and its own stamp starts the chain anew. The laps
    /// of a chain that is over are lost as stale.
    /// Cost:    hot: one driver call.
    void lap(uint32_t queue, LapChain chain, SiteId site, Level needed = Level::kKernel, uint32_t tag = 0) noexcept;

    /// Queues stamps with nothing between them, `pairs` + 1 of them. What they read is harvested with the spans, into
    /// ClockInfo::floor_ns; no span comes of it. Ends the queue's chain of laps. Nothing happens where the level is off
    /// or basic, or no stamp can be taken; pairs beyond 16 a device are queued and not used.
    /// Cost:    cold: pairs + 1 driver calls. Once a device is enough.
    void measure_floor(uint32_t queue, uint32_t pairs = 8) noexcept;

    /// Writes the finished spans to `out`, per queue in the order in which they were ended, and returns how many.
    /// Shape:   stops at the first span of a queue whose stamps are not there yet, and when `out` is full.
    /// Units:   begin_ns: CLOCK_MONOTONIC by the alignment known now (see ClockAlignment).
    /// Cost:    cold: asks the backend for stamps, never waits; about 10 ns a span. Grows rings.
    std::size_t harvest(std::span<SpanRecord> out) noexcept;

    /// Takes the driver's pair of clocks for every clock of the device.
    /// Errors:  the backend's (kUnsupported with the reason); kExhausted where a harvest is under way.
    /// Cost:    cold, and a driver call that may be slow: now and then, not a step.
    Status calibrate();

    /// Gives up what was begun on `queue` and not ended, as abandoned. Called as begin and end are.
    void reclaim(uint32_t queue) noexcept { queues_[queue]->core.drop_all_open(LossReason::kAbandoned); }

    /// Gives up everything in flight, as abandoned: the end of the ring's work.
    void abandon_all() noexcept;

    /// Takes up work after a device was lost or reset; until then nothing touches it. Spans begun before stay lost, and
    /// the clock is taken for a new one.
    void restart() noexcept;

    [[nodiscard]] DeviceRingStats stats() const noexcept;
    [[nodiscard]] DeviceQueueInfo info(uint32_t queue) const noexcept;

private:
    friend struct detail::RingInspector;    // defined by tests only
    static constexpr uint32_t kBatch = 64;
    static constexpr uint64_t kMaintainEvery = 256;    // harvests

    struct Entry {
        Entry(Queue handle, const DeviceRingOptions& options)
            : queue(std::move(handle)), core(options.initial_spans, options.max_spans) {}
        Queue queue;
        detail::DeviceQueue core;
    };
    // Arrays of one batch; members, so that a harvest does not clear them each time.
    struct Scratch {
        uint32_t index[kBatch];
        uint32_t ask[kBatch];
        detail::SlotState state[kBatch];
        Stamp begin[kBatch];
        Stamp end[kBatch];
        Stamp answer[kBatch];
    };

    DeviceToken open(Entry& entry, SiteId site, uint32_t tag) noexcept {
        detail::DeviceQueue& core = entry.core;
        if (backend_.is_capturing(entry.queue)) [[unlikely]]
            return lose(entry, LossReason::kCapture);
        const detail::SlotRing::FreeSlot found = core.ring.find_free();
        if (found.index == detail::kNoSlot) [[unlikely]]
            return lose(entry, LossReason::kRingFull);
        if (!backend_.mark(entry.queue, core.first_stamp + 2 * found.index)) [[unlikely]]
            return lose(entry, LossReason::kDriverError);
        const uint32_t generation =
            core.ring.take(found, detail::kOpen, site, step_.load(std::memory_order_relaxed), tag);
        return {core.first_token + found.index, generation ^ salt_};
    }
    [[gnu::noinline, gnu::cold]] DeviceToken lose(Entry& entry, LossReason reason) noexcept {
        entry.core.lose(reason);
        entry.core.begun_without_stamp.add();
        return {};
    }
    [[gnu::noinline, gnu::cold]] void drop(Entry& entry, uint32_t index, LossReason reason) noexcept {
        entry.core.lose(reason);
        entry.core.ring.drop_open(index);
    }
    [[gnu::noinline, gnu::cold]] void drop_stopped(Entry& entry, uint32_t index, uint32_t generation) noexcept;
    [[gnu::noinline, gnu::cold]] DeviceToken begin_attending(Entry& entry, SiteId site, uint32_t tag) noexcept;
    [[gnu::noinline, gnu::cold]] void lap_attending(Entry& entry, LapChain chain, SiteId site, uint32_t tag) noexcept;
    detail::MaybeLost push_stamp(Entry& entry, detail::SlotState state, SiteId site, uint32_t tag) noexcept;

    std::size_t harvest_queue(Entry& entry, std::span<SpanRecord> out) noexcept;
    uint32_t resolve(Entry& entry, uint32_t count) noexcept;
    void maintain(Entry& entry, HostNs now) noexcept;
    void lose_device() noexcept;
    [[nodiscard]] bool reserve(uint32_t first, uint32_t count) noexcept;
    [[nodiscard]] detail::DeviceTimeline* timeline_for(const Caps& caps, const TickScale& scale);
    [[nodiscard]] HostNs now() const noexcept {
        return options_.now != nullptr ? options_.now(options_.now_context) : host_now();
    }

    B& backend_;
    DeviceRingOptions options_;
    uint32_t salt_;    // mixed into tokens, so that another ring's are refused
    HostNs created_;
    std::atomic<uint32_t> step_{kNoStep};
    std::atomic<uint32_t> queue_count_{0};
    std::unique_ptr<std::unique_ptr<Entry>[]> queues_;
    std::vector<std::unique_ptr<detail::DeviceTimeline>> timelines_;
    alignas(64) detail::AtomicFlag harvesting_ = ATOMIC_FLAG_INIT;
    uint64_t harvests_ = 0;
    std::unique_ptr<Scratch> scratch_;
};

}    // namespace lapwing

#include "lapwing/detail/device_ring_cold.hpp"    // IWYU pragma: keep
