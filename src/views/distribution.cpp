#include "views/distribution.hpp"

#include <algorithm>
#include <cstddef>

#include "views/arithmetic.hpp"

namespace lapwing::detail {
namespace {

// Nearest rank: the ceil(p n)-th smallest, in integers because 0.99 * n in floating point lands a rank too high for
// some n. Split so that n up to 2^64 / 100 cannot overflow.
std::size_t rank_index(std::size_t count, std::size_t percent) {
    const std::size_t rank = count / 100 * percent + (count % 100 * percent + 99) / 100;
    return rank == 0 ? 0 : rank - 1;
}

}    // namespace

Distribution summarise(std::vector<int64_t>& values) {
    Distribution out;
    out.count = values.size();
    if (values.empty()) return out;
    for (const int64_t value : values) out.total_ns = saturating_add(out.total_ns, value);

    const auto first = values.begin();
    auto from = first;
    const auto select = [&](std::size_t percent) {
        const auto nth = first + static_cast<std::ptrdiff_t>(rank_index(values.size(), percent));
        // All before `from` is already no larger than all behind it, so ascending ranks search ever less.
        if (nth >= from) {
            std::nth_element(from, nth, values.end());
            from = nth;
        }
        return *nth;
    };
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    out.min_ns = *low;
    out.max_ns = *high;
    out.p50_ns = select(50);
    out.p90_ns = select(90);
    out.p99_ns = select(99);
    return out;
}

}    // namespace lapwing::detail
