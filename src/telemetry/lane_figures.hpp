// Lanes as telemetry knows them: their names, and a histogram a lane and device.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "lapwing/lanes.hpp"
#include "lapwing/metrics.hpp"
#include "lapwing/telemetry.hpp"

namespace lapwing::detail {

/// Names by number. Names are only added, and stay as they are.
/// Threads: add: one at a time; reading: any.
class LaneNames {
public:
    LaneNames() {
        for (uint32_t lane = 0; lane < kBuiltInLanes; ++lane) names_[lane] = lane_name(lane);
    }
    [[nodiscard]] uint32_t size() const noexcept { return count_.load(std::memory_order_acquire); }
    [[nodiscard]] const std::string& at(uint32_t lane) const noexcept { return names_[lane]; }
    [[nodiscard]] std::optional<uint32_t> find(std::string_view name) const noexcept {
        for (uint32_t lane = 0; lane < size(); ++lane)
            if (names_[lane] == name) return lane;
        return std::nullopt;
    }
    /// Shape:   size() < kMaxLanes.
    uint32_t add(std::string_view name) {
        const uint32_t lane = size();
        names_[lane] = name;
        count_.store(lane + 1, std::memory_order_release);
        return lane;
    }

private:
    std::array<std::string, kMaxLanes> names_;
    std::atomic<uint32_t> count_{kBuiltInLanes};
};

/// The lanes of one device.
struct DeviceLaneTimes {
    explicit DeviceLaneTimes(uint32_t device_id) noexcept : device(device_id) {}
    const uint32_t device;
    std::array<NsHistogram, kMaxLanes> ns;
};

/// The devices met so far.
/// Threads: of: one at a time; reading: any.
class DeviceLaneTable {
public:
    ~DeviceLaneTable() {
        for (uint32_t i = 0; i < size(); ++i) delete devices_[i].load(std::memory_order_relaxed);
    }
    [[nodiscard]] uint32_t size() const noexcept { return count_.load(std::memory_order_acquire); }
    [[nodiscard]] const DeviceLaneTimes& at(uint32_t index) const noexcept {
        return *devices_[index].load(std::memory_order_relaxed);
    }
    /// Null beyond kMaxTelemetryDevices.
    [[nodiscard]] DeviceLaneTimes* of(uint32_t device) {
        const uint32_t known = size();
        for (uint32_t i = 0; i < known; ++i) {
            DeviceLaneTimes* const one = devices_[i].load(std::memory_order_relaxed);
            if (one->device == device) return one;
        }
        if (known == kMaxTelemetryDevices) return nullptr;
        auto* const fresh = new DeviceLaneTimes(device);
        devices_[known].store(fresh, std::memory_order_relaxed);
        count_.store(known + 1, std::memory_order_release);
        return fresh;
    }

private:
    std::array<std::atomic<DeviceLaneTimes*>, kMaxTelemetryDevices> devices_{};
    std::atomic<uint32_t> count_{0};
};

}    // namespace lapwing::detail
