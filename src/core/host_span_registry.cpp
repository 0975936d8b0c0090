#include "core/host_span_registry.hpp"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <string>
#include <type_traits>
#include <utility>

#include "core/process_sites_fork.hpp"

namespace lapwing {

namespace detail {

namespace {

// Rings kept for the next thread when more than that are idle are unmapped, so that a burst of threads leaves no more
// than this behind.
constexpr std::size_t kMaxIdleRings = 4;
// Two chunks beside the scratch chunk: one to write while the other is read.
constexpr std::size_t kMinRingBytes = 3 * kHostChunkBytes;
constexpr std::size_t kMaxRingBytes = std::size_t{1} << 30;

struct Registry {
    std::mutex mutex;
    HostSpanRing* live = nullptr;    // owned by a thread, or ended and not drained
    HostSpanRing* idle = nullptr;
    std::size_t idle_count = 0;
    std::size_t mapped_bytes = 0;
    std::size_t ring_bytes = HostSpanOptions{}.bytes_per_thread;
    std::size_t max_bytes = HostSpanOptions{}.max_bytes;
    uint64_t next_serial = 1;

    // Set when no ring was to be had, so that a thread without one asks without the lock until one comes back.
    std::atomic<bool> exhausted{false};
    std::atomic<uint64_t> ringless_drops{0};
    std::atomic<bool> draining{false};
    std::atomic<bool> fork_handlers_set{false};
};
// Never destroyed: threads may record and end after the static destructors have run.
static_assert(std::is_trivially_destructible_v<Registry>);
constinit Registry g_registry;

void push(HostSpanRing*& list, HostSpanRing* ring) noexcept {
    ring->next = list;
    list = ring;
}

void unlink(HostSpanRing*& list, HostSpanRing* ring) noexcept {
    HostSpanRing** at = &list;
    while (*at != ring) at = &(*at)->next;
    *at = ring->next;
}

void make_idle(HostSpanRing* ring) noexcept {
    if (g_registry.idle_count == kMaxIdleRings || ring->mapped_bytes() != g_registry.ring_bytes) {
        g_registry.mapped_bytes -= ring->mapped_bytes();
        unmap_ring(ring);
    } else {
        reset_ring(*ring);
        push(g_registry.idle, ring);
        ++g_registry.idle_count;
    }
    g_registry.exhausted.store(false, std::memory_order_relaxed);
}

void drop_idle_rings() noexcept {
    while (g_registry.idle != nullptr) {
        HostSpanRing* const ring = g_registry.idle;
        g_registry.idle = ring->next;
        g_registry.mapped_bytes -= ring->mapped_bytes();
        unmap_ring(ring);
    }
    g_registry.idle_count = 0;
}

// fork() copies the rings of threads that it does not copy, and their spans are the parent's to record. The child
// starts off and empty. The locks are held across the fork, so that lists and table are whole in the child.
void before_fork() noexcept {
    lock_process_sites();
    g_registry.mutex.lock();
}
void after_fork_in_parent() noexcept {
    g_registry.mutex.unlock();
    unlock_process_sites();
}
void after_fork_in_child() noexcept {
    g_level.store(static_cast<uint8_t>(Level::kOff), std::memory_order_relaxed);
    if (t_host_cursor.load(std::memory_order_relaxed) != kEndedCursor)
        t_host_cursor.store(nullptr, std::memory_order_relaxed);
    while (g_registry.live != nullptr) {
        HostSpanRing* const ring = g_registry.live;
        g_registry.live = ring->next;
        make_idle(ring);
    }
    // Bytes that another thread had reserved and not mapped yet are nobody's here.
    g_registry.mapped_bytes = 0;
    for (const HostSpanRing* ring = g_registry.idle; ring != nullptr; ring = ring->next)
        g_registry.mapped_bytes += ring->mapped_bytes();
    g_registry.exhausted.store(false, std::memory_order_relaxed);
    g_registry.ringless_drops.store(0, std::memory_order_relaxed);
    g_registry.draining.store(false, std::memory_order_relaxed);
    g_registry.mutex.unlock();
    unlock_process_sites();
}

// At a thread's end its TLS word goes away; the ring stays until it is drained. A C++ destructor and not a pthread
// key's: the C library keeps a shared object loaded as long as one of these is pending.
struct ThreadEnd {
    // Naming the object is what registers its destructor.
    void arm() noexcept { armed = true; }
    ~ThreadEnd() {
        HostSpanCell* const cursor = t_host_cursor.load(std::memory_order_relaxed);
        const std::lock_guard lock(g_registry.mutex);
        t_host_cursor.store(kEndedCursor, std::memory_order_relaxed);
        if (cursor == nullptr || cursor == kEndedCursor) return;
        HostSpanRing* const ring = header_of(cursor).ring;
        ring->last_cursor = cursor;
        ring->cursor = nullptr;
    }
    bool armed = false;
};
thread_local ThreadEnd t_thread_end;

// An idle ring, or null and the right to map one of `*bytes`; `*bytes` = 0 where the budget is spent.
HostSpanRing* take_idle_or_reserve(std::size_t* bytes) noexcept {
    const std::lock_guard lock(g_registry.mutex);
    *bytes = g_registry.ring_bytes;
    if (HostSpanRing* const ring = g_registry.idle) {
        g_registry.idle = ring->next;
        --g_registry.idle_count;
        return ring;
    }
    if (g_registry.mapped_bytes + *bytes > g_registry.max_bytes) {
        *bytes = 0;
        g_registry.exhausted.store(true, std::memory_order_relaxed);
    } else {
        g_registry.mapped_bytes += *bytes;
    }
    return nullptr;
}

}    // namespace

void set_fork_handlers() noexcept {
    if (!g_registry.fork_handlers_set.load(std::memory_order_relaxed) &&
        !g_registry.fork_handlers_set.exchange(true, std::memory_order_relaxed))
        pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

HostSpanRing* attach_thread() noexcept {
    if (g_registry.exhausted.load(std::memory_order_relaxed)) return nullptr;
    const int kept_errno = errno;    // the engine may be about to look at its own
    set_fork_handlers();
    std::size_t bytes = 0;
    HostSpanRing* ring = take_idle_or_reserve(&bytes);
    // Mapping and touching take a millisecond at worst: outside the lock, which other threads' starts and drains need.
    if (ring == nullptr && bytes != 0) ring = map_ring(bytes);
    if (ring != nullptr) {
        t_thread_end.arm();
        ring->thread_id = static_cast<uint64_t>(syscall(SYS_gettid));
        const std::lock_guard lock(g_registry.mutex);
        ring->cursor = &t_host_cursor;
        ring->serial = g_registry.next_serial++;
        push(g_registry.live, ring);
    } else if (bytes != 0) {
        const std::lock_guard lock(g_registry.mutex);
        g_registry.mapped_bytes -= bytes;
        g_registry.exhausted.store(true, std::memory_order_relaxed);
    }
    errno = kept_errno;
    return ring;
}

void count_ringless_drop() noexcept {
    g_registry.ringless_drops.fetch_add(1, std::memory_order_relaxed);
}

std::optional<HostRingReader> HostRingReader::try_start() noexcept {
    if (g_registry.draining.exchange(true, std::memory_order_acquire)) return std::nullopt;
    return HostRingReader();
}

HostRingReader::HostRingReader(HostRingReader&& other) noexcept : active_(std::exchange(other.active_, false)) {}

HostRingReader::~HostRingReader() {
    // Release: the next drain goes on from where this one has read to.
    if (active_) g_registry.draining.store(false, std::memory_order_release);
}

void HostRingReader::list(std::vector<HostSpanRing*>& out) const {
    out.clear();
    const std::lock_guard lock(g_registry.mutex);
    for (HostSpanRing* ring = g_registry.live; ring != nullptr; ring = ring->next) out.push_back(ring);
}

HostRingReader::Position HostRingReader::position(const HostSpanRing& ring) const noexcept {
    // The lock keeps the thread from ending, and its TLS word from going away, while the word is read.
    const std::lock_guard lock(g_registry.mutex);
    Position out;
    out.ended = ring.cursor == nullptr;
    for (int attempt = 0; attempt < 4; ++attempt) {
        out.dropped = ring.dropped.load(std::memory_order_acquire);
        out.filled = ring.filled.load(std::memory_order_acquire);
        const HostSpanCell* const cursor = out.ended ? ring.last_cursor : ring.cursor->load(std::memory_order_acquire);
        // The thread raises a count before it moves its cursor on: unchanged counts mean that the cursor belongs to
        // them. A thread that is busy changing chunks is looked at again; it has 64 spans to go before the next change.
        if (ring.dropped.load(std::memory_order_relaxed) != out.dropped ||
            ring.filled.load(std::memory_order_relaxed) != out.filled)
            continue;
        if (cursor == nullptr) return out;    // attached, and no span written yet
        if (header_of(cursor).is_scratch != 0)
            out.dropped += static_cast<uint64_t>(cursor - ring.scratch_begin());
        else
            out.open_end = static_cast<std::size_t>(cursor - ring.chunk(out.filled));
        return out;
    }
    return out;
}

void HostRingReader::retire(HostSpanRing* ring) noexcept {
    const std::lock_guard lock(g_registry.mutex);
    unlink(g_registry.live, ring);
    make_idle(ring);
}

uint64_t HostRingReader::take_ringless_drops() noexcept {
    return g_registry.ringless_drops.exchange(0, std::memory_order_relaxed);
}

}    // namespace detail

Status configure_host_spans(const HostSpanOptions& options) {
    using namespace detail;
    if (options.bytes_per_thread < kMinRingBytes || options.bytes_per_thread > kMaxRingBytes)
        return Error{Errc::kInvalidArgument, 0,
                     "HostSpanOptions::bytes_per_thread is " + std::to_string(options.bytes_per_thread) +
                         ": use 196608 to 1073741824"};
    const std::size_t rounded = (options.bytes_per_thread + kHostChunkBytes - 1) / kHostChunkBytes * kHostChunkBytes;
    if (options.max_bytes < rounded)
        return Error{Errc::kInvalidArgument, 0,
                     "HostSpanOptions::max_bytes is " + std::to_string(options.max_bytes) +
                         ": use at least bytes_per_thread, rounded up to 64 KiB (" + std::to_string(rounded) + ")"};
    const std::lock_guard lock(g_registry.mutex);
    if (rounded != g_registry.ring_bytes) drop_idle_rings();
    g_registry.ring_bytes = rounded;
    g_registry.max_bytes = options.max_bytes;
    g_registry.exhausted.store(false, std::memory_order_relaxed);
    return {};
}

}    // namespace lapwing
