#include "lapwing/cuda_backend.hpp"

#include <time.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "backends/cuda/driver_errors.hpp"
#include "backends/cuda/driver_names.hpp"
#include "backends/cuda/driver_scope.hpp"
#include "backends/cuda/entry_points.hpp"
#include "backends/cuda/event_cells.hpp"
#include "backends/cuda/origin_chain.hpp"
#include "lapwing/clock.hpp"

namespace lapwing {

using namespace cuda;

namespace {

constexpr int64_t kHeartbeatNs = 100'000'000;
constexpr double kResolutionNs = 500;    // cuEventElapsedTime: "a resolution of around 0.5 microseconds"
constexpr int kAnchorTries = 4;
constexpr int kLooksWithoutPause = 1000;
constexpr int kMostLooks = 100'000;    // where a scripted clock stands still
constexpr timespec kPause{0, 20'000};

Stream special_stream(uintptr_t number) noexcept {
    return reinterpret_cast<Stream>(number);
}

}    // namespace

struct CudaBackend::Impl {
    Impl(const EntryPoints& table, const CudaBackendOptions& given) noexcept : cu(table), options(given) {}

    EntryPoints cu;
    CudaBackendOptions options;
    Context context = nullptr;
    bool holds_primary = false;
    Device primary = 0;
    bool open = true;
    Stream own = nullptr;
    EventCells cells;
    OriginChain chain{cu};
    std::vector<std::unique_ptr<MarkedStream>> streams;

    // Who polls.
    Event spare = nullptr;    // left over when an origin fell off the chain
    Event heartbeat = nullptr;
    bool heartbeat_recorded = false;
    int64_t heartbeat_ns = 0;    // host time of the last one
    Event anchor = nullptr;
    detail::SoloCounter queries;
    detail::SoloCounter failed;
    detail::SoloCounter heartbeats;
    detail::SoloCounter created;
    detail::SoloCounter destroyed;

    // Threads that mark: several streams at once.
    std::atomic<uint64_t> refused{0};
    std::atomic<const char*> fatal_call{nullptr};    // the call that showed that the context is gone
    std::atomic<Code> fatal_code{kSuccess};

    [[nodiscard]] static MarkedStream* stream_of(const Queue& queue) noexcept {
        return static_cast<MarkedStream*>(queue.stream_);
    }
    [[nodiscard]] bool lost() const noexcept { return fatal_call.load(std::memory_order_relaxed) != nullptr; }
    [[nodiscard]] HostNs now() const noexcept {
        return options.now != nullptr ? options.now(options.now_context) : host_now();
    }
    void lose(Code code, const char* call) noexcept {
        const char* none = nullptr;
        if (fatal_call.compare_exchange_strong(none, call)) fatal_code.store(code);
    }
    bool refuse() noexcept {
        refused.fetch_add(1, std::memory_order_relaxed);
        return false;
    }

