// Sums and unions of nanoseconds that a damaged file cannot push into undefined behaviour.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace lapwing::detail {

/// a + b for b >= 0; stays at INT64_MAX (292 years), which no true recording reaches.
[[nodiscard]] inline int64_t saturating_add(int64_t a, int64_t b) noexcept {
    int64_t sum = 0;
    return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<int64_t>::max() : sum;
}

/// Length of the union of intervals that come by ascending begin.
class UnionMeter {
public:
    void add(int64_t begin_ns, int64_t end_ns) noexcept {
        const int64_t from = started_ ? std::max(begin_ns, covered_to_) : begin_ns;
        if (end_ns > from) length_ns_ = saturating_add(length_ns_, end_ns - from);
        covered_to_ = started_ ? std::max(covered_to_, end_ns) : end_ns;
        started_ = true;
    }
    [[nodiscard]] int64_t length_ns() const noexcept { return length_ns_; }

private:
    int64_t covered_to_ = 0;
    int64_t length_ns_ = 0;
    bool started_ = false;
};

}    // namespace lapwing::detail
