// The OpenCL backend: times of the program's own events and of markers, read without ever waiting.
//
//     auto backend = lapwing::OpenClBackend::create({.context = context, .device = device});
//     auto queue = (*backend)->open_queue(command_queue);        // made with CL_QUEUE_PROFILING_ENABLE
//     lapwing::DeviceRing ring(**backend);
//     auto number = ring.add_queue(*queue, track);
//     clEnqueueNDRangeKernel(command_queue, ..., &event);
//     ring.adopt(*number, event, site);                          // the event stays the program's
//     ... and for what has no event of its own:
//     auto token = ring.begin(*number, site);                    // a marker
//     clEnqueue...; clEnqueue...;
//     ring.end(*number, token);                                  // another one
//     ... later, from any thread: ring.harvest() ...
//
// An OpenCL command carries both its times, so adopting its event costs no command: an in-order queue is as it was. A
// marker's time is the moment at which everything enqueued before it was complete.
#pragma once

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 300
#endif
#include <CL/cl.h>

#include <cstdint>
#include <memory>
#include <span>

#include "lapwing/backend.hpp"
#include "lapwing/result.hpp"

namespace lapwing {

/// What OpenClBackend needs from the program. The handles stay the program's and must outlive shutdown().
struct OpenClBackendOptions {
    cl_context context = nullptr;     ///< required
    cl_device_id device = nullptr;    ///< required, of that context

    /// Where the functions come from: by their full name; null = the loader, libOpenCL.so.1, opened at run time.
    void* (*find_function)(const char* name) = nullptr;

    /// Longest time that create() looks for its first pair of clocks to arrive, where the driver offers no pair itself.
    /// Units: ns; 0 = do not look, alignment is by brackets until calibrate() finds one.
    int64_t first_anchor_ns = 5'000'000;
};

/// Times of OpenCL events. Satisfies Backend, and adopt() on top.
///
/// Units:   ticks are ns of the device's own clock (OpenCL 3.0, 5.14: profiling values are nanoseconds), 64 bits.
/// Threads: mark(), adopt() and is_capturing() on the thread that enqueues to that queue; poll() and calibrate() on any
///          one thread at a time; everything else while nobody else is at work.
class OpenClBackend {
public:
    /// One command queue. A cheap handle, valid as long as its backend.
    class Queue {
    public:
        Queue() = default;

    private:
        friend class OpenClBackend;
        explicit Queue(void* stream) noexcept : stream_(stream) {}
        void* stream_ = nullptr;
    };

    /// What the backend did so far.
    struct Stats {
        uint64_t marks = 0;              ///< markers enqueued
        uint64_t adopted = 0;            ///< events adopted
        uint64_t refused = 0;            ///< mark() or adopt() returned false
        uint64_t status_checks = 0;      ///< execution statuses asked for
        uint64_t profile_reads = 0;      ///< profiling values asked for
        uint64_t failed_commands = 0;    ///< commands that ended with an error, or whose profile could not be read
        uint64_t nonsense = 0;           ///< profiles that repeat the one before: the driver makes them up
        uint64_t events_held = 0;        ///< references to events that the backend holds now
    };

    /// Errors:  kInvalidArgument where a handle is missing; kNotFound without a loader; kUnsupported where a function
    ///          is missing; kDriver with the driver's code.
    /// Cost:    cold. Where the driver has no pair of clocks: makes a queue of its own and enqueues markers there.
    [[nodiscard]] static Result<std::unique_ptr<OpenClBackend>> create(const OpenClBackendOptions& options);

    /// Touches no driver: it may be gone by now (static destructors). Call shutdown() first.
    ~OpenClBackend();
    OpenClBackend(const OpenClBackend&) = delete;
    OpenClBackend& operator=(const OpenClBackend&) = delete;

    /// A stream of stamps for one queue, in order or out of order. One without profiling gives a Queue too: caps() says
    /// why it has no times, and mark() and adopt() do nothing there.
    /// Errors:  kInvalidArgument where the queue is null or of another device; kDriver.
    [[nodiscard]] Result<Queue> open_queue(cl_command_queue queue);

    /// Releases every event that is held, and the own queue. Idempotent; mark() and adopt() refuse afterwards, and what
    /// was pending has failed.
    void shutdown() noexcept;

    [[nodiscard]] Stats stats() const noexcept;

    /// cold: 1 ns a tick, 64 bits, the device's timer resolution; what is missing and why.
    [[nodiscard]] Caps caps(const Queue& queue) const;

    /// cold: makes slots first .. first + count - 1 usable, 32 bytes each; a DeviceRing calls it. False where memory
    /// refuses, or beyond 2^24.
    [[nodiscard]] bool reserve(uint32_t first, uint32_t count) noexcept;

    /// hot: enqueues a marker; its END is the stamp. On a queue that runs out of order it waits for all commands before
    /// it and delays none behind it: a span between two markers is then "complete after what came before".
    bool mark(Queue& queue, uint32_t slot) noexcept;

    /// hot: the times of a command of `queue` become the results of both slots: START and END. Retains the event, and
    /// releases it when its times are read; enqueues nothing. False where the event is null or not the driver's, a slot
    /// was not reserved, or the queue has no times.
    bool adopt(Queue& queue, cl_event event, uint32_t begin_slot, uint32_t end_slot) noexcept;

    /// cold: asks execution statuses, one for a whole batch on an in-order queue, and reads profiles of what is
    /// complete. Never waits, and flushes nothing: commands arrive when the program flushes or waits.
    void poll(std::span<const uint32_t> slots, std::span<Stamp> out) noexcept;

    /// cold: the device's clock and CLOCK_MONOTONIC: by clGetDeviceAndHostTimer where it works, else by the QUEUED time
    /// of a marker on a queue of the backend's own, which the host clock brackets.
    /// Errors:  kUnsupported with the reason; kExhausted where the last marker has not run yet: call again later.
    [[nodiscard]] Result<ClockAnchor> calibrate(Queue& queue);

    /// OpenCL queues are not captured: command buffers (cl_khr_command_buffer) are objects of their own.
    static constexpr bool is_capturing(const Queue&) noexcept { return false; }

private:
    struct Impl;
    explicit OpenClBackend(std::unique_ptr<Impl> impl) noexcept;
    std::unique_ptr<Impl> impl_;
};

}    // namespace lapwing
