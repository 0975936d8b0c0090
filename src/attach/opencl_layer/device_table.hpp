// The devices whose queues the layer follows.
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "attach/opencl_layer/dispatch.hpp"
#include "attach/session/queue_clock.hpp"
#include "attach/session/session.hpp"
#include "lapwing/backend.hpp"

namespace lapwing::attach::opencl_layer {

/// A device, announced when its first queue is made.
/// Threads: any.
class Device {
public:
    Device(cl_device_id handle, Session& session);

    [[nodiscard]] uint32_t id() const noexcept { return info_.id; }
    [[nodiscard]] uint32_t next_queue() noexcept;    ///< numbers from 0
    [[nodiscard]] const Caps& caps() const noexcept { return caps_; }

    /// A queue has learned more of its clock: announced at most once a second, unless `now`.
    void note_clock(const QueueClock& clock, int64_t now_ns, bool now = false);

private:
    Session& session_;
    Caps caps_;
    std::mutex mutex_;
    DeviceInfo info_;
    uint32_t queues_ = 0;
    int64_t next_news_ns_ = 0;
};

/// Never destroyed: devices live as long as the process.
class DeviceTable {
public:
    /// Throws std::bad_alloc.
    [[nodiscard]] Device& find(cl_device_id handle, Session& session);

private:
    std::mutex mutex_;
    std::map<cl_device_id, std::unique_ptr<Device>> devices_;
};

}    // namespace lapwing::attach::opencl_layer
