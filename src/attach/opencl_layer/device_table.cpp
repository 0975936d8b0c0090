#include "attach/opencl_layer/device_table.hpp"

#include <algorithm>

#include "backends/opencl/device_clock.hpp"

namespace lapwing::attach::opencl_layer {

namespace {
constexpr int64_t kNewsIntervalNs = 1'000'000'000;

opencl::EntryPoints device_functions() noexcept {
    opencl::EntryPoints table;
    table.GetDeviceInfo = next().clGetDeviceInfo;
    table.GetDeviceAndHostTimer = next().clGetDeviceAndHostTimer;
    return table;
}
}    // namespace

Device::Device(cl_device_id handle, Session& session) : session_(session) {
    const opencl::EntryPoints cl = device_functions();
    const opencl::DeviceTraits traits = opencl::describe_device(cl, handle);
    caps_.reason = traits.no_times_reason;
    if (*traits.no_times_reason == '\0') {
        caps_.ns_per_tick = 1;
        caps_.valid_bits = 64;
        caps_.resolution_ns = std::max(traits.resolution_ns, 1.0);
    }
    info_.api = "opencl";
    info_.name = opencl::device_text(cl, handle, CL_DEVICE_NAME);
    info_.driver = opencl::device_text(cl, handle, CL_DEVICE_VERSION);
    info_.driver += ", " + opencl::device_text(cl, handle, CL_DRIVER_VERSION);
    info_.clock.resolution_ns = caps_.resolution_ns;
    info_.clock.valid_bits = caps_.valid_bits;
    info_.id = session_.add_device(info_);
}

uint32_t Device::next_queue() noexcept {
    const std::lock_guard lock(mutex_);
    return queues_++;
}

void Device::note_clock(const QueueClock& clock, int64_t now_ns, bool now) {
    const std::lock_guard lock(mutex_);
    const std::optional<int64_t> uncertainty_ns = clock.uncertainty_ns();
    if (!uncertainty_ns || (!now && now_ns < next_news_ns_)) return;
    next_news_ns_ = now_ns + kNewsIntervalNs;
    info_.clock.calibrated = clock.alignment().calibrated();
    info_.clock.uncertainty_ns = *uncertainty_ns;
    info_.clock.drift_ppm = clock.alignment().drift_ppm();
    info_.clock.residual_ns = clock.alignment().residual_ns();
    info_.clock.clock_steps = clock.alignment().restarts();
    session_.update_device(info_);
}

Device& DeviceTable::find(cl_device_id handle, Session& session) {
    const std::lock_guard lock(mutex_);
    std::unique_ptr<Device>& device = devices_[handle];
    if (device == nullptr) device = std::make_unique<Device>(handle, session);
    return *device;
}

}    // namespace lapwing::attach::opencl_layer
