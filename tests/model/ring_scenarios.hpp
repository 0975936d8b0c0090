// A DeviceRing in the hands of two or three threads, as the model explores it, and what must hold between any two
// steps.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lapwing/device_ring.hpp"
#include "lapwing/level.hpp"
#include "model/explorer.hpp"

namespace lapwing::detail {

struct RingInspector {
    template <Backend B>
    [[nodiscard]] static DeviceQueue& queue(DeviceRing<B>& ring) {
        return ring.queues_[0]->core;
    }
};

}    // namespace lapwing::detail

namespace lapwing::model {

/// Stamps are plain memory, so that a stamp which is marked again before its result was given up is a data race. The
/// n-th mark adds 2^n ticks: a duration tells which two marks it lies between.
class ModelBackend {
public:
    struct Queue {};
    [[nodiscard]] Caps caps(const Queue&) const { return {.ns_per_tick = 1, .valid_bits = 64, .resolution_ns = 1}; }
    [[nodiscard]] bool mark(const Queue&, uint32_t slot) noexcept {
        if (lost) return false;
        ticks_[slot] = now += uint64_t{1} << marks++;
        return true;
    }
    void poll(std::span<const uint32_t> slots, std::span<Stamp> out) noexcept {
        // The device is done with what is asked, or not yet, or it is lost; ends are asked first.
        const int answer = (slots[0] & 1) != 0 && exploring ? choose(may_lose ? 3 : 2) : 0;
        lost = lost || answer == 2;
        for (std::size_t i = 0; i < slots.size(); ++i)
            out[i] = lost          ? Stamp{{}, StampState::kLost}
                     : answer == 1 ? Stamp{}
                                   : Stamp{{ticks_[slots[i]]}, StampState::kReady};
    }
    [[nodiscard]] Result<ClockAnchor> calibrate(const Queue&) { return Error{Errc::kUnsupported, 0, "a model"}; }
    [[nodiscard]] bool is_capturing(const Queue&) const noexcept { return false; }

    uint64_t now = 1u << 20;
    int marks = 0;
    bool may_lose = false;
    bool lost = false;
    bool exploring = true;    // false: all that is asked is there

private:
    std::array<detail::Plain<uint64_t>, 16> ticks_{};
};
static_assert(Backend<ModelBackend>);

class RingScenario : public Scenario {
public:
    explicit RingScenario(uint32_t initial = 2, uint32_t max = 2)
        : ring(backend,
               {.initial_spans = initial, .max_spans = max, .max_queues = 1, .abandon_after_s = 0, .now = still}) {
        set_level(Level::kKernel);
        (void)ring.add_queue({}, 1);
    }
    ~RingScenario() override { set_level(Level::kOff); }

    void check_step() override;
    void check_end() override;

protected:
    DeviceToken begin(SiteId site) {
        const DeviceToken token = ring.begin(0, site);
        if (token.slot != detail::kNoSlot) begun_at_[site] = backend.now;
        return token;
    }
    /// An end that must find its span, unless the device is lost.
    void end(SiteId site, DeviceToken token) {
        const int marks = backend.marks;
        ring.end(0, token);
        if (backend.marks != marks) expected_ns_[site] = backend.now - begun_at_[site];
    }
    /// A span on each of so many sites, where a slot is free.
    void begin_and_end(SiteId sites) {
        for (SiteId site = 1; site <= sites; ++site) {
            const DeviceToken token = begin(site);
            if (token.slot != detail::kNoSlot) end(site, token);
        }
    }
    /// An end that must be refused.
    void end_again(DeviceToken token) {
        if (token.slot == detail::kNoSlot) return;
        ring.end(0, token);
        ++stale_ends_;
    }
    void expect(SiteId site, uint64_t duration_ns) { expected_ns_[site] = duration_ns; }
    void harvest();

    ModelBackend backend;
    DeviceRing<ModelBackend> ring;

private:
    static HostNs still(void*) noexcept { return HostNs{1'000'000'000}; }

    std::array<uint64_t, 8> begun_at_{};
    std::array<uint64_t, 8> expected_ns_{};    // by site
    std::array<SpanRecord, 8> records_;        // written by whoever holds the harvest
    std::array<int64_t, 8> recorded_ns_{};     // by site
    uint64_t records_seen_ = 0;
    uint64_t stale_ends_ = 0;
};

}    // namespace lapwing::model
