// Records of threads and spans of devices into statistics.
#include <algorithm>

#include "views/brick_state.hpp"

namespace lapwing {

using detail::BrickChunk;
using detail::BrickRecord;
using detail::BrickShard;
using detail::BrickTally;

struct BrickProfiler::State::Folding {
    BrickShard& shard;
    HostScale scale;
    detail::BrickSpanOutput* to;
    bool counts_unsent;
};

bool BrickProfiler::State::take_warmup(uint16_t key, BrickClock clock) noexcept {
    std::atomic<uint32_t>& left = warmup_left[2 * std::size_t{key} + static_cast<std::size_t>(clock)];
    uint32_t seen = left.load(std::memory_order_relaxed);
    while (seen != 0 && !left.compare_exchange_weak(seen, seen - 1, std::memory_order_relaxed)) {
    }
    return seen != 0;
}

void BrickProfiler::State::fold(BrickShard& shard, detail::BrickSpanOutput* to, bool counts_unsent) {
    Folding folding{shard, host_scale(), to, counts_unsent};
    for (;;) {
        BrickChunk* const chunk = shard.tail;
        const uint32_t count = chunk->count.load(std::memory_order_acquire);
        fold_records(folding, chunk->records + shard.folded, count - shard.folded);
        shard.folded = count;
        BrickChunk* const next = chunk->next.load(std::memory_order_acquire);
        if (next == nullptr) break;
        // The link was made behind the chunk's last record.
        if (chunk->count.load(std::memory_order_acquire) != count) continue;
        shard.tail = next;
        shard.folded = 0;
        shard.recycle(chunk);
    }
    if (to != nullptr) to->deliver();
}

void BrickProfiler::State::fold_all() {
    for (const auto& shard : shards) {
        const std::lock_guard lock(shard->mutex);
        fold(*shard, output.get());
    }
}

void BrickProfiler::State::fold_records(Folding& folding, const BrickRecord* records, uint32_t count) {
    constexpr uint16_t kPlain = 3;    // no flag beside the mode
    detail::BrickTallies& tallies = folding.shard.tallies;
    // A negative distance comes out far above kMaxBrickNs.
    __extension__ typedef unsigned __int128 Wide;
    const uint64_t multiplier = folding.scale.multiplier;
    const uint16_t plain = folding.to != nullptr || folding.counts_unsent ? 0 : kPlain + 1;
    for (const BrickRecord* record = records; record != records + count; ++record) {
        const uint16_t flags = record->flags();
        if (flags >= plain) [[unlikely]] {
            const bool more = (flags & detail::kRecordMore) != 0;
            fold_special(folding, *record, more ? record + 1 : nullptr);
            record += more ? 1 : 0;
            continue;
        }
        BrickStats* const stats = tallies.settled(record->brick());
        const auto ns = static_cast<uint64_t>((static_cast<Wide>(record->ticks) * multiplier) >> 48);
        uint64_t elements = 0;
        if (stats == nullptr || ns > kMaxBrickNs ||
            __builtin_add_overflow(stats->total_elements, record->elements, &elements)) [[unlikely]] {
            fold_special(folding, *record, nullptr);
            continue;
        }
        stats->add_judged(ns, record->elements, SyncMode(flags));
        if (record->parent() != detail::kNoBrick) tallies.at(record->parent()).stats.child_ns += ns;
    }
}

// Whatever is rare, and everything while there is a sink.
void BrickProfiler::State::fold_special(Folding& folding, const BrickRecord& record, const BrickRecord* more) {
    if ((record.flags() & detail::kRecordUntilSync) != 0) {
        if (folding.shard.pending.size() >= options.max_pending) return fault(BrickFault::kRecordsFull);
        folding.shard.pending.push_back({record.begin, record.elements, record.brick()});
        return;
    }
    BrickSample sample{.ns = record.ticks, .elements = record.elements, .mode = SyncMode(record.flags() & 3)};
    if (more != nullptr) {
        sample.input_bytes = more->begin;
        sample.output_bytes = more->ticks;
        sample.cycles = more->elements;
    }
    auto begin_ns = static_cast<int64_t>(record.begin);
    if ((record.flags() & detail::kRecordNanoseconds) == 0) {
        begin_ns = folding.scale.to_host(HostTicks{record.begin}).value;
        // With a sink both ends are converted, as for every host span, so that bricks that share a tick share a
        // nanosecond; without one, as in the loop above.
        const auto ticks = static_cast<int64_t>(record.ticks);
        sample.ns = static_cast<uint64_t>(
            folding.to == nullptr ? folding.scale.to_ns(ticks)
                                  : folding.scale.to_host(HostTicks{record.begin + record.ticks}).value - begin_ns);
    }
    take(folding, record, begin_ns, sample);
}

void BrickProfiler::State::take(Folding& folding, const BrickRecord& record, int64_t begin_ns, BrickSample sample) {
    if (static_cast<int64_t>(sample.ns) < 0) return fault(BrickFault::kNegativeDuration);
    if (sample.ns > kMaxBrickNs) return fault(BrickFault::kOverflow);
    BrickTally& tally = folding.shard.tallies.at(record.brick());
    const bool warmup = tally.warming && take_warmup(record.brick(), BrickClock::kHost);
    if (!warmup) folding.shard.tallies.end_warmup(record.brick());
    if (warmup) {
        tally.stats.add_warmup(sample.ns);
    } else if (const BrickFault refused = tally.stats.add(sample); refused != BrickFault::kNone) {
        return fault(refused);
    }
    if (record.parent() != detail::kNoBrick) folding.shard.tallies.at(record.parent()).stats.child_ns += sample.ns;
    if (folding.to != nullptr)
        folding.to->add(folding.shard, record, begin_ns, static_cast<int64_t>(sample.ns), warmup);
    else if (folding.counts_unsent)
        unsent.fetch_add(1, std::memory_order_relaxed);
}

void BrickProfiler::State::add_device_sample(const detail::BrickDeviceEntry& entry, uint64_t ns) {
    if (ns > kMaxBrickNs) return fault(BrickFault::kOverflow);
    BrickStats& stats = device_tallies.at(entry.brick).stats;
    if (entry.warmup) {
        stats.add_warmup(ns);
    } else {
        BrickSample sample = entry.work;
        sample.ns = ns;
        sample.mode = SyncMode::kDeferred;
        if (const BrickFault refused = stats.add(sample); refused != BrickFault::kNone) return fault(refused);
    }
    if (entry.parent != detail::kNoBrick) device_tallies.at(entry.parent).stats.child_ns += ns;
}

LossCounts BrickProfiler::State::lost_spans() const {
    LossCounts lost = lost_before;
    if (output != nullptr) lost += output->lost();
    lost[LossReason::kRingFull] += unsent.load(std::memory_order_relaxed);
    return lost;
}

}    // namespace lapwing
