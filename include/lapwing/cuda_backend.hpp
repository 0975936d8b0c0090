// The CUDA backend: stamps by pooled events of the driver API, turned into whole nanoseconds without waiting.
//
//     auto backend = lapwing::CudaBackend::create({.context = context});     // or {} for the thread's current context
//     auto queue = (*backend)->open_queue(stream);           // the stream that the work is launched on, never null
//     lapwing::DeviceRing ring(**backend);
//     auto number = ring.add_queue(*queue, track);
//     auto token = ring.begin(*number, site);
//     kernel<<<grid, block, 0, stream>>>(...);
//     ring.end(*number, token);
//     ... later, from any thread: ring.harvest() ...
//     (*backend)->shutdown();                                // before the context goes, and before exit
//
// No CUDA header is needed to read this, and nothing is linked: libcuda.so.1 is opened at run time. The runtime's
// streams and contexts are the driver's: a cudaStream_t is a CUstream_st*.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "lapwing/backend.hpp"
#include "lapwing/result.hpp"

struct CUctx_st;
struct CUstream_st;

namespace lapwing {

/// What CudaBackend needs from the program. The context stays the program's and must outlive shutdown().
struct CudaBackendOptions {
    /// The context whose streams are timed: one backend for each. Null = the primary context of `primary_device` where
    /// that is given (kept alive until shutdown()), else the context that is current on the calling thread.
    CUctx_st* context = nullptr;
    int primary_device = -1;    ///< ordinal; the runtime API works in the primary context

    /// Where the functions come from: by their symbol; null = libcuda.so.1, opened at run time.
    void* (*find_function)(const char* symbol) = nullptr;

    /// Longest time that create() and calibrate() look for a stamp of their own to arrive. Units: ns; 0 = one look.
    int64_t anchor_wait_ns = 1'000'000;

    /// The host clock, for tests and simulations; null = host_now().
    HostNs (*now)(void* context) noexcept = nullptr;
    void* now_context = nullptr;
};

/// Stamps of one CUDA context. Satisfies Backend.
///
/// cuEventElapsedTime answers in a float of milliseconds, which is coarse from an origin far away: 61 ns at a second,
/// half a millisecond at an hour. Ticks are therefore measured from the nearest of a chain of origins. Stamps become
/// origins as they pass, every 4 ms, and poll() adds one of its own every 100 ms.
///
/// Units:   ticks are ns, 64 bits, from an arbitrary start. Against the origin before it a stamp is exact to the
///          nanosecond within 8 ms, rounded by 4 ns within 128 ms, by 2^-25 of the gap beyond. Ticks of one context
///          never run backwards by rounding.
/// Threads: mark() and is_capturing() on the thread that launches on that stream; poll(), calibrate() and reserve() on
///          any one thread at a time; everything else while nobody else is at work.
class CudaBackend {
public:
    /// One stream. A cheap handle, valid as long as its backend.
    class Queue {
    public:
        Queue() = default;

    private:
        friend class CudaBackend;
        explicit Queue(void* stream) noexcept : stream_(stream) {}
        void* stream_ = nullptr;
    };

    /// What the backend did so far.
    struct Stats {
        uint64_t marks = 0;             ///< events recorded on the program's streams
        uint64_t refused = 0;           ///< mark() returned false
        uint64_t queries = 0;           ///< cuEventQuery and cuEventElapsedTime
        uint64_t failed = 0;            ///< stamps that ended with an error of their own
        uint64_t origins = 0;           ///< links of the chain so far
        uint64_t coarse_origins = 0;    ///< links longer than 128 ms: no stamp and no poll in between
        uint64_t heartbeats = 0;        ///< origins recorded by poll() on the backend's own stream
        uint64_t events_held = 0;       ///< driver events that exist now
    };

    /// Errors:  kInvalidArgument where there is no context; kNotFound without a driver; kUnsupported where the driver
    ///          is a stub, too old or lacks a function; kDriver with the driver's code.
    /// Cost:    cold: a stream of its own (non-blocking), an event, and anchor_wait_ns at most.
    [[nodiscard]] static Result<std::unique_ptr<CudaBackend>> create(const CudaBackendOptions& options);

    /// Touches no driver: it may be gone by now (static destructors). What is still held is leaked on purpose; call
    /// shutdown() first.
    ~CudaBackend();
    CudaBackend(const CudaBackend&) = delete;
    CudaBackend& operator=(const CudaBackend&) = delete;

    /// A sequence of stamps on one stream. The stream is always explicit: null is refused, since work on a non-blocking
    /// stream passes an event on the default stream by, and spans of nearly 0 come of it. Whoever does launch on the
    /// default stream says so: 0x1 (CU_STREAM_LEGACY), or 0x2 (CU_STREAM_PER_THREAD: marked only on the thread that
    /// launches).
    /// Errors:  kInvalidArgument where the stream is null or of another context; kDriver; kDeviceLost.
    [[nodiscard]] Result<Queue> open_queue(CUstream_st* stream);

    /// Before the program destroys the stream: mark() refuses from here on. What is in flight still arrives.
    void close_queue(Queue& queue) noexcept;

    /// Destroys the events and the own stream. Idempotent; mark() refuses afterwards, and what was pending has failed.
    /// Where the context is gone it touches nothing.
    void shutdown() noexcept;

    /// ok() while the context works; else kDeviceLost with the driver's first code, the call and what it means. From
    /// then on the driver is not called again.
    [[nodiscard]] Status health() const;

    [[nodiscard]] Stats stats() const noexcept;

    /// cold: 1 ns a tick, 64 bits; the driver documents a resolution of about 500 ns.
    [[nodiscard]] Caps caps(const Queue& queue) const;

    /// cold: makes slots first .. first + count - 1 usable: 40 bytes and one event each, kept and used again. False
    /// where memory or the driver refuses, or beyond 2^24. A DeviceRing calls it.
    [[nodiscard]] bool reserve(uint32_t first, uint32_t count) noexcept;

    /// hot: records the slot's event on the stream, one driver call. False where the driver refuses, the slot was not
    /// reserved, the queue is closed or the context lost. Not on a capturing stream: ask is_capturing() first.
    bool mark(Queue& queue, uint32_t slot) noexcept;

    /// cold: asks cuEventQuery, once for a whole batch of a stream, and reads times of what is complete. Enters the
    /// relaxed capture mode meanwhile, so that no other thread's capture is spoiled. Never waits.
    void poll(std::span<const uint32_t> slots, std::span<Stamp> out) noexcept;

    /// cold: an event on the backend's own stream, bracketed by the host's clock. Looks for it for anchor_wait_ns.
    /// Errors:  kPending where the device did not get to it in that time: call again later; kDeviceLost; kDriver.
    [[nodiscard]] Result<ClockAnchor> calibrate(Queue& queue);

    /// hot, one driver call: whether a stamp would become a node of a graph, or spoil a capture. The default stream
    /// counts as capturing while one that it synchronises with is.
    [[nodiscard]] bool is_capturing(const Queue& queue) const noexcept;

private:
    struct Impl;
    explicit CudaBackend(std::unique_ptr<Impl> impl) noexcept;
    std::unique_ptr<Impl> impl_;
};

}    // namespace lapwing
