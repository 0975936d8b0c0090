// Live statistics of bricks, the named operations of an inference step, on the host's clock or a device's.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lapwing/brick_snapshot.hpp"
#include "lapwing/brick_stats.hpp"
#include "lapwing/detail/brick_records.hpp"
#include "lapwing/device_ring.hpp"
#include "lapwing/op_work.hpp"
#include "lapwing/process_sites.hpp"
#include "lapwing/result.hpp"
#include "lapwing/sink.hpp"
#include "lapwing/span.hpp"

namespace lapwing {

struct BrickProfilerOptions {
    bool enabled = false;                ///< recording from the start
    uint32_t warmup_samples = 0;         ///< first samples of each brick on each clock, kept apart
    uint16_t max_named_bricks = 1000;    ///< names beside the 23 ids; <= 60000
    /// Records a thread may hold while it cannot fold them: with a sink, between two flushes. Units: bytes, 32 a
    /// record.
    std::size_t max_record_bytes = std::size_t{4} << 20;
    std::size_t max_pending = std::size_t{1} << 20;    ///< deferred records of a thread between two finalize()
};

/// Where a profiler's samples go as spans.
struct BrickSinkOptions {
    SiteTable* sites = nullptr;    ///< the recording's numbers, shared with its other producers; null: none other
    TrackId first_track = 1;       ///< of the first thread; further threads count up. Leave room for them
    bool whole_recording =
        true;    ///< the only producer: announces the process, writes the final stats, closes the sink
};

/// A brick under way. Plain data of 16 bytes; a default one is off, and stopping it does nothing.
struct BrickTimer {
    uint64_t begin = 0;    ///< tick; on a device the tag of its span
    detail::BrickPlace around;
    uint16_t brick = detail::kNoBrick;
    uint8_t state = 0;
};
static_assert(sizeof(BrickTimer) <= 32 && sizeof(BrickId) == 1);

namespace detail {
class BrickDeviceView;
}

/// One queue of a device that times bricks; DeviceBricks<B> is one.
class BrickDevice {
public:
    virtual DeviceToken begin(SiteId site, uint32_t tag) noexcept = 0;
    virtual void end(DeviceToken token) noexcept = 0;

protected:
    ~BrickDevice() = default;
};

/// Statistics of bricks. Starts off, unless told otherwise, in SyncMode::kDeferred.
///
/// A thread writes a record a brick and folds 256 of them at a time into statistics of its own; snapshot() folds what
/// is left and merges. With a sink, threads only write, flush() folds, and every sample also goes out as a span, with
/// the same nanoseconds: `lapwing report --by brick` on the recording prints the same counts and sums.
///
/// Shape:   not movable. Bricks nest: exclusive time is that of a brick without those inside it, on each thread.
/// Nesting
///          is by order of start and stop; a stop out of order is counted (`overlapping`) and nests in nothing.
/// Units:   nanoseconds; ticks of the host clock are converted when they are folded.
/// Errors:  a sample that cannot be right is refused: its BrickFault is returned and counted.
/// Cost:    off: one relaxed load, no clock, no allocation. On: two clock reads, one record of 32 bytes, and the fold,
///          together some 1.5 times two clock reads; a thread's first brick allocates. No lock that another thread
///          could hold is waited for.
/// Threads: everything from any thread; a timer is stopped on the thread that started it, or its time is judged by two
///          threads' clocks. configure-like calls (enable, set_sync_mode, bind_device, attach) reach bricks begun
///          later.
class BrickProfiler {
public:
    explicit BrickProfiler(const BrickProfilerOptions& options = {});
    ~BrickProfiler();
    BrickProfiler(const BrickProfiler&) = delete;
    BrickProfiler& operator=(const BrickProfiler&) = delete;

    void enable() noexcept;
    void disable() noexcept;
    [[nodiscard]] bool is_enabled() const noexcept { return state_.load(std::memory_order_relaxed) != 0; }

    // --- Fast path -------------------------------------------------------------------------------------------------

