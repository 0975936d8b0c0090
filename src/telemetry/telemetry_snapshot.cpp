// Everything that a hub knows, read without holding a recorder up.
#include <algorithm>
#include <string>

#include "telemetry/telemetry_state.hpp"

namespace lapwing {
namespace detail {

void add(GpuSpanFigures& sum, const TelemetryQueue& stream, bool with_ring) {
    const LaneStats lanes = stream.lane_stats();
    sum.lanes.begun += lanes.begun;
    sum.lanes.ended += lanes.ended;
    sum.lanes.begun_twice += lanes.begun_twice;
    sum.lanes.left_open += lanes.left_open;
    sum.lanes.ended_without_begin += lanes.ended_without_begin;
    sum.lanes.out_of_range += lanes.out_of_range;
    sum.lanes.open += lanes.open;
    if (!with_ring) return;
    const DeviceRingStats ring = stream.ring_stats();
    sum.begun += ring.begun;
    sum.recorded += ring.recorded;
    sum.in_flight += ring.in_flight;
    sum.lost += ring.lost;
}

}    // namespace detail

namespace {

// Why a lane of a device has no times.
std::string reason_of(Level level, bool has_stream, const std::string& unsupported) {
    if (!has_stream) return "no stream of this device is installed";
    if (!unsupported.empty()) return unsupported;
    if (level < Level::kLane)
        return std::string("the level is '") + to_text(level) + "': lanes are timed at 'lane' and above";
    return "no span of it has finished yet";
}

}    // namespace

const char* to_text(TokenKind kind) noexcept {
    return kind == TokenKind::kPrompt ? "prompt" : "generated";
}

const char* to_text(CopyDirection direction) noexcept {
    switch (direction) {
        case CopyDirection::kHostToDevice:
            return "host_to_device";
        case CopyDirection::kDeviceToHost:
            return "device_to_host";
        case CopyDirection::kDeviceToDevice:
            return "device_to_device";
    }
    return "";
}

const char* to_text(RequestOutcome outcome) noexcept {
    switch (outcome) {
        case RequestOutcome::kCompleted:
            return "completed";
        case RequestOutcome::kCancelled:
            return "cancelled";
        case RequestOutcome::kFailed:
            return "failed";
    }
    return "";
}

void Telemetry::State::read_gpu(TelemetrySnapshot& out) {
    struct Device {
        uint32_t id = 0;
        bool has_stream = false;
        bool has_stamps = false;
        std::string unsupported;
    };
    std::vector<Device> devices;
    const auto device_of = [&devices](uint32_t id) -> Device& {
        const auto found = std::find_if(devices.begin(), devices.end(), [id](const Device& d) { return d.id == id; });
        return found != devices.end() ? *found : devices.emplace_back(Device{id, false, false, {}});
    };
    const std::lock_guard guard(streams_lock);
    if (ever_installed.load(std::memory_order_relaxed)) out.gpu = retired;
    uint32_t number = 0;
    each_stream([&](const TelemetryQueue& stream, bool first) {
        detail::add(*out.gpu, stream, first);
        Device& device = device_of(stream.device());
        device.has_stream = true;
        const std::string reason = stream.unsupported_reason();
        device.has_stamps |= reason.empty();
        if (!reason.empty()) {
            device.unsupported = reason;
            out.gpu->unsupported.push_back("device " + std::to_string(device.id) + ", stream " +
                                           std::to_string(number) + ": " + reason);
        }
        ++number;
    });
    for (uint32_t i = 0; i < sink.devices().size(); ++i) (void)device_of(sink.devices().at(i).device);
    std::sort(devices.begin(), devices.end(), [](const Device& a, const Device& b) { return a.id < b.id; });
    for (const Device& device : devices) {
        const detail::DeviceLaneTimes* times = nullptr;
        for (uint32_t i = 0; i < sink.devices().size(); ++i)
            if (sink.devices().at(i).device == device.id) times = &sink.devices().at(i);
        for (uint32_t lane = 0; lane < lanes.size(); ++lane) {
            LaneFigures figures{lanes.at(lane), device.id, std::nullopt, {}};
            if (times != nullptr) figures.time_ns = times->ns[lane].snapshot();
            if (!figures.time_ns || figures.time_ns->count() == 0) {
                figures.time_ns.reset();
                figures.reason = reason_of(out.level, device.has_stream, device.has_stamps ? "" : device.unsupported);
            }
            out.lanes.push_back(std::move(figures));
        }
    }
}

TelemetrySnapshot Telemetry::snapshot() const {
    TelemetrySnapshot out;
    out.level = lapwing::level();
    State* const known = state_.load(std::memory_order_acquire);
    if (known == nullptr) return out;
    State& s = *known;
    const auto config = config_.load();
    if (config.stores != 0) out.kernel_span_every = config.value.kernel_span_every();
    out.steps = s.steps.get();
    out.armed_steps = s.armed_steps.get();
    s.read_gpu(out);
    out.kernels = s.kernels.rows();
    out.kernel_losses = s.kernels.losses();

    const uint32_t named = s.named_phases.load(std::memory_order_acquire);
    for (uint32_t i = 0; i < kMaxPhases; ++i) {
        const Log2Snapshot time_ns = s.phases[i].snapshot();
        if (time_ns.count() == 0) continue;
        out.phases.push_back({i < named ? s.phase_names[i] : "phase_" + std::to_string(i), time_ns});
    }
    out.scheduler_ticks = s.ticks.get();
    out.scheduler = s.tick.load().value;
    out.batch_tokens = s.batch_tokens.snapshot();
    for (std::size_t i = 0; i < kTokenKinds; ++i) out.tokens[i] = s.tokens[i].get();
    out.stream_sync_ns = s.stream_sync.snapshot();
    for (std::size_t i = 0; i < kCopyDirections; ++i) {
        out.copy_bytes[i] = s.copy_bytes[i].get();
        out.copy_ns[i] = s.copies[i].snapshot();
    }
    out.graph_capture_ns = s.graph_captures.snapshot();
    out.graph_replays = s.graph_replays.get();
    out.graph_replayed_kernels = s.graph_replayed_kernels.get();
    out.spec_verifications = s.spec_verifications.get();
    out.spec_drafted = s.spec_drafted.get();
    out.spec_accepted = s.spec_accepted.get();
    for (std::size_t i = 0; i < kRequestOutcomes; ++i) out.requests[i] = s.requests[i].get();
    out.request_queue_ns = s.request_queue.snapshot();
    out.first_token_ns = s.first_token.snapshot();
    out.per_token_ns = s.per_token.snapshot();
    out.request_ns = s.request_total.snapshot();
    out.misuse = {s.refused_durations.get() + s.sink.refused.get(), s.refused_values.get(), s.no_stream.get(),
                  s.sink.unplaced.get(), s.sink_errors.get()};
    return out;
}

}    // namespace lapwing
