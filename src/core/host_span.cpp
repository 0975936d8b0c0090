#include "core/host_span_registry.hpp"
#include "lapwing/span.hpp"

namespace lapwing {

namespace detail {

[[gnu::tls_model("initial-exec")]] thread_local constinit std::atomic<HostSpanCell*> t_host_cursor{nullptr};

namespace {

bool at_chunk_end(const HostSpanCell* cursor) noexcept {
    return (reinterpret_cast<uintptr_t>(cursor) & (kHostChunkBytes - 1)) == 0;
}

void publish(HostSpanCell* cursor) noexcept {
    t_host_cursor.store(cursor, std::memory_order_release);
}

// Hands the chunk that `cursor` is at the end of over and opens the next one, or the scratch chunk where the ring is
// full. Null: this thread has no ring.
HostSpanCell* open_chunk(HostSpanCell* cursor) noexcept {
    HostSpanRing* ring = nullptr;
    if (cursor == nullptr) {
        // A span that was begun and whose level was lowered meanwhile, as in a child of fork(), is no reason to start.
        if (host_spans_on()) ring = attach_thread();
        if (ring == nullptr) return nullptr;
    } else if (cursor == kEndedCursor) {
        return nullptr;
    } else {
        const HostChunkHeader& header = header_of(cursor);
        ring = header.ring;
        // Plain load and store: only this thread writes these. Release: `filled` hands the chunk's cells over, and
        // both are seen before the cursor that moves on (HostRingReader::position).
        std::atomic<uint64_t>& count = header.is_scratch != 0 ? ring->dropped : ring->filled;
        count.store(count.load(std::memory_order_relaxed) + (header.is_scratch != 0 ? kScratchCells : 1),
                    std::memory_order_release);
    }
    const uint64_t filled = ring->filled.load(std::memory_order_relaxed);
    // Acquire: the drain has read a chunk before it gives it back, and only then is it written again.
    const bool full = filled - ring->emptied.load(std::memory_order_acquire) >= ring->chunk_count;
    HostSpanCell* const cell = full ? ring->scratch_begin() : ring->chunk(filled) + 1;
    publish(cell);
    return cell;
}

}    // namespace

void record_host_span_cold(uint64_t begin, uint64_t end, SiteId site) noexcept {
    if (begin == 0) return;    // the first lap after the level was raised
    HostSpanCell* cell = t_host_cursor.load(std::memory_order_relaxed);
    if (at_chunk_end(cell)) cell = open_chunk(cell);
    const uint64_t ticks = end - begin;
    const bool is_long = ticks >= kLongHostSpan;
    if (is_long && cell != nullptr && at_chunk_end(cell + 1) && header_of(cell + 1).is_scratch == 0) {
        // The two cells of a long span stay in one chunk, so that neither can be dropped without the other: this last
        // cell says nothing.
        *cell = HostSpanCell{0, kLongHostSpan, 0};
        publish(cell + 1);
        cell = open_chunk(cell + 1);
    }
    if (cell == nullptr) {
        count_ringless_drop();
        return;
    }
    if (!is_long) {
        *cell = HostSpanCell{begin, static_cast<uint32_t>(ticks), site};
        publish(cell + 1);
    } else if (header_of(cell + 1).is_scratch != 0) {
        publish(cell + 1);    // a drop of one span: one cell
    } else {
        cell[0] = HostSpanCell{begin, kLongHostSpan, site};
        cell[1] = HostSpanCell{ticks, kLongHostSpan, site};
        publish(cell + 2);
    }
}

}    // namespace detail

}    // namespace lapwing