    /// Begins a brick. Off: a null timer. A key that this profiler never gave makes a null timer, and is counted.
    template <class TickSource = detail::HostTick>
    [[nodiscard]] [[gnu::always_inline]] BrickTimer start_brick(BrickId id) noexcept {
        return start_known<TickSource>(static_cast<uint16_t>(id), kBrickIdCount);
    }
    template <class TickSource = detail::HostTick>
    [[nodiscard]] [[gnu::always_inline]] BrickTimer start_brick(BrickKey key) noexcept {
        return start_known<TickSource>(key.value(), key_count_.load(std::memory_order_relaxed));
    }

    /// Ends a brick. Shape: elements > 0. Null timers are ignored.
    /// Errors:  kNoElements, kAlreadyStopped, kRecordsFull; what shows only when records are folded (kNegativeDuration,
    ///          kOverflow) is counted alone.
    template <class TickSource = detail::HostTick>
    [[gnu::always_inline]] BrickFault stop_brick(BrickTimer& timer, uint64_t elements) noexcept {
        // What is rare gets a copy, so that the timer itself may live in registers.
        const BrickTimer started = timer;
        if (started.state == 0) return BrickFault::kNone;
        timer.state = detail::kBrickStopped;
        if ((started.state & detail::kBrickSpecial) != 0) [[unlikely]]
            return stop_special(started, {.elements = elements});
        const uint64_t end = TickSource::now();
        detail::BrickThread* const thread = detail::t_brick_thread;
        if (thread->profiler != serial_ || thread->place != started.around.with_brick(started.brick) || elements == 0)
            [[unlikely]]
            return stop_unusual(started, end, {.elements = elements});
        detail::BrickChunk* chunk = thread->open;
        uint32_t count = chunk->count.load(std::memory_order_relaxed);
        if (count == detail::BrickChunk::kRecords) [[unlikely]] {
            chunk = next_chunk(*thread);
            if (chunk == nullptr) return stop_unusual(started, end, {.elements = elements});
            count = chunk->count.load(std::memory_order_relaxed);
        }
        thread->place = started.around;
        detail::BrickRecord& record = chunk->records[count];
        record.begin = started.begin;
        record.ticks = end - started.begin;
        record.elements = elements;
        record.what = detail::BrickRecord::pack(started.brick, started.around, mode_of(started));
        // Release: a reader that sees the count sees the record.
        chunk->count.store(count + 1, std::memory_order_release);
        return BrickFault::kNone;
    }

    /// As above, with bytes and cycles; `work.ns` and `work.mode` are not used.
    BrickFault stop_brick(BrickTimer& timer, const BrickSample& work) noexcept;

    // --- By name ---------------------------------------------------------------------------------------------------

    /// The key of a name: its BrickId, a registered brick, or a new one of category Other.
    /// Errors:  kInvalidArgument for an empty name, kExhausted at max_named_bricks.
    [[nodiscard]] Result<BrickKey> brick(std::string_view name);
    /// Adds a category, or finds it. Errors: kInvalidArgument for an empty name, kExhausted beyond 64.
    [[nodiscard]] Result<BrickCategory> register_category(std::string_view name);
    /// Adds a brick of a category. Errors: as brick(); kInvalidArgument where the name is known with another category.
    [[nodiscard]] Result<BrickKey> register_brick(std::string_view name, BrickCategory category);

    /// start_brick() by name. Cost: a lookup in the thread's own table; off: one relaxed load. Ends with stop().
    [[nodiscard]] BrickTimer start(std::string_view name) noexcept;
    BrickFault stop(BrickTimer& timer, uint64_t elements) noexcept { return stop_brick(timer, elements); }

    /// A sample that the caller timed. Off: nothing. Units: ns. Errors: as stop_brick(), at once.
    BrickFault record_elapsed(std::string_view name, int64_t duration_ns, uint64_t elements) noexcept;
    BrickFault record_elapsed_with_bytes(std::string_view name, int64_t duration_ns, uint64_t elements,
                                         uint64_t input_bytes, uint64_t output_bytes) noexcept;
    BrickFault record(BrickKey key, const BrickSample& sample) noexcept;

