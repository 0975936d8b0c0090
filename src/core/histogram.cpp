#include "lapwing/histogram.hpp"

#include <cmath>

namespace lapwing {

static_assert(LogLinearHistogram::bucket_of(~uint64_t{0}) + 1 == LogLinearHistogram::kBuckets);
static_assert(LogLinearHistogram::lower_bound(LogLinearHistogram::bucket_of(1000)) <= 1000);

LogLinearHistogram& LogLinearHistogram::operator=(const LogLinearHistogram& other) noexcept {
    if (this == &other) return *this;
    for (std::size_t i = 0; i < kBuckets; ++i) counts_[i].store(other.count_in(i), std::memory_order_relaxed);
    return *this;
}

void LogLinearHistogram::merge(const LogLinearHistogram& other) noexcept {
    for (std::size_t i = 0; i < kBuckets; ++i) {
        const uint64_t added = other.count_in(i);
        if (added != 0) counts_[i].store(count_in(i) + added, std::memory_order_relaxed);
    }
}

void LogLinearHistogram::reset() noexcept {
    for (std::atomic<uint64_t>& counter : counts_) counter.store(0, std::memory_order_relaxed);
}

uint64_t LogLinearHistogram::count() const noexcept {
    uint64_t sum = 0;
    for (std::size_t i = 0; i < kBuckets; ++i) sum += count_in(i);
    return sum;
}

std::optional<uint64_t> LogLinearHistogram::quantile(double q) const noexcept {
    const uint64_t total = count();
    if (total == 0 || !(q >= 0 && q <= 1)) return std::nullopt;
    // In long double, whose 64 bits hold every count; q itself is a double, so a q such as 0.99 means its nearest one.
    // The tolerance keeps 0.99 x 100 at rank 99, which the double above 0.99 would make 100.
    const long double exact = static_cast<long double>(q) * static_cast<long double>(total);
    const auto wanted = static_cast<uint64_t>(std::ceil(exact * (1 - 0x1p-50L)));
    uint64_t seen = 0;
    std::size_t last = 0;
    // Values recorded since count() was taken only push the rank down a little; those before it are all there.
    for (std::size_t i = 0; i < kBuckets; ++i) {
        const uint64_t here = count_in(i);
        if (here == 0) continue;
        seen += here;
        last = i;
        if (seen >= wanted) break;
    }
    return lower_bound(last) + (upper_bound(last) - lower_bound(last)) / 2;
}

}    // namespace lapwing
