// Host spans: what an engine's thread did between two ticks. The hot side; host_spans.hpp is where they come out.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "lapwing/clock.hpp"
#include "lapwing/level.hpp"
#include "lapwing/record.hpp"

namespace lapwing {

/// The number of a named place in the host program: equal names give equal numbers.
/// Shape:   the name is copied. Numbers are those of one process-wide table of 65 536 names; later names share one
///          number, "other", and are counted (see SiteTable).
/// Cost:    cold: a lock, a hash, an allocation for a new name. Ask once, keep the number.
/// Threads: any.
[[nodiscard]] SiteId host_site(std::string_view name);

/// A name that gets its number when a span of it is first recorded, so that a place that is never recorded costs
/// nothing: no guard, no lock, no initialisation at start-up.
/// Shape:   `name` lives as long as the object; meant for literals and `constinit` variables.
class HostSite {
public:
    constexpr explicit HostSite(const char* name) noexcept : name_(name) {}
    HostSite(const HostSite&) = delete;
    HostSite& operator=(const HostSite&) = delete;

    /// Cost:    one relaxed load; `host_site` the first time.
    [[nodiscard]] SiteId id() noexcept {
        const SiteId known = id_.load(std::memory_order_relaxed);
        return known != 0 ? known : resolve();
    }

private:
    [[gnu::cold, gnu::noinline]] SiteId resolve() noexcept;

    const char* name_;
    std::atomic<SiteId> id_{0};
};

namespace detail {

/// One finished host span as its thread writes it. A chunk's first cell is its header. A begin of 0 is no span.
struct HostSpanCell {
    uint64_t begin;    ///< tick
    uint32_t ticks;    ///< duration; kLongHostSpan = the next cell's `begin` is the duration
    SiteId site;
};
static_assert(sizeof(HostSpanCell) == 16);

/// Chunks are aligned to their own size: a cursor whose low bits are zero is at the end of one, or null, and needs no
/// second pointer to say so.
inline constexpr std::size_t kHostChunkBytes = 64 * 1024;
inline constexpr uint32_t kLongHostSpan = 0xffff'ffff;

/// The only state of a recording thread: the cell it writes next. One word, because initial-exec TLS of a library that
/// is opened at run time comes out of a small reserve of the C library. The default model would call
/// __tls_get_addr twice a span in a shared library.
[[gnu::tls_model("initial-exec")]] extern thread_local constinit std::atomic<HostSpanCell*> t_host_cursor;

/// Everything that is rare: a thread's first span, a full chunk, a full ring, a duration of 2^32 - 1 ticks or more.
/// A begin of 0 ends here too, as what began that long ago: it is dropped, and not counted.
[[gnu::cold, gnu::noinline]] void record_host_span_cold(uint64_t begin, uint64_t end, SiteId site) noexcept;

[[gnu::always_inline]] inline void record_host_span(uint64_t begin, uint64_t end, SiteId site) noexcept {
    HostSpanCell* const cell = t_host_cursor.load(std::memory_order_relaxed);
    const uint64_t ticks = end - begin;
    if ((reinterpret_cast<uintptr_t>(cell) & (kHostChunkBytes - 1)) == 0 || ticks >= kLongHostSpan) [[unlikely]] {
        record_host_span_cold(begin, end, site);
        return;
    }
    cell->begin = begin;
    cell->ticks = static_cast<uint32_t>(ticks);
    cell->site = site;
    // Release: a drain that reads this cursor may read the cells before it. On x86 it is a plain store.
    t_host_cursor.store(cell + 1, std::memory_order_release);
}

[[gnu::always_inline]] inline bool host_spans_on() noexcept {
    return g_level.load(std::memory_order_relaxed) != static_cast<uint8_t>(Level::kOff);
}

/// The clock of Span and Lap. Tests put a counting one in its place.
struct HostTick {
    [[gnu::always_inline]] static uint64_t now() noexcept { return tick().value; }
};

}    // namespace detail

/// Records the time from its construction to its destruction, at `Level::kBasic` and above.
/// Shape:   a span that was begun is recorded even if the level is lowered meanwhile. Nothing limits nesting. When the
///          thread's ring is full, the newest spans are dropped, 64 at a time, and counted.
/// Units:   ticks of `lapwing::tick()`. Plain reads of the clock are not ordered with the work around them: an empty
///          span reads about 20 ticks, and a load that misses the cache may finish after the span that issued it. What
///          is within some tens of nanoseconds is not a span's business.
/// Errors:  never fails; losses add to HostSpanCollector::lost().
/// Cost:    hot: two clock reads and 16 bytes stored; off: one relaxed load and a branch, no clock, no call. The first
///          span of a thread maps and touches the thread's ring (cold, some 100 us).
/// Threads: any; a span ends on the thread that began it. Not for signal handlers.
template <class TickSource>
class [[nodiscard]] BasicSpan {
public:
    [[gnu::always_inline]] explicit BasicSpan(SiteId site) noexcept : site_(site) {
        if (detail::host_spans_on()) [[unlikely]]
            begin_ = started();
    }
    [[gnu::always_inline]] explicit BasicSpan(HostSite& site) noexcept {
        if (detail::host_spans_on()) [[unlikely]] {
            site_ = site.id();
            begin_ = started();
        }
    }
    [[gnu::always_inline]] ~BasicSpan() {
        if (begin_ != 0) [[unlikely]]
            detail::record_host_span(begin_, TickSource::now(), site_);
    }
    BasicSpan(const BasicSpan&) = delete;
    BasicSpan& operator=(const BasicSpan&) = delete;

private:
    // No clock of ours reads 0 while a program runs. Told so, compilers drop the test at the end of a short span.
    [[gnu::always_inline]] static uint64_t started() noexcept {
        const uint64_t now = TickSource::now();
        if (now == 0) __builtin_unreachable();
        return now;
    }

