// Which thread has which host-span ring; how a drain finds them, how ended threads' rings come back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/host_span_ring.hpp"
#include "lapwing/host_spans.hpp"

namespace lapwing::detail {

/// Registers, once, what makes a child of fork() start off and empty. Before the first lock that a fork could copy.
void set_fork_handlers() noexcept;

/// Gives the calling thread a ring: an ended thread's, or a new one within the budget. Null: there is none to be had.
/// Cost:    cold: a lock; mmap and touching for a new ring.
[[nodiscard]] HostSpanRing* attach_thread() noexcept;

/// Counts a span of a thread that has no ring.
void count_ringless_drop() noexcept;

/// The drain's side. One drain at a time in a process; the object is its right to read and to give back.
class HostRingReader {
public:
    /// Nothing while another drain runs.
    [[nodiscard]] static std::optional<HostRingReader> try_start() noexcept;
    ~HostRingReader();
    HostRingReader(HostRingReader&& other) noexcept;
    HostRingReader(const HostRingReader&) = delete;
    HostRingReader& operator=(const HostRingReader&) = delete;
    HostRingReader& operator=(HostRingReader&&) = delete;

    /// All rings that are owned or hold spans, oldest owner last.
    void list(std::vector<HostSpanRing*>& out) const;

    /// How far a ring may be read, at one moment.
    struct Position {
        uint64_t filled = 0;         ///< chunks before this number are whole
        std::size_t open_end = 0;    ///< cells [1, open_end) of chunk `filled` are whole too; 0 = none
        uint64_t dropped = 0;        ///< spans dropped so far
        bool ended = false;          ///< the thread is gone: nothing will be added
    };
    [[nodiscard]] Position position(const HostSpanRing& ring) const noexcept;

    /// Gives the ring of an ended thread, read to its end, to the next thread that wants one.
    void retire(HostSpanRing* ring) noexcept;

    /// Spans dropped by threads without a ring since the last call.
    [[nodiscard]] uint64_t take_ringless_drops() noexcept;

private:
    HostRingReader() = default;
    bool active_ = true;
};

}    // namespace lapwing::detail