    /// Errors:  kNotFound for a name without samples.
    Status set_brick_bottleneck(std::string_view name, BrickBottleneck bottleneck);
    /// The work of one execution, for rooflines; goes into the sites of the brick's spans, so that reports of a
    /// recording show GFLOP/s and GB/s. Reaches sites that are made later: set it before the brick is first recorded.
    /// Errors:  as brick().
    Status set_brick_work(std::string_view name, const OpWork& work);

    // --- Waiting and layers ----------------------------------------------------------------------------------------

    /// The function that waits for the device: a stream's or a queue's "wait idle". Null: none.
    using SyncFunction = void (*)(void* context);
    void set_sync_function(SyncFunction function, void* context) noexcept;
    /// Errors:  kInvalidArgument for kImmediate and kPerLayer without a sync function: nothing would wait.
    Status set_sync_mode(SyncMode mode);
    [[nodiscard]] SyncMode sync_mode() const noexcept;

    /// Bricks of this thread belong to `layer` (0..32767) until end_layer(). In kPerLayer, end_layer() waits, and the
    /// layer's time is kept (BrickSnapshot::layers).
    void begin_layer(int32_t layer) noexcept;
    void end_layer() noexcept;

    // --- Deferred --------------------------------------------------------------------------------------------------

    /// Times a brick's start against this moment. Starts as the construction.
    void reset_epoch() noexcept;
    /// ns since the epoch.
    [[nodiscard]] uint64_t elapsed_ns() const noexcept;
    /// Notes the start of a brick whose end only a wait will tell. Units: ns since the epoch. Off: nothing.
    BrickFault record_deferred(BrickKey key, uint64_t start_ns, uint64_t elements) noexcept;
    BrickFault record_deferred_dynamic(std::string_view name, uint64_t start_ns, uint64_t elements) noexcept;
    /// Ends all of them: each is charged max(0, end_ns - start_ns), as BrickStats::until_sync_ns, since they overlap.
    void finalize(uint64_t end_ns);
    [[nodiscard]] bool has_pending() const { return pending_count() != 0; }
    [[nodiscard]] std::size_t pending_count() const;

    /// While a device is bound and the mode is kDeferred, bricks are timed by its stamps; give device_view() what its
    /// queue's harvest yields (DeviceSpanCollector). Null: none. Shape: outlives the bricks begun on it; bricks then
    /// run on the thread that records into that queue.
    void bind_device(BrickDevice* device) noexcept;
    /// Takes harvested spans, and leaves those that are no bricks of this profiler alone. Never closed or failed.
    [[nodiscard]] SpanSink& device_view() noexcept;

    // --- Totals and observations -----------------------------------------------------------------------------------

    /// Tokens that were really produced or read, which elements of bricks do not tell: once a step.
    void add_tokens(uint64_t count) noexcept;
    void set_l2_cache_hit_rate(double rate) noexcept;    ///< clamped to 0..1; NaN is ignored
    void set_zero_copy(bool on) noexcept;

    /// Everything as of now, as one.
    [[nodiscard]] BrickSnapshot snapshot() const;

    /// Forgets all samples, totals, faults, layers, bottlenecks, observations and pending records; begins warm-up and
    /// the epoch again. Names, categories, modes and bindings stay. What a sink was owed is flushed first.
    void reset();

    // --- As spans --------------------------------------------------------------------------------------------------

    /// From now on every host sample also goes to `sink`, at flush(), snapshot() and detach(). Device samples are
    /// already spans of their collector. Shape: the sink outlives the attachment, is called under the profiler's lock,
    /// and so must not feed this profiler's own device_view(). Errors: kInvalidArgument where one is attached.
    Status attach(SpanSink& sink, const BrickSinkOptions& options = {});
    /// Hands over what is finished: once a step. Errors: the sink's first, each time.
    Status flush();
    /// Flushes, in a whole recording writes the stats and closes the sink, and lets go of it.
    Status detach();
    /// Samples that are in the statistics and not in the sink: `ring_full` where flush() came too late, `abandoned`
    /// where the sink refused them.
    [[nodiscard]] LossCounts lost_spans() const;

private:
    friend class detail::BrickDeviceView;
    struct State;
    /// How a record nests: in the brick it names, in the one that is open now, or in none.
    enum class Nesting : uint8_t { kAsRecorded, kInsideCurrent, kNone };

