// The telemetry hub: what an inference server counts and times of itself while it serves, off, cheap or in detail.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "lapwing/device_ring.hpp"
#include "lapwing/kernel_table.hpp"
#include "lapwing/level.hpp"
#include "lapwing/range_hooks.hpp"
#include "lapwing/result.hpp"
#include "lapwing/seq_cell.hpp"
#include "lapwing/sink.hpp"
#include "lapwing/telemetry_config.hpp"
#include "lapwing/telemetry_figures.hpp"

namespace lapwing {

class Telemetry;

/// Phases that are told apart, and streams and devices that may be installed.
inline constexpr uint32_t kMaxPhases = 32;
inline constexpr uint32_t kMaxStreams = 16;
inline constexpr uint32_t kMaxTelemetryDevices = 16;

/// Times what happens until its end, where telemetry was on at its begin. Not to be copied; return and keep it as it
/// is. Threads: ends on any thread.
class [[nodiscard]] TelemetryScope {
public:
    TelemetryScope(const TelemetryScope&) = delete;
    TelemetryScope& operator=(const TelemetryScope&) = delete;
    ~TelemetryScope() {
        if (hub_ != nullptr) [[unlikely]]
            finish();
    }

private:
    friend class Telemetry;
    enum class What : uint8_t { kPhase, kStreamSync, kCopy, kGraphCapture };
    TelemetryScope() noexcept = default;
    TelemetryScope(Telemetry* hub, What what, uint32_t index, uint64_t amount) noexcept;
    void finish() noexcept;

    Telemetry* hub_ = nullptr;
    int64_t begin_ns_ = 0;
    uint64_t amount_ = 0;
    uint32_t index_ = 0;
    What what_ = What::kPhase;
};

/// A kernel's span that was begun. The default is null: ending it does nothing.
struct KernelSpan {
    DeviceToken token;
    uint32_t stream = 0;
};

/// A stream of device work as telemetry drives it: see TelemetryStream, which makes one of a backend's queue.
class TelemetryQueue {
public:
    virtual ~TelemetryQueue() = default;
    virtual void lane_begin(uint32_t lane) noexcept = 0;
    virtual void lane_end(uint32_t lane) noexcept = 0;
    virtual void begin_step(uint32_t step) noexcept = 0;    ///< ends the lanes that are open
    virtual DeviceToken kernel_begin(SiteId site) noexcept = 0;
    virtual void kernel_end(DeviceToken token) noexcept = 0;
    virtual Status harvest() noexcept = 0;
    virtual bool busy() const noexcept = 0;    ///< something is open or in flight

    virtual const void* ring() const noexcept = 0;    ///< streams of one ring are harvested and counted once
    virtual DeviceRingStats ring_stats() const noexcept = 0;
    virtual LaneStats lane_stats() const noexcept = 0;
    virtual uint32_t device() const noexcept = 0;                   ///< DeviceInfo::id
    virtual const char* unsupported_reason() const noexcept = 0;    ///< static; empty where there are timestamps
};

/// Counters, histograms and device spans of one server.
///
/// A server has one, telemetry(); tests have their own, with a clock of theirs. The process-wide level decides what is
/// recorded: at `basic` the host's counters and times, at `lane` a device span a lane and step too, at `kernel` a
/// device span a kernel on armed steps. It may change at any moment, by configure() or set_level(): raised, everything
/// starts at its next begin; lowered, what is open ends as it would have, and what is in flight is still harvested.
///
/// Shape:   constant-initialised; memory is taken when it is first configured or used (1 MB), and 30 KB a kernel.
/// Cost:    hot: every entry point is one relaxed load and a branch when off (lane_end and step_begin look at one more
///          flag). On: some relaxed adds; where a duration is measured, two clock reads; no lock, no allocation, except
///          for a kernel that is seen for the first time.
/// Threads: entry points: any, but that a stream's calls are synchronised as the stream itself is, and step_begin()
/// with
///          those of all streams. snapshot: any, and holds nobody up. What is said to be for setting up: one at a time,
///          before the entry points are used or while nobody is in them.
class Telemetry {
public:
    /// Units:   ns of any steady clock.
    using Clock = int64_t (*)() noexcept;

    constexpr Telemetry() noexcept = default;
    /// `clock`: null for CLOCK_MONOTONIC.
    constexpr explicit Telemetry(Clock clock, const KernelTableOptions& kernels = {}) noexcept
        : clock_(clock), kernel_options_(kernels) {}
    ~Telemetry();
    Telemetry(const Telemetry&) = delete;
    Telemetry& operator=(const Telemetry&) = delete;