    // `mutable` only so that g++ 12 keeps a `const Span` in registers, as it does any other: it leaves objects that it
    // takes for read-only in memory, and the off path would store to the stack.
    mutable uint64_t begin_ = 0;    // 0 = off
    mutable SiteId site_ = 0;
};
using Span = BasicSpan<detail::HostTick>;

/// Chains spans that share their boundaries: N ops need N + 1 clock reads instead of 2 N.
/// Shape:   `lap(site)` records the time since the previous boundary as a span of `site` and starts the next one, so
///          the laps of a loop add up to the loop. The first boundary is the construction. Where the level was off at
///          the previous boundary, lap() records nothing and only sets one.
/// Cost:    hot: one clock read and 16 bytes stored; off: one relaxed load and a branch.
/// Threads: one at a time, the thread that constructed it. Everything else as for BasicSpan.
template <class TickSource>
class BasicLap {
public:
    [[gnu::always_inline]] BasicLap() noexcept { restart(); }

    /// Sets a boundary and records nothing: the time since the previous one is nobody's.
    [[gnu::always_inline]] void restart() noexcept { last_ = detail::host_spans_on() ? TickSource::now() : 0; }

    [[gnu::always_inline]] void lap(SiteId site) noexcept {
        if (detail::host_spans_on()) [[unlikely]] {
            close(site);
        } else {
            last_ = 0;
        }
    }
    [[gnu::always_inline]] void lap(HostSite& site) noexcept {
        if (detail::host_spans_on()) [[unlikely]] {
            close(site.id());
        } else {
            last_ = 0;
        }
    }
    BasicLap(const BasicLap&) = delete;
    BasicLap& operator=(const BasicLap&) = delete;

private:
    [[gnu::always_inline]] void close(SiteId site) noexcept {
        const uint64_t now = TickSource::now();
        detail::record_host_span(last_, now, site);    // begin 0 is no span: one test less for all the others
        last_ = now;
    }

    uint64_t last_ = 0;    // 0 = no boundary yet
};
using Lap = BasicLap<detail::HostTick>;

#define LAPWING_DETAIL_JOIN2(a, b) a##b
#define LAPWING_DETAIL_JOIN(a, b) LAPWING_DETAIL_JOIN2(a, b)

/// Records the rest of the enclosing block as a span of `name`, a string literal.
#define LAPWING_SPAN(name)                                                                   \
    static constinit ::lapwing::HostSite LAPWING_DETAIL_JOIN(lapwing_site_, __LINE__){name}; \
    const ::lapwing::Span LAPWING_DETAIL_JOIN(lapwing_span_, __LINE__) {                     \
        LAPWING_DETAIL_JOIN(lapwing_site_, __LINE__)                                         \
    }

}    // namespace lapwing
