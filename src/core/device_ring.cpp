#include "lapwing/device_ring.hpp"

#include <algorithm>
#include <bit>

namespace lapwing::detail {

namespace {
constexpr uint32_t kMinSpans = 8;           // a begin looks at this many slots
constexpr uint32_t kMaxSpans = 1u << 24;    // tokens and stamps of all queues are numbered in 32 bits
std::atomic<uint32_t> g_rings{0};
}    // namespace

// Multiplying by an odd number keeps the numbers distinct; the golden ratio's spreads neighbours far apart, so that
// salted generations of two rings do not meet before one has gone round some 10^9 times.
uint32_t next_ring_salt() noexcept {
    return g_rings.fetch_add(1, std::memory_order_relaxed) * 0x9e3779b9u;
}

DeviceRingOptions rounded(DeviceRingOptions options) noexcept {
    options.max_spans = std::bit_ceil(std::clamp(options.max_spans, kMinSpans, kMaxSpans));
    options.initial_spans = std::bit_ceil(std::clamp(options.initial_spans, kMinSpans, options.max_spans));
    const uint64_t stamps_left = (uint64_t{1} << 32) - options.first_stamp;
    const uint64_t queues_that_fit = stamps_left / (uint64_t{2} * options.max_spans);
    options.max_queues = static_cast<uint32_t>(std::min<uint64_t>(options.max_queues, queues_that_fit));
    return options;
}

}    // namespace lapwing::detail
