// The rare side of a thread that times bricks: its first brick, a full chunk, an unusual stop, layers, the device.
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "lapwing/clock.hpp"
#include "views/brick_state.hpp"

namespace lapwing {

using detail::BrickChunk;
using detail::BrickRecord;
using detail::BrickShard;
using detail::BrickThread;

namespace {

// The shards that this thread owns. At its end they are left to the profilers' next new threads.
struct OwnedShards {
    std::vector<std::shared_ptr<BrickShard>> shards;
    ~OwnedShards();
};
thread_local constinit bool t_ended = false;

OwnedShards& owned_shards() {
    thread_local OwnedShards owned;
    return owned;
}

OwnedShards::~OwnedShards() {
    t_ended = true;
    detail::t_brick_thread = &detail::g_no_brick_thread;
    // Release: who goes on with the shard sees what its last owner wrote.
    for (const auto& shard : shards) shard->ended.store(true, std::memory_order_release);
}

}    // namespace

BrickThread* BrickProfiler::find_thread() noexcept {
    if (!t_ended) {
        auto& owned = owned_shards().shards;
        for (const auto& shard : owned)
            if (shard->profiler == serial_) return detail::t_brick_thread = shard.get();
        // A shard that nobody else holds is a dead profiler's.
        owned.erase(
            std::remove_if(owned.begin(), owned.end(), [](const auto& shard) { return shard.use_count() == 1; }),
            owned.end());
    }
    const std::lock_guard lock(impl_->mutex);
    std::shared_ptr<BrickShard> mine;
    for (const auto& shard : impl_->shards)
        if (shard->ended.exchange(false, std::memory_order_acquire)) {
            mine = shard;
            break;
        }
    if (mine == nullptr) mine = impl_->shards.emplace_back(std::make_shared<BrickShard>(serial_, impl_->max_keys()));
    mine->place = {};
    mine->layer_begin = 0;
    {
        const std::lock_guard shard_lock(mine->mutex);
        mine->thread_id = static_cast<uint64_t>(syscall(SYS_gettid));
    }
    // A thread that is past its destructors has no end that could be seen: its shard stays its own.
    if (t_ended)
        new std::shared_ptr<BrickShard>(mine);    // NOLINT: kept on purpose, the TLS word may outlive the profiler
    else
        owned_shards().shards.push_back(mine);
    return detail::t_brick_thread = mine.get();
}

BrickChunk* BrickProfiler::next_chunk(BrickThread& thread) noexcept {
    auto& shard = static_cast<BrickShard&>(thread);
    const std::size_t max_chunks = std::max<std::size_t>(2, impl_->options.max_record_bytes / sizeof(BrickChunk));
    if (!shard.mutex.try_lock()) {
        BrickChunk* const fresh = shard.allocate(max_chunks);
        if (fresh != nullptr) shard.open_next(fresh);
        return fresh;
    }
    const std::lock_guard lock(shard.mutex, std::adopt_lock);
    const bool keeps = impl_->has_output.load(std::memory_order_acquire);
    if (keeps) {    // a flush folds the full chunk, and hands its spans over
        BrickChunk* next = shard.take_spare();
        if (next == nullptr) next = shard.allocate(max_chunks);
        if (next != nullptr) {
            shard.open_next(next);
            return next;
        }
    }
    impl_->fold(shard, nullptr, keeps);
    // All is folded, and nobody else may look: the chunk is begun again.
    shard.open->count.store(0, std::memory_order_relaxed);
    shard.folded = 0;
    return shard.open;
}

BrickFault BrickProfiler::write(BrickRecord record, const BrickSample& work, Nesting nesting) noexcept {
    BrickThread& thread = this_thread();
    const bool more = work.input_bytes != 0 || work.output_bytes != 0 || work.cycles != 0;
    const uint32_t needed = more ? 2 : 1;
    BrickChunk* chunk = thread.open;
    if (chunk->count.load(std::memory_order_relaxed) + needed > BrickChunk::kRecords) chunk = next_chunk(thread);
    if (chunk == nullptr) return count_fault(BrickFault::kRecordsFull);
    const uint32_t count = chunk->count.load(std::memory_order_relaxed);
    const uint16_t parent = nesting == Nesting::kNone            ? detail::kNoBrick
                            : nesting == Nesting::kInsideCurrent ? thread.place.brick()
                                                                 : record.parent();
    const auto flags = static_cast<uint16_t>(record.flags() | (more ? detail::kRecordMore : 0));
    record.what = BrickRecord::pack(record.brick(), thread.place.with_brick(parent), flags);
    if (more)
        chunk->records[count + 1] = {work.input_bytes, work.output_bytes, work.cycles,
                                     BrickRecord::pack(detail::kNoBrick, {}, 0)};
    chunk->records[count] = record;
    chunk->count.store(count + needed, std::memory_order_release);
    return BrickFault::kNone;
}

// A stop that the fast path leaves alone: no room, no elements, out of order, or on another thread.
BrickFault BrickProfiler::stop_unusual(BrickTimer started, uint64_t end, const BrickSample& work) noexcept {
    BrickRecord record{};
    record.begin = started.begin;
    record.ticks = end - started.begin;
    record.elements = work.elements;
    record.what = BrickRecord::pack(started.brick, started.around, mode_of(started));
    const Nesting nesting = leave(started);
    if (work.elements == 0) return count_fault(BrickFault::kNoElements);
    return write(record, work, nesting);
}

// Takes the brick off the thread's open ones.
BrickProfiler::Nesting BrickProfiler::leave(BrickTimer started) noexcept {
    BrickThread& thread = this_thread();
    if (thread.place.brick() == started.brick) {
        thread.place = thread.place.with_brick(started.around.brick());
        return Nesting::kAsRecorded;
    }
    // Out of order: nothing that is open now is known to be around anything.
    impl_->overlapping.fetch_add(1, std::memory_order_relaxed);
    thread.place = thread.place.with_brick(detail::kNoBrick);
    return Nesting::kNone;
}

BrickFault BrickProfiler::stop_special(BrickTimer started, const BrickSample& work) noexcept {
    if ((started.state & detail::kBrickStopped) != 0) return count_fault(BrickFault::kAlreadyStopped);
    if ((started.state & detail::kBrickOnDevice) != 0) return stop_on_device(started, work);
    if (const SyncFunction sync = impl_->sync.load(std::memory_order_acquire); sync != nullptr)
        sync(impl_->sync_context.load(std::memory_order_relaxed));
    return stop_unusual(started, tick().value, work);
}

BrickFault BrickProfiler::stop_brick(BrickTimer& timer, const BrickSample& work) noexcept {
    const BrickTimer started = timer;
    if (started.state == 0) return BrickFault::kNone;
    timer.state = detail::kBrickStopped;
    if ((started.state & detail::kBrickSpecial) != 0) return stop_special(started, work);
    return stop_unusual(started, tick().value, work);
}

void BrickProfiler::begin_layer(int32_t layer) noexcept {
    if (!is_enabled()) return;
    BrickThread& thread = this_thread();
    const bool fits = layer >= 0 && layer <= INT16_MAX;
    thread.place = thread.place.with_layer(fits ? static_cast<int16_t>(layer) : int16_t{-1});
    static_cast<BrickShard&>(thread).layer_begin = sync_mode() == SyncMode::kPerLayer ? tick().value : 0;
}

void BrickProfiler::end_layer() noexcept {
    BrickThread* const thread = detail::t_brick_thread;
    if (thread->profiler != serial_) return;    // no layer was begun here
    auto& shard = static_cast<BrickShard&>(*thread);
    const int16_t layer = shard.place.layer();
    const uint64_t begin = shard.layer_begin;
    shard.place = shard.place.with_layer(-1);
    shard.layer_begin = 0;
    const SyncFunction sync = impl_->sync.load(std::memory_order_acquire);
    if (begin == 0 || layer < 0 || sync == nullptr) return;
    const uint64_t launched = tick().value;
    sync(impl_->sync_context.load(std::memory_order_relaxed));
    const uint64_t end = tick().value;
    const HostScale scale = host_scale();
    const std::lock_guard lock(shard.mutex);
    auto at = std::find_if(shard.layers.begin(), shard.layers.end(),
                           [layer](const LayerStats& known) { return known.layer == layer; });
    if (at == shard.layers.end()) at = shard.layers.insert(at, LayerStats{.layer = layer});
    ++at->count;
    at->total_ns += static_cast<uint64_t>(scale.to_ns(static_cast<int64_t>(end - begin)));
    at->wait_ns += static_cast<uint64_t>(scale.to_ns(static_cast<int64_t>(end - launched)));
}

}    // namespace lapwing