    // Setting up.

    /// Disarms, sets the stride, then the process-wide level. The first step after it is armed.
    void configure(const TelemetryConfig& config) noexcept;
    [[nodiscard]] TelemetryConfig config() const noexcept { return config_.load().value; }

    /// A lane of your own, behind the built-in ones. Returns its number.
    /// Errors:  kInvalidArgument for an empty name, or one that is taken, or once streams are installed: they know the
    ///          lanes that were there; kExhausted at kMaxLanes.
    [[nodiscard]] Result<uint32_t> add_lane(std::string_view name);
    /// Errors:  kNotFound: names those there are.
    [[nodiscard]] Result<uint32_t> lane(std::string_view name) const;
    /// The name of a lane; empty where there is none.
    [[nodiscard]] std::string_view name_of_lane(uint32_t lane) const noexcept;

    /// Names the phases by their index. The first call wins; phases beyond 32 share the last, "other".
    /// Errors:  kInvalidArgument for an empty or doubled name, or where they are named already.
    Status name_phases(std::span<const std::string_view> names);

    /// Puts a stream to work. Returns its number. It outlives its use here.
    /// Errors:  kExhausted at kMaxStreams.
    [[nodiscard]] Result<uint32_t> install(TelemetryQueue& stream);
    /// Takes it away; its number may be given out again. What it has in flight is its owner's to harvest.
    void uninstall(TelemetryQueue& stream) noexcept;

    /// Where the device spans go that telemetry shall know: the sink of a DeviceSpanCollector, by itself or beside a
    /// recording in a SpanTee. Several collectors share one SiteTable and have tracks of their own. It may as well be
    /// fed a recording.
    [[nodiscard]] SpanSink& sink();

    [[nodiscard]] KernelTable& kernels();

    /// Wraps the lanes of the calling thread in somebody else's ranges from their next begin on; null: no more.
    void set_range_hooks(const RangeHooks* hooks) noexcept { ranges_.store(hooks, std::memory_order_release); }
    [[nodiscard]] const RangeHooks* range_hooks() const noexcept { return ranges_.load(std::memory_order_acquire); }

    // A step of the scheduler: device spans.

    /// A step begins: harvests what has arrived, ends lanes that were left open, and decides whether the kernels of
    /// this step are timed. Returns that decision: the first step at level kernel is armed, then every Nth.
    /// Cost:    off: two loads; on: the collectors' harvests, with all that their sinks do.
    bool step_begin() noexcept {
        if (!lane_spans() && !unsettled_.load(std::memory_order_relaxed)) [[likely]]
            return false;
        return begin_step();
    }
    [[nodiscard]] bool kernel_spans_armed() const noexcept {
        return at(Level::kKernel) && armed_.load(std::memory_order_relaxed);
    }
    [[nodiscard]] bool lane_spans() const noexcept { return at(Level::kLane); }
    [[nodiscard]] uint32_t kernel_span_every() const noexcept { return config().kernel_span_every(); }

    /// Shape:   a lane that does not exist, is begun twice or ended without a begin is counted (LaneStats).
    void lane_begin(uint32_t lane, uint32_t stream = 0) noexcept {
        if (lane_spans()) [[unlikely]]
            begin_lane(lane, stream);
    }
    void lane_end(uint32_t lane, uint32_t stream = 0) noexcept {
        if (lane_spans() || unsettled_.load(std::memory_order_relaxed)) [[unlikely]]
            end_lane(lane, stream);
    }

    /// A kernel is launched: counts it, and begins its span in an armed step. `kernel` is of kernels().
    [[nodiscard]] KernelSpan kernel_begin(KernelId kernel, uint32_t stream = 0) noexcept {
        if (!at(Level::kKernel)) [[likely]]
            return {};
        return begin_kernel(kernel, stream);
    }
    /// The same by the driver's handle of the kernel (KernelTable::name_handle says its name).
    [[nodiscard]] KernelSpan handle_begin(uint64_t handle, uint32_t stream = 0) noexcept {
        if (!at(Level::kKernel)) [[likely]]
            return {};
        return begin_handle(handle, stream);
    }
    /// Ends it, also where the launch itself has failed, and whatever the level is by now.
    void kernel_end(const KernelSpan& span) noexcept {
        if (span.token.slot != detail::kNoSlot) [[unlikely]]
            end_kernel(span);
    }

    // The host's side. Those that return a scope measure until its end; record_... take a duration in ns.

