#include "lapwing/telemetry.hpp"

#include <algorithm>
#include <memory>

#include "lapwing/clock.hpp"
#include "lapwing/process_sites.hpp"
#include "telemetry/telemetry_state.hpp"

namespace lapwing {
namespace {

// Never destroyed: threads may be in it while the program ends.
union Forever {
    constexpr Forever() noexcept : hub() {}
    ~Forever() {}
    Telemetry hub;
};
constinit Forever g_telemetry;

}    // namespace

Telemetry& telemetry() noexcept {
    return g_telemetry.hub;
}

Telemetry::State::State(const KernelTableOptions& options, const TelemetryConfig& config)
    : kernels(options),
      kernel_count(std::max(options.max_kernels, 1u) + 1),
      kernel_sites(std::make_unique<std::atomic<SiteId>[]>(kernel_count)),
      sink(kernels, lanes),
      kernel_span_every(config.kernel_span_every()) {}

Telemetry::~Telemetry() {
    delete state_.load(std::memory_order_relaxed);
}

int64_t Telemetry::now_ns() const noexcept {
    return clock_ != nullptr ? clock_() : host_now().value;
}

Telemetry::State& Telemetry::state() noexcept {
    State* known = state_.load(std::memory_order_acquire);
    if (known != nullptr) [[likely]]
        return *known;
    auto fresh = std::make_unique<State>(kernel_options_, config());
    if (state_.compare_exchange_strong(known, fresh.get(), std::memory_order_acq_rel)) known = fresh.release();
    return *known;
}

void Telemetry::configure(const TelemetryConfig& config) noexcept {
    armed_.store(false, std::memory_order_relaxed);
    config_.store(config);
    State* const known = config.level() == Level::kOff ? state_.load(std::memory_order_acquire) : &state();
    if (known != nullptr) {
        known->kernel_span_every = config.kernel_span_every();
        known->kernel_step = 0;
    }
    set_level(config.level());
}

Result<uint32_t> Telemetry::add_lane(std::string_view name) {
    State& s = state();
    if (name.empty()) return Error{Errc::kInvalidArgument, 0, "a lane needs a name"};
    if (s.lanes.find(name))
        return Error{Errc::kInvalidArgument, 0, "lane '" + std::string(name) + "' is there already: ask lane() for it"};
    if (s.ever_installed.load(std::memory_order_relaxed))
        return Error{Errc::kInvalidArgument, 0, "streams are installed: add lanes before them"};
    if (s.lanes.size() == kMaxLanes) return Error{Errc::kExhausted, 0, "there are 32 lanes at most: share one"};
    return s.lanes.add(name);
}

Result<uint32_t> Telemetry::lane(std::string_view name) const {
    const State* const s = state_.load(std::memory_order_acquire);
    const detail::LaneNames built_in;
    const detail::LaneNames& names = s == nullptr ? built_in : s->lanes;
    if (const std::optional<uint32_t> found = names.find(name)) return *found;
    std::string text = "there is no lane '" + std::string(name) + "'; there are";
    for (uint32_t lane = 0; lane < names.size(); ++lane) text += (lane == 0 ? " '" : ", '") + names.at(lane) + "'";
    return Error{Errc::kNotFound, 0, text + ": add_lane() makes more"};
}

std::string_view Telemetry::name_of_lane(uint32_t lane) const noexcept {
    const State* const s = state_.load(std::memory_order_acquire);
    if (s == nullptr) return lane_name(lane);
    return lane < s->lanes.size() ? std::string_view(s->lanes.at(lane)) : std::string_view();
}

Status Telemetry::name_phases(std::span<const std::string_view> names) {
    State& s = state();
    if (s.named_phases.load(std::memory_order_relaxed) != 0)
        return Error{Errc::kInvalidArgument, 0, "the phases are named already: the first names stay"};
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (names[i].empty()) return Error{Errc::kInvalidArgument, 0, "a phase needs a name"};
        if (std::find(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(i), names[i]) !=
            names.begin() + static_cast<std::ptrdiff_t>(i))
            return Error{Errc::kInvalidArgument, 0, "phase '" + std::string(names[i]) + "' is named twice"};
    }
    const std::size_t kept = std::min<std::size_t>(names.size(), kMaxPhases);
    for (std::size_t i = 0; i < kept; ++i) s.phase_names[i] = names[i];
    if (names.size() > kMaxPhases) s.phase_names.back() = "other";
    s.named_phases.store(static_cast<uint32_t>(kept), std::memory_order_release);
    return {};
}

