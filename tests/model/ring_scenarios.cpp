#include "model/ring_scenarios.hpp"

namespace lapwing::detail {

// In place of src/core/device_ring.cpp: rings of two slots, which the product rounds up to eight, and the same salt in
// every execution.
uint32_t next_ring_salt() noexcept {
    return 0;
}
DeviceRingOptions rounded(DeviceRingOptions options) noexcept {
    return options;
}

}    // namespace lapwing::detail

namespace lapwing::model {

void RingScenario::harvest() {
    std::array<SpanRecord, 8> out;
    const std::size_t count = ring.harvest(out);
    for (std::size_t i = 0; i < count; ++i) {
        if (out[i].site >= recorded_ns_.size()) return fail("a record of no site");
        if (recorded_ns_[out[i].site] != 0) return fail("a span came out twice");
        recorded_ns_[out[i].site] = out[i].duration_ns;
        ++records_seen_;
    }
}

// No slot in two states, none lost: what is closed lies in the order, once, but for one that a producer is about to put
// there; what lies in the order is closed.
void RingScenario::check_step() {
    detail::SlotRing& slots = detail::RingInspector::queue(ring).ring;
    uint32_t in_order = 0;
    for (uint64_t at = slots.head(); at != slots.tail(); ++at) {
        const uint32_t index = slots.at(at);
        if (index >= slots.max()) return fail("the order names no slot");
        if ((in_order & 1u << index) != 0) return fail("a slot is in the order twice");
        in_order |= 1u << index;
        const detail::SlotState state = slots.state(index);
        if (state == detail::kFree || state == detail::kOpen) return fail("a slot in the order is not closed");
    }
    int in_transit = 0;
    for (uint32_t index = 0; index < slots.max(); ++index) {
        const detail::SlotState state = slots.state(index);
        if (state > detail::kEmptyLap) return fail("a slot has no state");
        if (state > detail::kOpen && (in_order & 1u << index) == 0) ++in_transit;
        if (state != detail::kFree && index >= slots.capacity()) return fail("a slot beyond the ring is in use");
    }
    if (in_transit > 1) fail("a closed slot is in no order: it is lost");
}

void RingScenario::check_end() {
    backend.exploring = false;
    const DeviceRingStats before = ring.stats();
    if (before.begun != before.recorded + before.lost.total() + before.in_flight)
        return fail("begun is not recorded + lost + in flight");
    if (before.refused_tokens != stale_ends_)
        return fail("refused " + std::to_string(before.refused_tokens) + " tokens, " + std::to_string(stale_ends_) +
                    " were stale");
    harvest();
    ring.abandon_all();
    const DeviceRingStats after = ring.stats();
    if (after.in_flight != 0 || after.begun != after.recorded + after.lost.total())
        return fail("at the end, begun is not recorded + lost");
    if (after.recorded != records_seen_) return fail("records were counted that did not come out");
    detail::SlotRing& slots = detail::RingInspector::queue(ring).ring;
    for (uint32_t index = 0; index < slots.max(); ++index)
        if (slots.state(index) != detail::kFree) return fail("a slot is not free at the end");
    for (std::size_t site = 0; site < recorded_ns_.size(); ++site)
        if (recorded_ns_[site] != 0 && recorded_ns_[site] != static_cast<int64_t>(expected_ns_[site]))
            return fail("site " + std::to_string(site) + " has another span's stamps");
}

}    // namespace lapwing::model
