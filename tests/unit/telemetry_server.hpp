// A server on simulated devices with a telemetry hub of its own, as the hub's tests use it.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "lapwing/device_spans.hpp"
#include "lapwing/sim_backend.hpp"
#include "lapwing/telemetry.hpp"
#include "lapwing/telemetry_stream.hpp"

namespace lapwing::test {

/// A clock that counts how often it is read; each reading is a microsecond later.
struct CountingClock {
    static inline std::atomic<uint64_t> reads{0};
    static int64_t now() noexcept { return static_cast<int64_t>(reads.fetch_add(1) + 1) * 1000; }
};

struct TelemetryServer : ::testing::Test {
    using Stream = TelemetryStream<SimBackend>;
    struct Device {
        std::unique_ptr<SimBackend> sim;
        std::unique_ptr<DeviceRing<SimBackend>> ring;
        std::unique_ptr<DeviceSpanCollector<SimBackend>> collector;
        std::vector<std::unique_ptr<Stream>> streams;
    };

    void TearDown() override {
        for (Device& device : devices) device.streams.clear();
        set_level(Level::kOff);
    }

    // A device with `queues` streams. Each queue is in its ring twice: 2 i its kernels, 2 i + 1 its lanes.
    Device& add_device(uint32_t queues = 1, const SimOptions& sim_options = {}, DeviceRingOptions options = {}) {
        const auto id = static_cast<uint32_t>(devices.size()) + 1;
        Device& device = devices.emplace_back();
        device.sim = std::make_unique<SimBackend>(sim_options);
        options.now = SimBackend::host_clock;
        options.now_context = device.sim.get();
        device.ring = std::make_unique<DeviceRing<SimBackend>>(*device.sim, options);
        const DeviceInfo info{.id = id, .api = "sim", .name = "sim", .driver = "", .clock = {}};
        device.collector = std::make_unique<DeviceSpanCollector<SimBackend>>(
            *device.ring, hub.sink(), info,
            DeviceSpanCollectorOptions{
                .sites = &sites, .whole_recording = false, .first_track = static_cast<TrackId>(id * 100)});
        for (uint32_t i = 0; i < queues; ++i) {
            const StreamQueues numbers{device.collector->add_queue({i}, "kernels").value(),
                                       device.collector->add_queue({i}, "lanes").value()};
            device.streams.push_back(std::make_unique<Stream>(hub, *device.ring, *device.collector, info, numbers));
        }
        return device;
    }
    void configure(const char* level, uint32_t every = 1) {
        const auto config = TelemetryConfig::make({.level = level, .kernel_span_every = every});
        ASSERT_TRUE(config.ok()) << config.error().message;
        hub.configure(config.value());
    }
    // One lane of `ns` device time.
    void lane(uint32_t number, uint64_t ns, uint32_t stream = 0, std::size_t device = 0) {
        hub.lane_begin(number, stream);
        devices[device].sim->advance(ns);
        hub.lane_end(number, stream);
    }
    void kernel(KernelId id, uint64_t ns, uint32_t stream = 0, std::size_t device = 0) {
        const KernelSpan span = hub.kernel_begin(id, stream);
        devices[device].sim->advance(ns);
        hub.kernel_end(span);
    }
    [[nodiscard]] uint64_t lane_count(const std::string& name, uint32_t device = 1) {
        for (const LaneFigures& figures : hub.snapshot().lanes)
            if (figures.lane == name && figures.device == device && figures.time_ns) return figures.time_ns->count();
        return 0;
    }

    Telemetry hub{&CountingClock::now};
    SiteTable sites;
    std::deque<Device> devices;
};

}    // namespace lapwing::test
