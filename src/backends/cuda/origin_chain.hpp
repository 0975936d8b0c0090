// Whole nanoseconds out of a driver that answers "float milliseconds since another event".
#pragma once

#include <array>
#include <cstdint>

#include "backends/cuda/entry_points.hpp"

namespace lapwing::cuda {

/// Events whose ticks are known, in the order of time; each one's ticks were measured from the one before it.
///
/// A stamp past the newest origin is measured from that one, an earlier one from the nearer of the two around it. A
/// float's rounding never reverses an order and its sign is exact, so ticks never run backwards, wherever origins lie.
///
/// Rounding: half a step of a float at that many milliseconds: none below 8.4 ms (a step is less than a nanosecond),
/// 4 ns below 134 ms, 30 ns at a second.
class OriginChain {
public:
    static constexpr uint32_t kMost = 1024;
    static constexpr uint64_t kFirstTick = 1'000'000'000'000;    // a tick of 0 would be taken for a missing result
    static constexpr uint64_t kHopNs = 4'000'000;                // twice that is still exact
    static constexpr uint64_t kCoarseHopNs = 128'000'000;

    struct Answer {
        Code code = kSuccess;    ///< kNotReady while the event, or the origin itself, is on its way
        uint64_t ticks = 0;
        uint64_t past_newest_ns = 0;    ///< how far behind the newest origin; 0 where before it
    };

    explicit OriginChain(const EntryPoints& cu) noexcept : cu_(cu) {}

    /// The first origin, recorded but perhaps not complete.
    void start(Event event) noexcept;

    /// The ticks of a recorded event.
    [[nodiscard]] Answer place(Event event) noexcept;

    /// Makes an event, placed past the newest origin, the newest one. Returns the event of the oldest where that had
    /// to make room, else null.
    [[nodiscard]] Event append(Event event, uint64_t ticks) noexcept;

    /// Visits the events and forgets them.
    template <class Visit>
    void clear(Visit visit) noexcept {
        for (; count_ > 0; --count_) visit(at(count_ - 1).event);
    }

    [[nodiscard]] uint64_t measurements() const noexcept { return measurements_; }
    [[nodiscard]] uint64_t appended() const noexcept { return appended_; }
    [[nodiscard]] uint64_t coarse() const noexcept { return coarse_; }

private:
    struct Origin {
        Event event = nullptr;
        uint64_t ticks = 0;
    };
    struct Distance {
        Code code = kSuccess;
        bool before = false;
        uint64_t ns = 0;    // without sign
    };
    [[nodiscard]] Origin& at(uint32_t index) noexcept { return origins_[(first_ + index) % kMost]; }
    [[nodiscard]] Distance measure(const Origin& from, Event event) noexcept;
    [[nodiscard]] uint32_t newest_not_after(uint64_t ticks) noexcept;
    [[nodiscard]] Answer place_before_newest(Event event, uint64_t about) noexcept;

    const EntryPoints& cu_;
    std::array<Origin, kMost> origins_{};
    uint32_t first_ = 0;
    uint32_t count_ = 0;
    uint64_t measurements_ = 0;
    uint64_t appended_ = 0;
    uint64_t coarse_ = 0;
};

}    // namespace lapwing::cuda