Result<uint32_t> Telemetry::install(TelemetryQueue& stream) {
    State& s = state();
    const std::lock_guard guard(s.streams_lock);
    for (uint32_t i = 0; i < kMaxStreams; ++i) {
        if (s.streams[i].load(std::memory_order_relaxed) != nullptr) continue;
        s.streams[i].store(&stream, std::memory_order_release);
        s.ever_installed.store(true, std::memory_order_relaxed);
        return i;
    }
    return Error{Errc::kExhausted, 0, "there are 16 streams at most: uninstall() one"};
}

void Telemetry::uninstall(TelemetryQueue& stream) noexcept {
    State& s = state();
    const std::lock_guard guard(s.streams_lock);
    bool shared = false;
    s.each_stream(
        [&](const TelemetryQueue& other, bool) { shared |= &other != &stream && other.ring() == stream.ring(); });
    for (std::atomic<TelemetryQueue*>& slot : s.streams) {
        if (slot.load(std::memory_order_relaxed) != &stream) continue;
        slot.store(nullptr, std::memory_order_release);
        detail::add(s.retired, stream, !shared);
    }
}

SpanSink& Telemetry::sink() {
    return state().sink;
}

KernelTable& Telemetry::kernels() {
    return state().kernels;
}

// Device spans.

SiteId Telemetry::State::site_of(KernelId kernel) {
    if (kernel >= kernel_count) kernel = 0;
    const SiteId known = kernel_sites[kernel].load(std::memory_order_relaxed);
    if (known != 0) [[likely]]
        return known;
    Site site;
    site.kernel = kernels.name_of(kernel);
    const SiteId fresh = process_site(site);
    kernel_sites[kernel].store(fresh, std::memory_order_relaxed);
    return fresh;
}

bool Telemetry::begin_step() noexcept {
    State& s = state();
    const bool lanes = lane_spans();
    s.each_stream([&](TelemetryQueue& stream, bool first) {
        if (first && !stream.harvest().ok()) s.sink_errors.add();
        stream.begin_step(lanes ? s.step : kNoStep);
    });
    const bool armed = at(Level::kKernel) && s.kernel_step++ % s.kernel_span_every == 0;
    armed_.store(armed, std::memory_order_relaxed);
    if (lanes) {
        ++s.step;
        s.steps.add();
        if (armed) s.armed_steps.add();
        unsettled_.store(true, std::memory_order_relaxed);
        return armed;
    }
    bool busy = false;
    s.each_stream([&](const TelemetryQueue& stream, bool) { busy |= stream.busy(); });
    unsettled_.store(busy, std::memory_order_relaxed);
    return false;
}

void Telemetry::begin_lane(uint32_t lane, uint32_t stream) noexcept {
    TelemetryQueue* const queue = state().stream(stream);
    if (queue == nullptr) return;
    unsettled_.store(true, std::memory_order_relaxed);
    queue->lane_begin(lane);
}

void Telemetry::end_lane(uint32_t lane, uint32_t stream) noexcept {
    if (TelemetryQueue* const queue = state().stream(stream)) queue->lane_end(lane);
}

KernelSpan Telemetry::begin_kernel(KernelId kernel, uint32_t stream) noexcept {
    State& s = state();
    s.kernels.launched(kernel);
    if (!armed_.load(std::memory_order_relaxed)) return {};
    TelemetryQueue* const queue = s.stream(stream);
    if (queue == nullptr) return {};
    unsettled_.store(true, std::memory_order_relaxed);
    return {queue->kernel_begin(s.site_of(kernel)), stream};
}