    void tokens(TokenKind kind, uint64_t count) noexcept {
        if (on()) [[unlikely]]
            add_tokens(kind, count);
    }
    /// Shape:   indices of 32 and more go to the last phase.
    TelemetryScope phase(uint32_t index) noexcept { return scope(TelemetryScope::What::kPhase, index, 0); }
    void record_phase(uint32_t index, int64_t ns) noexcept {
        if (on()) [[unlikely]]
            add_phase(index, ns);
    }
    void sched_tick(const SchedulerTick& tick) noexcept {
        if (on()) [[unlikely]]
            add_tick(tick);
    }
    /// The host waits for a stream.
    TelemetryScope stream_sync() noexcept { return scope(TelemetryScope::What::kStreamSync, 0, 0); }
    void record_stream_sync(int64_t ns) noexcept {
        if (on()) [[unlikely]]
            add_stream_sync(ns);
    }
    /// The host waits for a copy.
    TelemetryScope blocking_copy(CopyDirection direction, uint64_t bytes) noexcept {
        return scope(TelemetryScope::What::kCopy, static_cast<uint32_t>(direction), bytes);
    }
    void record_blocking_copy(CopyDirection direction, uint64_t bytes, int64_t ns) noexcept {
        if (on()) [[unlikely]]
            add_copy(direction, bytes, ns);
    }
    /// A graph is captured.
    TelemetryScope graph_capture() noexcept { return scope(TelemetryScope::What::kGraphCapture, 0, 0); }
    void record_graph_capture(int64_t ns) noexcept {
        if (on()) [[unlikely]]
            add_graph_capture(ns);
    }
    /// A captured graph of `kernels` kernels is launched; 0 = not known.
    void graph_replay(uint32_t kernels = 0) noexcept {
        if (on()) [[unlikely]]
            add_graph_replay(kernels);
    }
    /// Drafted tokens were checked. Shape: accepted <= drafted; else it is refused and counted.
    void spec_verified(uint32_t drafted, uint32_t accepted) noexcept {
        if (on()) [[unlikely]]
            add_verification(drafted, accepted);
    }
    void request_finished(const RequestFigures& request) noexcept {
        if (on()) [[unlikely]]
            add_request(request);
    }

    /// Everything known now. Reads what recorders have published: waits for no recorder, no device, no clock; only an
    /// install() or uninstall() is waited for.
    /// Cost:    cold: allocates; some microseconds a kernel.
    [[nodiscard]] TelemetrySnapshot snapshot() const;

private:
    friend class TelemetryScope;
    struct State;

    [[nodiscard]] static bool at(Level needed) noexcept {
        return detail::g_level.load(std::memory_order_relaxed) >= static_cast<uint8_t>(needed);
    }
    [[nodiscard]] static bool on() noexcept { return at(Level::kBasic); }
    [[nodiscard]] TelemetryScope scope(TelemetryScope::What what, uint32_t index, uint64_t amount) noexcept {
        if (!on()) [[likely]]
            return {};
        return {this, what, index, amount};
    }

    [[nodiscard]] int64_t now_ns() const noexcept;
    [[nodiscard]] State& state() noexcept;
    bool begin_step() noexcept;
    void begin_lane(uint32_t lane, uint32_t stream) noexcept;
    void end_lane(uint32_t lane, uint32_t stream) noexcept;
    [[nodiscard]] KernelSpan begin_kernel(KernelId kernel, uint32_t stream) noexcept;
    [[nodiscard]] KernelSpan begin_handle(uint64_t handle, uint32_t stream) noexcept;
    void end_kernel(const KernelSpan& span) noexcept;
    void add_tokens(TokenKind kind, uint64_t count) noexcept;
    void add_phase(uint32_t index, int64_t ns) noexcept;
    void add_tick(const SchedulerTick& tick) noexcept;
    void add_stream_sync(int64_t ns) noexcept;
    void add_copy(CopyDirection direction, uint64_t bytes, int64_t ns) noexcept;
    void add_graph_capture(int64_t ns) noexcept;
    void add_graph_replay(uint32_t kernels) noexcept;
    void add_verification(uint32_t drafted, uint32_t accepted) noexcept;
    void add_request(const RequestFigures& request) noexcept;

    Clock clock_ = nullptr;
    KernelTableOptions kernel_options_;
    SeqCell<TelemetryConfig> config_;
    std::atomic<State*> state_{nullptr};
    std::atomic<const RangeHooks*> ranges_{nullptr};
    std::atomic<bool> armed_{false};
    std::atomic<bool> unsettled_{false};    // something was begun that may still be open or in flight
};

/// The server's own. It is never destroyed: threads may be in it while the program ends.
[[nodiscard]] Telemetry& telemetry() noexcept;

}    // namespace lapwing
