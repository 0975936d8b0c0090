// The ring that one thread fills with host spans and one drain at a time empties.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "lapwing/span.hpp"

namespace lapwing::detail {

inline constexpr std::size_t kCellsPerChunk = kHostChunkBytes / sizeof(HostSpanCell);    // cell 0 is the header

/// Spans dropped before a full ring is looked at again. Small, because a drain's freed chunk is found that much later.
inline constexpr std::size_t kScratchCells = 64;

/// A cursor of a thread that has ended: at a chunk's end, so that the hot path turns to the cold one, and not null, so
/// that the cold one makes no new ring.
inline const auto kEndedCursor = reinterpret_cast<HostSpanCell*>(kHostChunkBytes);

struct HostSpanRing;

/// What stands in cell 0 of every chunk.
struct HostChunkHeader {
    HostSpanRing* ring;
    uint64_t is_scratch;
};
static_assert(sizeof(HostChunkHeader) == sizeof(HostSpanCell));

/// A ring's state. It lies in the ring's own mapping: behind the header of the scratch chunk, of which only the last
/// kScratchCells cells are written. The scratch chunk is where a thread writes while the ring is full: same shape, same
/// code, same cost, and nobody reads it.
struct HostSpanRing {
    // Written by the recording thread.
    alignas(64) std::atomic<uint64_t> filled{0};    // chunks handed over; the open one is number `filled`
    std::atomic<uint64_t> dropped{0};               // spans of scratch chunks that were written to their end

    // Written by the drain. On a line of its own: the thread reads it once a chunk only.
    alignas(64) std::atomic<uint64_t> emptied{0};    // chunks given back
    uint32_t next_cell = 1;                          // first cell of chunk `emptied` that was not read yet
    uint64_t reported_drops = 0;

    // Guarded by the registry's mutex.
    alignas(64) HostSpanRing* next = nullptr;
    std::atomic<HostSpanCell*>* cursor = nullptr;    // the thread's TLS word; null once it has ended
    HostSpanCell* last_cursor = nullptr;             // where it ended

    // Constant while a thread owns the ring.
    std::byte* chunks = nullptr;    // chunk_count chunks, then the scratch chunk
    std::size_t chunk_count = 0;
    uint64_t thread_id = 0;
    uint64_t serial = 0;    // of the owning thread, never used twice in a process

    [[nodiscard]] HostSpanCell* chunk(uint64_t number) const noexcept {
        return reinterpret_cast<HostSpanCell*>(chunks + (number % chunk_count) * kHostChunkBytes);
    }
    [[nodiscard]] HostSpanCell* scratch_begin() const noexcept {
        return reinterpret_cast<HostSpanCell*>(chunks + chunk_count * kHostChunkBytes) +
               (kCellsPerChunk - kScratchCells);
    }
    [[nodiscard]] std::size_t mapped_bytes() const noexcept { return (chunk_count + 1) * kHostChunkBytes; }
};
static_assert(std::is_trivially_destructible_v<HostSpanRing>);
static_assert(sizeof(HostSpanCell) + alignof(HostSpanRing) + sizeof(HostSpanRing) <=
              (kCellsPerChunk - kScratchCells) * sizeof(HostSpanCell));

/// The header of the chunk that a cursor writes to. Shape: `cursor` is behind a cell of that chunk, perhaps at its end.
[[nodiscard]] inline const HostChunkHeader& header_of(const HostSpanCell* cursor) noexcept {
    const auto last = reinterpret_cast<uintptr_t>(cursor - 1);
    return *reinterpret_cast<const HostChunkHeader*>(last & ~(kHostChunkBytes - 1));
}

/// Maps a ring of `bytes`, every page touched. Null where the system refuses.
[[nodiscard]] HostSpanRing* map_ring(std::size_t bytes) noexcept;
void unmap_ring(HostSpanRing* ring) noexcept;

/// Readies an unmapped-before or used ring for another thread.
void reset_ring(HostSpanRing& ring) noexcept;

}    // namespace lapwing::detail
