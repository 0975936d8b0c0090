#include "backends/opencl/device_clock.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "lapwing/clock.hpp"

namespace lapwing::opencl {
namespace {

constexpr int kTimerTries = 8;
constexpr int64_t kGoodEnoughNs = 500;    // below the cost of an enqueue: more tries gain nothing

int64_t half_of(HostNs before, HostNs after, double resolution_ns) noexcept {
    return (after.value - before.value + 1) / 2 + static_cast<int64_t>(std::ceil(resolution_ns));
}
HostNs middle(HostNs before, HostNs after) noexcept {
    return {before.value + (after.value - before.value) / 2};
}

}    // namespace

std::string device_text(const EntryPoints& cl, cl_device_id device, cl_device_info what) {
    std::size_t size = 0;
    if (cl.GetDeviceInfo(device, what, 0, nullptr, &size) != CL_SUCCESS || size == 0) return {};
    std::vector<char> text(size);
    if (cl.GetDeviceInfo(device, what, size, text.data(), nullptr) != CL_SUCCESS) return {};
    return {text.begin(), std::find(text.begin(), text.end(), '\0')};
}

DeviceTraits describe_device(const EntryPoints& cl, cl_device_id device) {
    DeviceTraits out;
    std::size_t resolution = 0;
    const cl_int asked =
        cl.GetDeviceInfo(device, CL_DEVICE_PROFILING_TIMER_RESOLUTION, sizeof resolution, &resolution, nullptr);
    // rusticl (Mesa 22.3) states 0, and its profiles are 0, 1, 2, 3 for every command.
    if (asked != CL_SUCCESS)
        out.no_times_reason = "the driver does not state the resolution of its profiling timer";
    else if (resolution == 0)
        out.no_times_reason = "the driver states a timer resolution of 0 ns: its profiles are not times";
    out.resolution_ns = static_cast<double>(resolution);

    cl_ulong device_ns = 0;
    cl_ulong host_ns = 0;
    out.device_host_timer = cl.GetDeviceAndHostTimer != nullptr &&
                            cl.GetDeviceAndHostTimer(device, &device_ns, &host_ns) == CL_SUCCESS && device_ns != 0;
    return out;
}

Result<ClockAnchor> read_device_timer(const EntryPoints& cl, cl_device_id device, const DeviceTraits& traits) {
    if (!traits.device_host_timer)
        return Error{Errc::kUnsupported, 0, "the driver has no clGetDeviceAndHostTimer that works"};
    ClockAnchor best;
    best.uncertainty_ns = INT64_MAX;
    cl_ulong last = 0;
    HostNs stands_since;
    int64_t stood_ns = 0;
    for (int i = 0; i < kTimerTries; ++i) {
        cl_ulong device_ns = 0;
        cl_ulong host_ns = 0;
        const HostNs before = host_now();
        const cl_int result = cl.GetDeviceAndHostTimer(device, &device_ns, &host_ns);
        const HostNs after = host_now();
        if (result != CL_SUCCESS) return Error{Errc::kDriver, result, "clGetDeviceAndHostTimer failed"};
        if (i > 0 && device_ns == last)
            stood_ns = std::max(stood_ns, after.value - stands_since.value);
        else
            stands_since = before;
        last = device_ns;
        const int64_t uncertainty = half_of(before, after, traits.resolution_ns);
        if (uncertainty < best.uncertainty_ns) best = {Ticks{device_ns}, middle(before, after), uncertainty};
        if (best.uncertainty_ns <= kGoodEnoughNs && i >= 2) break;
    }
    best.uncertainty_ns += stood_ns;
    return best;
}

Status AnchorQueue::open(cl_context context, cl_device_id device, double resolution_ns) {
    cl_int result = CL_SUCCESS;
    queue_ = cl_.CreateCommandQueue(context, device, CL_QUEUE_PROFILING_ENABLE, &result);
    if (queue_ == nullptr) return Error{Errc::kDriver, result, "the driver gives no further queue with profiling"};
    resolution_ns_ = resolution_ns;
    return {};
}

void AnchorQueue::close() noexcept {
    for (Marker& marker : markers_) {
        if (marker.event != nullptr) cl_.ReleaseEvent(marker.event);
        marker.event = nullptr;
    }
    if (queue_ != nullptr) cl_.ReleaseCommandQueue(queue_);
    queue_ = nullptr;
}

void AnchorQueue::enqueue() noexcept {
    if (queue_ == nullptr) return;
    for (Marker& marker : markers_) {
        if (marker.event != nullptr) continue;
        marker.before = host_now();
        const cl_int result = cl_.EnqueueMarkerWithWaitList(queue_, 0, nullptr, &marker.event);
        marker.after = host_now();
        if (result != CL_SUCCESS) {
            marker.event = nullptr;
            return;
        }
        cl_.Flush(queue_);
        return;
    }
}

std::optional<ClockAnchor> AnchorQueue::collect() noexcept {
    std::optional<ClockAnchor> best;
    for (Marker& marker : markers_) {
        if (marker.event == nullptr) continue;
        cl_int status = CL_QUEUED;
        const cl_int asked =
            cl_.GetEventInfo(marker.event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, nullptr);
        if (asked == CL_SUCCESS && status > CL_COMPLETE) continue;
        const std::optional<ClockAnchor> anchor =
            asked == CL_SUCCESS && status == CL_COMPLETE ? read(marker) : std::nullopt;
        cl_.ReleaseEvent(marker.event);
        marker.event = nullptr;
        if (anchor && (!best || anchor->uncertainty_ns < best->uncertainty_ns)) best = anchor;
    }
    return best;
}

std::optional<ClockAnchor> AnchorQueue::read(const Marker& marker) noexcept {
    cl_ulong queued = 0;
    cl_ulong end = 0;
    if (cl_.GetEventProfilingInfo(marker.event, CL_PROFILING_COMMAND_QUEUED, sizeof queued, &queued, nullptr) !=
            CL_SUCCESS ||
        cl_.GetEventProfilingInfo(marker.event, CL_PROFILING_COMMAND_END, sizeof end, &end, nullptr) != CL_SUCCESS) {
        refused_ = "the driver gives no profile of a marker";
        return std::nullopt;
    }
    if (queued == 0 || end < queued) {
        refused_ = "the driver's QUEUED times are not on the clock of its START and END";
        return std::nullopt;
    }
    return ClockAnchor{Ticks{queued}, middle(marker.before, marker.after),
                       half_of(marker.before, marker.after, resolution_ns_)};
}

}    // namespace lapwing::opencl
