#include "lapwing/brick_profiler.hpp"

#include <algorithm>
#include <cmath>

#include "lapwing/clock.hpp"
#include "views/brick_state.hpp"

namespace lapwing {

namespace {
constinit std::atomic<uint64_t> g_profilers{0};

uint64_t elapsed_at(uint64_t tick, uint64_t from_tick, uint64_t from_ns, uint64_t multiplier) noexcept {
    const HostScale scale{.base_tick = from_tick, .base_ns = 0, .multiplier = multiplier};
    const int64_t ns = scale.to_host(HostTicks{tick}).value;
    return ns < 0 ? from_ns : from_ns + static_cast<uint64_t>(ns);
}
}    // namespace

BrickProfiler::State::State(BrickProfiler& profiler, const BrickProfilerOptions& options_in)
    : options(options_in),
      names(options_in.max_named_bricks),
      enabled(options_in.enabled),
      warmup_left(std::make_unique<std::atomic<uint32_t>[]>(2 * max_keys())),
      device_tallies(max_keys()),
      device_view(profiler) {
    for (std::size_t i = 0; i < 2 * max_keys(); ++i)
        warmup_left[i].store(options.warmup_samples, std::memory_order_relaxed);
    set_epoch(false);
}

void BrickProfiler::State::set_epoch(bool keep_elapsed) noexcept {
    const uint64_t now = tick().value;
    detail::BrickEpoch next{now, 0, host_scale().multiplier};
    if (keep_elapsed) {
        const detail::BrickEpoch last = epoch.load().value;
        next.ns = elapsed_at(now, last.tick, last.ns, last.multiplier);
    }
    epoch.store(next);
}

BrickProfiler::BrickProfiler(const BrickProfilerOptions& options)
    : serial_(g_profilers.fetch_add(1, std::memory_order_relaxed) + 1), impl_(std::make_unique<State>(*this, options)) {
    LAPWING_ASSERT(options.max_named_bricks <= 60000);
    publish_state();
}

BrickProfiler::~BrickProfiler() = default;

void BrickProfiler::publish_state() noexcept {
    uint8_t state = 0;
    if (impl_->enabled.load(std::memory_order_relaxed)) {
        const SyncMode mode = impl_->mode.load(std::memory_order_relaxed);
        state = static_cast<uint8_t>(detail::kBrickOn | static_cast<unsigned>(mode) << 1);
        if (mode == SyncMode::kImmediate) state |= detail::kBrickWaits;
        if (mode == SyncMode::kDeferred && impl_->device.load(std::memory_order_relaxed) != nullptr)
            state |= detail::kBrickOnDevice;
    }
    state_.store(state, std::memory_order_release);
}

void BrickProfiler::enable() noexcept {
    impl_->enabled.store(true, std::memory_order_relaxed);
    publish_state();
}
void BrickProfiler::disable() noexcept {
    impl_->enabled.store(false, std::memory_order_relaxed);
    publish_state();
}

BrickFault BrickProfiler::count_fault(BrickFault fault) noexcept {
    impl_->fault(fault);
    return fault;
}

// --- Names -----------------------------------------------------------------------------------------------------------

Result<BrickKey> BrickProfiler::brick(std::string_view name) {
    const Result<uint16_t> key = impl_->names.key_of(name);
    if (!key.ok()) return key.error();
    key_count_.store(impl_->names.size(), std::memory_order_relaxed);
    return BrickKey(key.value());
}

Result<BrickCategory> BrickProfiler::register_category(std::string_view name) {
    return impl_->names.add_category(name);
}

Result<BrickKey> BrickProfiler::register_brick(std::string_view name, BrickCategory category) {
    const Result<uint16_t> key = impl_->names.add(name, category);
    if (!key.ok()) return key.error();
    key_count_.store(impl_->names.size(), std::memory_order_relaxed);
    return BrickKey(key.value());
}

BrickTimer BrickProfiler::start(std::string_view name) noexcept {
    if (!is_enabled()) return {};
    const std::optional<BrickKey> key = key_on_thread(name);
    return key ? start_brick(*key) : BrickTimer{};
}

std::optional<BrickKey> BrickProfiler::key_on_thread(std::string_view name) noexcept {
    if (const auto id = parse_brick_id(name)) return BrickKey(*id);
    auto& known = static_cast<detail::BrickShard&>(this_thread()).keys;
    if (const auto found = known.find(name); found != known.end()) return BrickKey(found->second);
    const Result<BrickKey> key = brick(name);
    if (!key.ok()) {
        count_fault(BrickFault::kUnknownBrick);
        return std::nullopt;
    }
    known.emplace(name, key.value().value());
    return key.value();
}

BrickFault BrickProfiler::record_elapsed(std::string_view name, int64_t duration_ns, uint64_t elements) noexcept {
    return record_elapsed_with_bytes(name, duration_ns, elements, 0, 0);
}

BrickFault BrickProfiler::record_elapsed_with_bytes(std::string_view name, int64_t duration_ns, uint64_t elements,
                                                    uint64_t input_bytes, uint64_t output_bytes) noexcept {
    if (!is_enabled()) return BrickFault::kNone;
    if (duration_ns < 0) return count_fault(BrickFault::kNegativeDuration);
    const std::optional<BrickKey> key = key_on_thread(name);
    if (!key) return BrickFault::kUnknownBrick;
    return record(*key, {.ns = static_cast<uint64_t>(duration_ns),
                         .elements = elements,
                         .input_bytes = input_bytes,
                         .output_bytes = output_bytes,
                         .mode = sync_mode()});
}

BrickFault BrickProfiler::record(BrickKey key, const BrickSample& sample) noexcept {
    if (!is_enabled()) return BrickFault::kNone;
    if (key.value() >= key_count_.load(std::memory_order_relaxed)) return count_fault(BrickFault::kUnknownBrick);
    if (sample.elements == 0) return count_fault(BrickFault::kNoElements);
    if (sample.ns > kMaxBrickNs) return count_fault(BrickFault::kOverflow);
    detail::BrickRecord record{};
    record.begin = static_cast<uint64_t>(host_now().value) - sample.ns;
    record.ticks = sample.ns;
    record.elements = sample.elements;
    record.what = detail::BrickRecord::pack(
        key.value(), {}, static_cast<uint16_t>(detail::kRecordNanoseconds | static_cast<unsigned>(sample.mode)));
    return write(record, sample, Nesting::kInsideCurrent);
}

Status BrickProfiler::set_brick_bottleneck(std::string_view name, BrickBottleneck bottleneck) {
    const BrickSnapshot now = snapshot();
    if (const auto known = now.stats(name); !known.ok()) return known.error();
    const Result<uint16_t> key = impl_->names.key_of(name);
    if (!key.ok()) return key.error();
    const std::lock_guard lock(impl_->mutex);
    if (impl_->bottlenecks.size() <= key.value()) impl_->bottlenecks.resize(key.value() + std::size_t{1});
    impl_->bottlenecks[key.value()] = bottleneck;
    return {};
}

Status BrickProfiler::set_brick_work(std::string_view name, const OpWork& work) {
    const Result<BrickKey> key = brick(name);
    if (!key.ok()) return key.error();
    impl_->names.set_work(key->value(), work);
    return {};
}

// --- Waiting and layers ----------------------------------------------------------------------------------------------

void BrickProfiler::set_sync_function(SyncFunction function, void* context) noexcept {
    impl_->sync_context.store(context, std::memory_order_relaxed);
    impl_->sync.store(function, std::memory_order_release);
}

Status BrickProfiler::set_sync_mode(SyncMode mode) {
    const bool waits = mode == SyncMode::kImmediate || mode == SyncMode::kPerLayer;
    if (waits && impl_->sync.load(std::memory_order_relaxed) == nullptr)
        return Error{Errc::kInvalidArgument, 0,
                     std::string("sync mode ") + to_text(mode) +
                         " has nothing to wait with: call set_sync_function() first, or take SyncMode::kNone"};
    impl_->mode.store(mode, std::memory_order_relaxed);
    publish_state();
    return {};
}

SyncMode BrickProfiler::sync_mode() const noexcept {
    return impl_->mode.load(std::memory_order_relaxed);
}

void BrickProfiler::bind_device(BrickDevice* device) noexcept {
    if (device != nullptr) impl_->device_table.make();
    impl_->device.store(device, std::memory_order_release);
    publish_state();
}

SpanSink& BrickProfiler::device_view() noexcept {
    return impl_->device_view;
}

// --- Deferred --------------------------------------------------------------------------------------------------------

void BrickProfiler::reset_epoch() noexcept {
    impl_->set_epoch(false);
}

uint64_t BrickProfiler::elapsed_ns() const noexcept {
    const detail::BrickEpoch epoch = impl_->epoch.load().value;
    return elapsed_at(tick().value, epoch.tick, epoch.ns, epoch.multiplier);
}

BrickFault BrickProfiler::record_deferred(BrickKey key, uint64_t start_ns, uint64_t elements) noexcept {
    if (!is_enabled()) return BrickFault::kNone;
    if (key.value() >= key_count_.load(std::memory_order_relaxed)) return count_fault(BrickFault::kUnknownBrick);
    if (elements == 0) return count_fault(BrickFault::kNoElements);
    detail::BrickRecord record{};
    record.begin = start_ns;
    record.elements = elements;
    record.what = detail::BrickRecord::pack(key.value(), {}, detail::kRecordUntilSync);
    return write(record, {}, Nesting::kNone);
}

BrickFault BrickProfiler::record_deferred_dynamic(std::string_view name, uint64_t start_ns,
                                                  uint64_t elements) noexcept {
    if (!is_enabled()) return BrickFault::kNone;
    const std::optional<BrickKey> key = key_on_thread(name);
    return key ? record_deferred(*key, start_ns, elements) : BrickFault::kUnknownBrick;
}

void BrickProfiler::finalize(uint64_t end_ns) {
    const std::lock_guard lock(impl_->mutex);
    impl_->fold_all();
    for (const auto& shard : impl_->shards) {
        const std::lock_guard shard_lock(shard->mutex);
        for (const detail::PendingBrick& waiting : shard->pending) {
            BrickStats& stats = shard->tallies.at(waiting.brick).stats;
            ++stats.until_sync_count;
            stats.until_sync_ns += end_ns > waiting.start_ns ? end_ns - waiting.start_ns : 0;
        }
        shard->pending.clear();
    }
    impl_->set_epoch(true);    // takes the clock's newest rate
}

std::size_t BrickProfiler::pending_count() const {
    const std::lock_guard lock(impl_->mutex);
    impl_->fold_all();
    std::size_t count = 0;
    for (const auto& shard : impl_->shards) {
        const std::lock_guard shard_lock(shard->mutex);
        count += shard->pending.size();
    }
    return count;
}

// --- Totals and observations -----------------------------------------------------------------------------------------

void BrickProfiler::add_tokens(uint64_t count) noexcept {
    const std::lock_guard lock(impl_->mutex);
    impl_->tokens = impl_->tokens.value_or(0) + count;
}

void BrickProfiler::set_l2_cache_hit_rate(double rate) noexcept {
    if (std::isnan(rate)) return;
    const std::lock_guard lock(impl_->mutex);
    impl_->l2_cache_hit_rate = std::clamp(rate, 0.0, 1.0);
}

void BrickProfiler::set_zero_copy(bool on) noexcept {
    const std::lock_guard lock(impl_->mutex);
    impl_->zero_copy = on;
}

void BrickProfiler::reset() {
    State& state = *impl_;
    const std::lock_guard lock(state.mutex);
    state.fold_all();
    for (const auto& shard : state.shards) {
        const std::lock_guard shard_lock(shard->mutex);
        shard->tallies.clear();
        shard->layers.clear();
        shard->pending.clear();
    }
    state.device_tallies.clear();
    state.bottlenecks.clear();
    for (std::size_t i = 0; i < 2 * state.max_keys(); ++i)
        state.warmup_left[i].store(state.options.warmup_samples, std::memory_order_relaxed);
    for (auto& fault : state.faults) fault.store(0, std::memory_order_relaxed);
    state.overlapping.store(0, std::memory_order_relaxed);
    state.tokens.reset();
    state.l2_cache_hit_rate.reset();
    state.zero_copy = false;
    state.set_epoch(false);
}

// --- As spans --------------------------------------------------------------------------------------------------------

Status BrickProfiler::attach(SpanSink& sink, const BrickSinkOptions& options) {
    const std::lock_guard lock(impl_->mutex);
    if (impl_->output != nullptr)
        return Error{Errc::kInvalidArgument, 0, "this profiler already has a sink: call detach() first"};
    impl_->fold_all();    // what was before has no place in the recording
    for (const auto& shard : impl_->shards) shard->track = 0;
    impl_->output = std::make_unique<detail::BrickSpanOutput>(sink, options, impl_->names);
    impl_->has_output.store(true, std::memory_order_release);
    return impl_->output->status();
}

Status BrickProfiler::flush() {
    const std::lock_guard lock(impl_->mutex);
    if (impl_->output == nullptr) return {};
    impl_->fold_all();
    return impl_->output->flush();
}

Status BrickProfiler::detach() {
    const std::lock_guard lock(impl_->mutex);
    if (impl_->output == nullptr) return {};
    impl_->fold_all();
    impl_->has_output.store(false, std::memory_order_release);
    const Status closed = impl_->output->close(impl_->lost_spans());
    impl_->lost_before += impl_->output->lost();
    impl_->output.reset();
    return closed;
}

LossCounts BrickProfiler::lost_spans() const {
    const std::lock_guard lock(impl_->mutex);
    return impl_->lost_spans();
}

}    // namespace lapwing