    template <class TickSource>
    [[gnu::always_inline]] BrickTimer start_known(uint16_t key, uint16_t keys) noexcept {
        BrickTimer timer;
        const uint8_t state = state_.load(std::memory_order_relaxed);
        if (state == 0) return timer;
        detail::BrickThread* thread = detail::t_brick_thread;
        if (thread->profiler != serial_) [[unlikely]]
            thread = find_thread();
        if (key >= keys) [[unlikely]] {
            count_fault(BrickFault::kUnknownBrick);
            return timer;
        }
        timer.state = state;
        timer.brick = key;
        timer.around = thread->place;
        thread->place = timer.around.with_brick(key);
        if ((state & detail::kBrickOnDevice) != 0) [[unlikely]]
            timer.begin = start_on_device(*thread, key, timer.around.brick());
        else
            timer.begin = TickSource::now();
        return timer;
    }

    // The flags of a plain record: the mode in which it was begun.
    [[nodiscard]] static uint16_t mode_of(const BrickTimer& timer) noexcept { return (timer.state >> 1) & 3u; }

    [[nodiscard]] detail::BrickThread& this_thread() noexcept {
        detail::BrickThread* const thread = detail::t_brick_thread;
        return thread->profiler == serial_ ? *thread : *find_thread();
    }
    [[gnu::cold, gnu::noinline]] detail::BrickThread* find_thread() noexcept;
    [[gnu::cold, gnu::noinline]] detail::BrickChunk* next_chunk(detail::BrickThread& thread) noexcept;
    [[gnu::noinline]] uint64_t start_on_device(detail::BrickThread& thread, uint16_t key, uint16_t parent) noexcept;
    [[gnu::noinline]] BrickFault stop_special(BrickTimer started, const BrickSample& work) noexcept;
    [[gnu::noinline]] BrickFault stop_unusual(BrickTimer started, uint64_t end, const BrickSample& work) noexcept;
    [[gnu::noinline]] BrickFault stop_on_device(BrickTimer started, const BrickSample& work) noexcept;
    [[nodiscard]] Nesting leave(BrickTimer started) noexcept;
    BrickFault write(detail::BrickRecord record, const BrickSample& work, Nesting nesting) noexcept;
    [[nodiscard]] std::optional<BrickKey> key_on_thread(std::string_view name) noexcept;
    BrickFault count_fault(BrickFault fault) noexcept;
    void publish_state() noexcept;

    std::atomic<uint8_t> state_{0};
    std::atomic<uint16_t> key_count_{kBrickIdCount};
    const uint64_t serial_;
    const std::unique_ptr<State> impl_;
};

/// Times the rest of the enclosing block as a brick.
class [[nodiscard]] BrickScope {
public:
    [[gnu::always_inline]] BrickScope(BrickProfiler& profiler, BrickKey key, uint64_t elements) noexcept
        : profiler_(profiler), elements_(elements), timer_(profiler.start_brick(key)) {}
    [[gnu::always_inline]] ~BrickScope() { (void)profiler_.stop_brick(timer_, elements_); }
    BrickScope(const BrickScope&) = delete;
    BrickScope& operator=(const BrickScope&) = delete;

private:
    BrickProfiler& profiler_;
    uint64_t elements_;
    BrickTimer timer_;
};

#define LAPWING_BRICK(profiler, key, elements) \
    const ::lapwing::BrickScope LAPWING_DETAIL_JOIN(lapwing_brick_, __LINE__)((profiler), (key), (elements))

}    // namespace lapwing