KernelSpan Telemetry::begin_handle(uint64_t handle, uint32_t stream) noexcept {
    const KernelId kernel = state().kernels.of_handle(handle);
    return handle == 0 ? KernelSpan{} : begin_kernel(kernel, stream);
}

void Telemetry::end_kernel(const KernelSpan& span) noexcept {
    if (TelemetryQueue* const queue = state().stream(span.stream)) queue->kernel_end(span.token);
}

// The host's side.

TelemetryScope::TelemetryScope(Telemetry* hub, What what, uint32_t index, uint64_t amount) noexcept
    : hub_(hub), begin_ns_(hub->now_ns()), amount_(amount), index_(index), what_(what) {}

void TelemetryScope::finish() noexcept {
    const int64_t ns = hub_->now_ns() - begin_ns_;
    switch (what_) {
        case What::kPhase:
            return hub_->add_phase(index_, ns);
        case What::kStreamSync:
            return hub_->add_stream_sync(ns);
        case What::kCopy:
            return hub_->add_copy(static_cast<CopyDirection>(index_), amount_, ns);
        case What::kGraphCapture:
            return hub_->add_graph_capture(ns);
    }
}

void Telemetry::add_tokens(TokenKind kind, uint64_t count) noexcept {
    State& s = state();
    const auto index = static_cast<std::size_t>(kind);
    (index < kTokenKinds ? s.tokens[index] : s.refused_values).add(index < kTokenKinds ? count : 1);
}

void Telemetry::add_phase(uint32_t index, int64_t ns) noexcept {
    State& s = state();
    s.record(s.phases[std::min(index, kMaxPhases - 1)], ns);
}

void Telemetry::add_tick(const SchedulerTick& tick) noexcept {
    State& s = state();
    s.ticks.add();
    SchedulerTick kept = tick;
    if (tick.cache_used && !(*tick.cache_used >= 0 && *tick.cache_used <= 1)) {
        s.refused_values.add();
        kept.cache_used.reset();
    }
    s.tick.store(kept);
    if (tick.batch_tokens) s.batch_tokens.record(*tick.batch_tokens);
}

void Telemetry::add_stream_sync(int64_t ns) noexcept {
    State& s = state();
    s.record(s.stream_sync, ns);
}

void Telemetry::add_copy(CopyDirection direction, uint64_t bytes, int64_t ns) noexcept {
    State& s = state();
    const auto index = static_cast<std::size_t>(direction);
    if (index >= kCopyDirections) return s.refused_values.add();
    if (!s.takes(ns)) return;
    s.copies[index].record(static_cast<uint64_t>(ns));
    s.copy_bytes[index].add(bytes);
}

void Telemetry::add_graph_capture(int64_t ns) noexcept {
    State& s = state();
    s.record(s.graph_captures, ns);
}

void Telemetry::add_graph_replay(uint32_t kernels) noexcept {
    State& s = state();
    s.graph_replays.add();
    s.graph_replayed_kernels.add(kernels);
}

void Telemetry::add_verification(uint32_t drafted, uint32_t accepted) noexcept {
    State& s = state();
    if (accepted > drafted) return s.refused_values.add();
    s.spec_verifications.add();
    s.spec_drafted.add(drafted);
    s.spec_accepted.add(accepted);
}

void Telemetry::add_request(const RequestFigures& request) noexcept {
    State& s = state();
    const auto outcome = static_cast<std::size_t>(request.outcome);
    if (outcome >= kRequestOutcomes) return s.refused_values.add();
    s.requests[outcome].add();
    if (request.queue_ns) s.record(s.request_queue, *request.queue_ns);
    if (request.first_token_ns) s.record(s.first_token, *request.first_token_ns);
    if (request.total_ns) s.record(s.request_total, *request.total_ns);
    if (!request.first_token_ns || !request.total_ns || *request.first_token_ns < 0) return;
    if (*request.total_ns < *request.first_token_ns) return s.refused_values.add();
    if (request.output_tokens > 1)
        s.record(s.per_token, (*request.total_ns - *request.first_token_ns) / (int64_t{request.output_tokens} - 1));
}

}    // namespace lapwing
