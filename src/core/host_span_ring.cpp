#include "core/host_span_ring.hpp"

#include <sys/mman.h>

#include <new>

#include "lapwing/result.hpp"

namespace lapwing::detail {

namespace {
constexpr std::size_t kHugePageBytes = std::size_t{2} << 20;
constexpr std::size_t kPageBytes = 4096;    // touching more often than a page of 16 or 64 KiB needs does no harm

// mmap aligned to `alignment`, by cutting off what lies around it.
std::byte* map_aligned(std::size_t bytes, std::size_t alignment) noexcept {
    const std::size_t asked = bytes + alignment;
    void* const mapped = mmap(nullptr, asked, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) return nullptr;
    auto* const raw = static_cast<std::byte*>(mapped);
    const auto address = reinterpret_cast<uintptr_t>(raw);
    const std::size_t before = (alignment - address % alignment) % alignment;
    if (before != 0) munmap(raw, before);
    munmap(raw + before + bytes, alignment - before);
    return raw + before;
}
}    // namespace

HostSpanRing* map_ring(std::size_t bytes) noexcept {
    LAPWING_ASSERT(bytes % kHostChunkBytes == 0 && bytes >= 2 * kHostChunkBytes);
    const bool huge = bytes % kHugePageBytes == 0;
    std::byte* const chunks = map_aligned(bytes, huge ? kHugePageBytes : kHostChunkBytes);
    if (chunks == nullptr) return nullptr;
    if (huge) madvise(chunks, bytes, MADV_HUGEPAGE);    // fewer faults and TLB misses; not having it is no fault
    // The first touch of a page costs more than 100 spans: here, not on the engine's path.
    for (std::size_t offset = 0; offset < bytes; offset += kPageBytes)
        *reinterpret_cast<volatile std::byte*>(chunks + offset) = std::byte{0};

    const std::size_t chunk_count = bytes / kHostChunkBytes - 1;
    std::byte* const scratch = chunks + chunk_count * kHostChunkBytes;
    auto* const ring = new (scratch + alignof(HostSpanRing)) HostSpanRing;
    ring->chunks = chunks;
    ring->chunk_count = chunk_count;
    for (std::size_t i = 0; i <= chunk_count; ++i)
        new (chunks + i * kHostChunkBytes) HostChunkHeader{ring, i == chunk_count ? 1u : 0u};
    return ring;
}

void unmap_ring(HostSpanRing* ring) noexcept {
    munmap(ring->chunks, ring->mapped_bytes());
}

void reset_ring(HostSpanRing& ring) noexcept {
    ring.filled.store(0, std::memory_order_relaxed);
    ring.dropped.store(0, std::memory_order_relaxed);
    ring.emptied.store(0, std::memory_order_relaxed);
    ring.next_cell = 1;
    ring.reported_drops = 0;
    ring.cursor = nullptr;
    ring.last_cursor = nullptr;
}

}    // namespace lapwing::detail
