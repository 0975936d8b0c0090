// What a device's profiling times are worth, and pairs of its clock with the host's.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "backends/opencl/entry_points.hpp"
#include "lapwing/backend.hpp"
#include "lapwing/result.hpp"

namespace lapwing::opencl {

/// A text that the driver fills in; empty where it refuses.
[[nodiscard]] std::string device_text(const EntryPoints& cl, cl_device_id device, cl_device_info what);

struct DeviceTraits {
    double resolution_ns = 0;            ///< of the profiling timer; 0 where the driver states none
    const char* no_times_reason = "";    ///< why profiles are not times; empty where they are
    bool device_host_timer = false;      ///< clGetDeviceAndHostTimer works
};
[[nodiscard]] DeviceTraits describe_device(const EntryPoints& cl, cl_device_id device);

/// The pair that clGetDeviceAndHostTimer delivers, placed by the host's own clock around the call.
/// Shape:   the uncertainty holds half of the tightest bracket, the timer's resolution, and for how long the device's
///          half was seen not to move: some drivers hand out a stale one (compute-runtime#400).
/// Errors:  kUnsupported where the driver has none; kDriver.
[[nodiscard]] Result<ClockAnchor> read_device_timer(const EntryPoints& cl, cl_device_id device,
                                                    const DeviceTraits& traits);

/// Pairs of clocks from markers on a queue of our own. A marker's QUEUED time is read off the device's clock while the
/// marker is being enqueued (OpenCL 3.0, CL_PROFILING_COMMAND_QUEUED), so readings of the host's clock around the call
/// bracket it. What the device is busy with does not matter for the time, only for when it can be read.
/// Threads: one at a time.
class AnchorQueue {
public:
    explicit AnchorQueue(const EntryPoints& cl) noexcept : cl_(cl) {}

    [[nodiscard]] Status open(cl_context context, cl_device_id device, double resolution_ns);
    void close() noexcept;

    /// Enqueues a marker where there is room for one more in flight, and flushes the queue, which is empty otherwise.
    void enqueue() noexcept;

    /// The tightest of the pairs that came since the last call. Asks statuses; never waits.
    [[nodiscard]] std::optional<ClockAnchor> collect() noexcept;

    /// Why no pair will ever come; empty while one may.
    [[nodiscard]] const char* refused() const noexcept { return refused_; }

private:
    struct Marker {
        cl_event event = nullptr;
        HostNs before;
        HostNs after;
    };
    [[nodiscard]] std::optional<ClockAnchor> read(const Marker& marker) noexcept;

    const EntryPoints& cl_;
    cl_command_queue queue_ = nullptr;
    double resolution_ns_ = 0;
    const char* refused_ = "";
    std::array<Marker, 4> markers_{};
};

}    // namespace lapwing::opencl