    [[nodiscard]] Status start();
    void unwind() noexcept;
    [[nodiscard]] bool usable(const DriverScope& scope) noexcept;
    [[nodiscard]] Event make_event(Code* why = nullptr) noexcept;
    void destroy(Event& event) noexcept;
    [[nodiscard]] Code query(Event event) noexcept;
    [[nodiscard]] bool is_over(Code code, const char* call) noexcept;
    [[nodiscard]] bool is_complete(EventCell& cell) noexcept;
    void probe_last(std::span<const uint32_t> slots) noexcept;
    void resolve(EventCell& cell) noexcept;
    void promote(Event& event, uint64_t ticks) noexcept;
    void beat() noexcept;
    [[nodiscard]] Result<ClockAnchor> find_anchor();
    [[nodiscard]] Stamp at(uint32_t slot, bool may_call) noexcept;
};

CudaBackend::CudaBackend(std::unique_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
CudaBackend::~CudaBackend() = default;

Result<std::unique_ptr<CudaBackend>> CudaBackend::create(const CudaBackendOptions& options) {
    const Result<EntryPoints> table = EntryPoints::start(options.find_function);
    if (!table.ok()) return table.error();
    auto impl = std::make_unique<Impl>(*table, options);
    const EntryPoints& cu = impl->cu;
    impl->context = options.context;
    if (impl->context == nullptr && options.primary_device >= 0) {
        Code code = cu.DeviceGet(&impl->primary, options.primary_device);
        if (code != kSuccess) return call_error(Errc::kDriver, "cuDeviceGet", code);
        code = cu.DevicePrimaryCtxRetain(&impl->context, impl->primary);
        if (code != kSuccess) return call_error(Errc::kDriver, "cuDevicePrimaryCtxRetain", code);
        impl->holds_primary = true;
    } else if (impl->context == nullptr) {
        if (const Code code = cu.CtxGetCurrent(&impl->context); code != kSuccess)
            return call_error(Errc::kDriver, "cuCtxGetCurrent", code);
        if (impl->context == nullptr)
            return Error{Errc::kInvalidArgument, 0,
                         "no context is current on this thread: give CudaBackendOptions a context, or the ordinal of a "
                         "device whose primary context is used"};
    }
    if (const Status started = impl->start(); !started.ok()) {
        impl->unwind();
        return started.error();
    }
    return std::unique_ptr<CudaBackend>(new CudaBackend(std::move(impl)));
}

Status CudaBackend::Impl::start() {
    const DriverScope scope(cu, context);
    if (!scope.ok()) return call_error(Errc::kDriver, scope.call(), scope.code());
    // Non-blocking: the default stream neither waits for it nor is waited for.
    if (const Code code = cu.StreamCreate(&own, kStreamNonBlocking); code != kSuccess)
        return call_error(Errc::kDriver, "cuStreamCreate", code);
    Code code = kSuccess;
    heartbeat = make_event(&code);
    if (heartbeat != nullptr) anchor = make_event(&code);
    Event origin = anchor != nullptr ? make_event(&code) : nullptr;
    if (origin == nullptr) return call_error(Errc::kDriver, "cuEventCreate", code);
    chain.start(origin);
    if (code = cu.EventRecord(origin, own); code != kSuccess) return call_error(Errc::kDriver, "cuEventRecord", code);
    heartbeat_ns = now().value;
    return {};
}

Event CudaBackend::Impl::make_event(Code* why) noexcept {
    Event event = nullptr;
    const Code code = cu.EventCreate(&event, kEventDefault);
    if (why != nullptr) *why = code;
    if (code != kSuccess) {
        if (is_fatal(code)) lose(code, "cuEventCreate");
        return nullptr;
    }
    created.add();
    return event;
}

void CudaBackend::Impl::destroy(Event& event) noexcept {
    if (event == nullptr) return;
    cu.EventDestroy(event);
    event = nullptr;
    destroyed.add();
}

// Whether the driver may be called in this scope. A context that cannot be made current is gone for good.
bool CudaBackend::Impl::usable(const DriverScope& scope) noexcept {
    if (scope.ok()) return true;
    const Code code = scope.code();
    if (is_fatal(code) || (scope.context_gone() && (code == kInvalidContext || code == kInvalidHandle)))
        lose(code, scope.call());
    return false;
}

void CudaBackend::Impl::unwind() noexcept {
    if (!lost()) {
        const DriverScope scope(cu, context);
        if (usable(scope)) {
            cells.each([this](EventCell& cell) { destroy(cell.event); });
            chain.clear([this](Event event) { destroy(event); });
            destroy(spare);
            destroy(heartbeat);
            destroy(anchor);
            if (own != nullptr) cu.StreamDestroy(own);
            own = nullptr;
        }
    }
    if (holds_primary && fatal_code.load() != kDeinitialized) cu.DevicePrimaryCtxRelease(primary);
    holds_primary = false;
}

void CudaBackend::shutdown() noexcept {
    Impl& self = *impl_;
    if (!self.open) return;
    self.open = false;
    self.unwind();
    self.cells.each([&self](EventCell& cell) {
        if (cell.state == StampState::kPending) cell.state = self.lost() ? StampState::kLost : StampState::kFailed;
    });
}

Result<CudaBackend::Queue> CudaBackend::open_queue(CUstream_st* stream) {
    Impl& self = *impl_;
    if (stream == nullptr)
        return Error{Errc::kInvalidArgument, 0,
                     "open_queue() needs the stream that the work is launched on; where that is the default stream, "
                     "give 0x1 (legacy) or 0x2 (per thread)"};
    if (const Status state = health(); !state.ok()) return state.error();
    if (!self.open) return Error{Errc::kUnsupported, 0, "the backend was shut down"};
    auto marked = std::make_unique<MarkedStream>();
    marked->handle = driver_stream(stream);
    marked->special = stream == special_stream(1) || stream == special_stream(2);
    {
        const DriverScope scope(self.cu, self.context);
        if (!self.usable(scope)) return call_error(Errc::kDriver, scope.call(), scope.code());
        Context context = self.context;
        if (self.cu.StreamGetCtx != nullptr)
            if (const Code code = self.cu.StreamGetCtx(marked->handle, &context); code != kSuccess)
                return call_error(Errc::kDriver, "cuStreamGetCtx", code);
        if (context != self.context)
            return Error{Errc::kInvalidArgument, 0,
                         "the stream is of another context: make a backend for each context"};
    }
    self.streams.push_back(std::move(marked));
    return Queue(self.streams.back().get());
}

void CudaBackend::close_queue(Queue& queue) noexcept {
    if (queue.stream_ != nullptr) Impl::stream_of(queue)->closed = true;
}

Status CudaBackend::health() const {
    const char* const call = impl_->fatal_call.load();
    if (call == nullptr) return {};
    return call_error(Errc::kDeviceLost, call, impl_->fatal_code.load());
}

CudaBackend::Stats CudaBackend::stats() const noexcept {
    const Impl& self = *impl_;
    Stats out;
    for (const auto& stream : self.streams) out.marks += stream->marks.get();
    out.refused = self.refused.load(std::memory_order_relaxed);
    out.queries = self.queries.get() + self.chain.measurements();
    out.failed = self.failed.get();
    out.origins = self.chain.appended() + 1;
    out.coarse_origins = self.chain.coarse();
    out.heartbeats = self.heartbeats.get();
    out.events_held = self.created.get() - self.destroyed.get();
    return out;
}

Caps CudaBackend::caps(const Queue& queue) const {
    if (queue.stream_ == nullptr) return {.reason = "the queue was not opened: use open_queue()"};
    if (impl_->lost()) return {.reason = "the context is gone: health() says why"};
    return {.ns_per_tick = 1, .valid_bits = 64, .resolution_ns = kResolutionNs, .calibrated = true};
}

bool CudaBackend::reserve(uint32_t first, uint32_t count) noexcept {
    Impl& self = *impl_;
    if (!self.open || self.lost() || !self.cells.reserve(first, count)) return false;
    const DriverScope scope(self.cu, self.context);
    if (!self.usable(scope)) return false;
    for (uint32_t slot = first; slot < first + count; ++slot) {
        EventCell& cell = *self.cells.find(slot);
        if (cell.event == nullptr) cell.event = self.make_event();
        if (cell.event == nullptr) return false;
    }
    return true;
}

bool CudaBackend::mark(Queue& queue, uint32_t slot) noexcept {
    Impl& self = *impl_;
    EventCell* const cell = self.cells.find(slot);
    MarkedStream* const stream = Impl::stream_of(queue);
    if (stream == nullptr || stream->closed || cell == nullptr || cell->event == nullptr || !self.open || self.lost())
        [[unlikely]]
        return self.refuse();
    if (std::exchange(stream->refuse_next, false)) [[unlikely]]
        return self.refuse();
    if (const Code code = self.cu.EventRecord(cell->event, stream->handle); code != kSuccess) [[unlikely]] {
        if (is_fatal(code)) self.lose(code, "cuEventRecord");
        // The handle is stale; that of the default stream may only be another context's on this thread just now.
        if (code == kInvalidHandle && !stream->special) stream->closed = true;
        return self.refuse();
    }
    cell->stream = stream;
    cell->number = ++stream->recorded;
    cell->state = StampState::kPending;
    stream->marks.add();
    return true;
}

bool CudaBackend::is_capturing(const Queue& queue) const noexcept {
    MarkedStream* const stream = Impl::stream_of(queue);
    if (stream == nullptr || stream->closed || !impl_->open || impl_->lost()) [[unlikely]]
        return false;
    int status = kCaptureStatusNone;
    const Code code = impl_->cu.StreamIsCapturing(stream->handle, &status);
    if (code == kSuccess) [[likely]]
        return status != kCaptureStatusNone;
    // The default stream beside a capture: an event there would invalidate it.
    if (code >= kStreamCaptureUnsupported && code <= kStreamCaptureWrongThread) return true;
    if (is_fatal(code)) impl_->lose(code, "cuStreamIsCapturing");
    if (code == kInvalidHandle && !stream->special) stream->closed = true;
    stream->refuse_next = true;    // whether a stamp would do harm is not known
    return false;
}

Code CudaBackend::Impl::query(Event event) noexcept {
    queries.add();
    return cu.EventQuery(event);
}

// Whether everything is over with this answer about an event of our own.
bool CudaBackend::Impl::is_over(Code code, const char* call) noexcept {
    if (!is_fatal(code) && code != kInvalidHandle && code != kInvalidContext) return false;
    lose(code, call);
    return true;
}

bool CudaBackend::Impl::is_complete(EventCell& cell) noexcept {
    MarkedStream& stream = *cell.stream;
    if (cell.number <= stream.complete) return true;
    const Code code = query(cell.event);
    if (code == kNotReady || is_over(code, "cuEventQuery")) return false;
    if (code != kSuccess) {
        cell.state = StampState::kFailed;
        failed.add();
        return false;
    }
    stream.complete = cell.number;
    return true;
}

// A batch in the order of a stream: where its last stamp is complete, one query answers for all.
void CudaBackend::Impl::probe_last(std::span<const uint32_t> slots) noexcept {
    for (std::size_t i = slots.size(); i-- > 0;) {
        EventCell* const cell = cells.find(slots[i]);
        if (cell == nullptr || cell->state != StampState::kPending) continue;
        static_cast<void>(is_complete(*cell));
        return;
    }
}

void CudaBackend::Impl::resolve(EventCell& cell) noexcept {
    if (!is_complete(cell)) return;
    const OriginChain::Answer answer = chain.place(cell.event);
    if (answer.code == kNotReady || is_over(answer.code, "cuEventElapsedTime")) return;
    if (answer.code != kSuccess) {
        cell.state = StampState::kFailed;
        failed.add();
        return;
    }
    cell.ticks = answer.ticks;
    cell.state = StampState::kReady;
    if (answer.past_newest_ns >= OriginChain::kHopNs) promote(cell.event, answer.ticks);
}

// The event becomes an origin; whose it was gets another one. Without one it stays as it is.
void CudaBackend::Impl::promote(Event& event, uint64_t ticks) noexcept {
    Event fresh = std::exchange(spare, nullptr);
    if (fresh == nullptr) fresh = make_event();
    if (fresh == nullptr) return;
    spare = chain.append(event, ticks);
    event = fresh;
}

// An origin of our own, for times in which no stamp passes. Looked at after the stamps of a batch, which lie before it.
void CudaBackend::Impl::beat() noexcept {
    if (lost()) return;
    if (heartbeat_recorded) {
        const Code code = query(heartbeat);
        if (code == kNotReady || is_over(code, "cuEventQuery")) return;
        heartbeat_recorded = false;
        if (code != kSuccess) return;
        const OriginChain::Answer answer = chain.place(heartbeat);
        if (answer.code == kSuccess && answer.past_newest_ns >= OriginChain::kHopNs)
            promote(heartbeat, answer.ticks);
        else
            static_cast<void>(is_over(answer.code, "cuEventElapsedTime"));
        return;
    }
    const int64_t at = now().value;
    if (at - heartbeat_ns < kHeartbeatNs) return;
    heartbeat_ns = at;
    const Code code = cu.EventRecord(heartbeat, own);
    if (is_over(code, "cuEventRecord") || code != kSuccess) return;
    heartbeat_recorded = true;
    heartbeats.add();
}

Stamp CudaBackend::Impl::at(uint32_t slot, bool may_call) noexcept {
    EventCell* const cell = cells.find(slot);
    if (cell == nullptr || cell->stream == nullptr) return {{}, StampState::kFailed};
    if (cell->state == StampState::kPending && may_call && !lost()) resolve(*cell);
    if (cell->state == StampState::kPending && lost()) cell->state = StampState::kLost;
    return {Ticks{cell->ticks}, cell->state};
}

void CudaBackend::poll(std::span<const uint32_t> slots, std::span<Stamp> out) noexcept {
    Impl& self = *impl_;
    if (!self.open || self.lost()) {
        for (std::size_t i = 0; i < slots.size(); ++i) out[i] = self.at(slots[i], false);
        return;
    }
    const DriverScope scope(self.cu, self.context);
    const bool may_call = self.usable(scope);
    if (may_call && slots.size() > 1) self.probe_last(slots);
    for (std::size_t i = 0; i < slots.size(); ++i) out[i] = self.at(slots[i], may_call);
    if (may_call) self.beat();
}

// One event between two readings of the host's clock.
Result<ClockAnchor> CudaBackend::Impl::find_anchor() {
    const HostNs before = now();
    if (const Code code = cu.EventRecord(anchor, own); code != kSuccess)
        return call_error(is_over(code, "cuEventRecord") ? Errc::kDeviceLost : Errc::kDriver, "cuEventRecord", code);
    for (int looks = 0;; ++looks) {
        const Code code = query(anchor);
        const HostNs after = now();
        if (code == kSuccess) {
            const OriginChain::Answer answer = chain.place(anchor);
            // After a pause the tick is as coarse as the pause was long: it counts as the truth from here on.
            if (answer.code == kSuccess && answer.past_newest_ns >= OriginChain::kHopNs) promote(anchor, answer.ticks);
            if (answer.code == kSuccess)
                return ClockAnchor{.device = Ticks{answer.ticks},
                                   .host = HostNs{before.value + (after.value - before.value) / 2},
                                   .uncertainty_ns = (after.value - before.value) / 2 + 1};
            if (answer.code != kNotReady) {
                const bool over = is_over(answer.code, "cuEventElapsedTime");
                return call_error(over ? Errc::kDeviceLost : Errc::kDriver, "cuEventElapsedTime", answer.code);
            }
        } else if (code != kNotReady) {
            return call_error(is_over(code, "cuEventQuery") ? Errc::kDeviceLost : Errc::kDriver, "cuEventQuery", code);
        }
        if (after.value - before.value > options.anchor_wait_ns || looks == kMostLooks)
            return Error{Errc::kPending, 0,
                         "the device did not get to the stamp that pairs the clocks: calibrate "
                         "again later"};
        if (looks > kLooksWithoutPause) nanosleep(&kPause, nullptr);
    }
}

Result<ClockAnchor> CudaBackend::calibrate(Queue& /*queue*/) {
    Impl& self = *impl_;
    if (const Status state = health(); !state.ok()) return state.error();
    if (!self.open) return Error{Errc::kUnsupported, 0, "the backend was shut down"};
    const DriverScope scope(self.cu, self.context);
    if (!self.usable(scope)) return call_error(Errc::kDriver, scope.call(), scope.code());
    Result<ClockAnchor> best = self.find_anchor();
    for (int i = 1; i < kAnchorTries && best.ok(); ++i) {
        const Result<ClockAnchor> other = self.find_anchor();
        if (other.ok() && other->uncertainty_ns < best->uncertainty_ns) best = other;
    }
    return best;
}

static_assert(Backend<CudaBackend>);

}    // namespace lapwing
