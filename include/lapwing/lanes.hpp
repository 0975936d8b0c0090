// Lanes: what a scheduler does in each of its steps (admit, prefill, decode, lanes of your own), one span a lane and
// step.
#pragma once

#include <array>
#include <cstdint>

#include "lapwing/device_ring.hpp"
#include "lapwing/level.hpp"
#include "lapwing/record.hpp"
#include "lapwing/result.hpp"
#include "lapwing/span.hpp"

namespace lapwing {

/// The lanes that every scheduler has. Lanes of your own are numbered behind them (Lanes::add).
enum Lane : uint32_t {
    kAdmit = 0,      ///< taking requests in
    kPrefill = 1,    ///< working on prompts
    kDecode = 2,     ///< making tokens
};
inline constexpr uint32_t kBuiltInLanes = 3;
inline constexpr uint32_t kMaxLanes = 32;

/// "admit", "prefill", "decode"; empty for lanes of your own.
[[nodiscard]] constexpr const char* lane_name(uint32_t lane) noexcept {
    constexpr std::array<const char*, kBuiltInLanes> kNames{"admit", "prefill", "decode"};
    return lane < kNames.size() ? kNames[lane] : "";
}

/// What callers did. Misuse is counted, never a fault: the counts are zero in a correct scheduler.
struct LaneStats {
    uint64_t begun = 0;
    uint64_t ended = 0;                  ///< by end(); begun = ended + begun_twice + left_open + open
    uint64_t begun_twice = 0;            ///< begun while open: the earlier span ends where the later one begins
    uint64_t left_open = 0;              ///< open at the end of their step: the span ends there
    uint64_t ended_without_begin = 0;    ///< ignored; also where the begin came while the level was lower
    uint64_t out_of_range = 0;           ///< no such lane: ignored
    uint64_t open = 0;
};

/// Lanes as device spans of one queue of a ring.
/// Shape:   add the device queue to the ring a second time, with a track of its own ("lanes"): a lane's span contains
///          those of its kernels.
template <Backend B>
class DeviceLaneSpans {
public:
    using Token = DeviceToken;
    DeviceLaneSpans(DeviceRing<B>& ring, uint32_t queue) noexcept : ring_(&ring), queue_(queue) {}
    Token begin(SiteId site) noexcept { return ring_->begin(queue_, site, Level::kLane); }
    void end(SiteId /*site*/, Token token) noexcept { ring_->end(queue_, token); }
    void step(uint32_t step) noexcept { ring_->set_step(step); }

private:
    DeviceRing<B>* ring_;
    uint32_t queue_;
};

/// Lanes as host spans of the calling thread.
class HostLaneSpans {
public:
    using Token = uint64_t;
    Token begin(SiteId /*site*/) noexcept { return detail::HostTick::now(); }
    void end(SiteId site, Token begin) noexcept { detail::record_host_span(begin, detail::HostTick::now(), site); }
    void step(uint32_t /*step*/) noexcept {}
};

/// One span a lane and step, at Level::kLane and above.
///
/// Nothing ever stays open: a lane that is begun twice, or whose step ends, ends its earlier span and counts it. The
/// level may change at any moment: lowered, what is open still ends as it would have; raised, a lane is timed from its
/// next begin.
/// Cost:    hot: a stamp (or a clock read) each for begin and end; below kLane one load and a branch, and for end() a
///          look at what is still open.
/// Threads: one at a time, as the queue of the spans; stats: any.
template <class Spans>
class Lanes {
public:
    /// `sites`: what the spans of the built-in lanes are called in the recording, by Lane.
    explicit Lanes(Spans spans, const std::array<SiteId, kBuiltInLanes>& sites) noexcept : spans_(spans) {
        for (uint32_t lane = 0; lane < kBuiltInLanes; ++lane) lanes_[lane].site = sites[lane];
    }

    /// A lane of your own. Returns its number.
    /// Errors:  kExhausted at kMaxLanes.
    [[nodiscard]] Result<uint32_t> add(SiteId site) {
        if (count_ >= kMaxLanes) return Error{Errc::kExhausted, 0, "there are 32 lanes at most: share one"};
        lanes_[count_].site = site;
        return count_++;
    }

    void begin(uint32_t lane) noexcept {
        if (detail::g_level.load(std::memory_order_relaxed) < static_cast<uint8_t>(Level::kLane)) return;
        if (lane >= count_) [[unlikely]]
            return out_of_range_.add();
        if (is_open(lane)) [[unlikely]] {
            close(lane);
            begun_twice_.add();
        }
        lanes_[lane].token = spans_.begin(lanes_[lane].site);
        open_ |= 1u << lane;
        begun_.add();
    }

    void end(uint32_t lane) noexcept {
        if (detail::g_level.load(std::memory_order_relaxed) < static_cast<uint8_t>(Level::kLane) && open_ == 0) return;
        if (lane >= count_) [[unlikely]]
            return out_of_range_.add();
        if (!is_open(lane)) [[unlikely]]
            return ended_without_begin_.add();
        close(lane);
        ended_.add();
    }

    /// The scheduler's step `step` begins, and the one before it is over.
    void begin_step(uint32_t step) noexcept {
        end_step();
        spans_.step(step);
    }

    /// The step is over; what follows belongs to none.
    void end_step() noexcept {
        if (open_ == 0) [[likely]]
            return;
        for (uint32_t lane = 0; lane < count_; ++lane) {
            if (!is_open(lane)) continue;
            close(lane);
            left_open_.add();
        }
    }

    [[nodiscard]] LaneStats stats() const noexcept {
        LaneStats out;
        out.ended = ended_.get();
        out.begun_twice = begun_twice_.get();
        out.left_open = left_open_.get();
        out.ended_without_begin = ended_without_begin_.get();
        out.out_of_range = out_of_range_.get();
        out.begun = begun_.get();
        out.open = out.begun - out.ended - out.begun_twice - out.left_open;
        return out;
    }

private:
    struct One {
        SiteId site = 0;
        typename Spans::Token token{};
    };

    [[nodiscard]] bool is_open(uint32_t lane) const noexcept { return (open_ >> lane & 1) != 0; }
    void close(uint32_t lane) noexcept {
        open_ &= ~(1u << lane);
        spans_.end(lanes_[lane].site, lanes_[lane].token);
    }

    Spans spans_;
    std::array<One, kMaxLanes> lanes_{};
    uint32_t count_ = kBuiltInLanes;
    uint32_t open_ = 0;    // a bit a lane
    detail::SoloCounter begun_;
    detail::SoloCounter ended_;
    detail::SoloCounter begun_twice_;
    detail::SoloCounter left_open_;
    detail::SoloCounter ended_without_begin_;
    detail::SoloCounter out_of_range_;
};

}    // namespace lapwing
