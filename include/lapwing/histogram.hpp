// A log-linear histogram: quantiles within 0.8 %, mergeable, of fixed size, one increment a value.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace lapwing {

/// Counts of values by size. Values below 128 have a bucket each; above, every octave has 64 of equal width, so that a
/// value is known to 1 part in 128.
/// Shape:   kBuckets counters inside the object (30 KB), for any uint64_t; nothing is clamped, nothing overflows (a
///          counter takes 2^64 values). It does not know the exact minimum, maximum and sum: who needs them keeps them
///          beside it.
/// Units:   the caller's; in Lapwing nanoseconds. A duration's sign is judged before it comes here.
/// Cost:    record: hot, a shift, a load and a store, no branch. Everything else: cold, linear in kBuckets, no
///          allocation.
/// Threads: record() by one thread at a time, record_shared() by any; reading, copying and merging from it at any time
///          beside them: every counter read is whole, and the values recorded meanwhile may be in or not.
class LogLinearHistogram {
public:
    static constexpr unsigned kSubBits = 6;    ///< 2^6 buckets an octave: half a bucket is 1/128 of its lower bound
    static constexpr std::size_t kBuckets = (65 - kSubBits) << kSubBits;

    LogLinearHistogram() = default;
    LogLinearHistogram(const LogLinearHistogram& other) noexcept { merge(other); }
    LogLinearHistogram& operator=(const LogLinearHistogram& other) noexcept;

    /// The bucket of a value.
    [[nodiscard]] static constexpr std::size_t bucket_of(uint64_t value) noexcept {
        // 63 - clz is one instruction, bit_width three.
        const unsigned exponent = 63u - static_cast<unsigned>(std::countl_zero(value | kLinear)) - kSubBits;
        return (std::size_t{exponent} << kSubBits) + static_cast<std::size_t>(value >> exponent);
    }

    /// The smallest and the largest value of a bucket. Shape: bucket < kBuckets.
    [[nodiscard]] static constexpr uint64_t lower_bound(std::size_t bucket) noexcept {
        if (bucket <= kLinear) return bucket;
        const auto exponent = static_cast<unsigned>(bucket >> kSubBits) - 1;
        return ((bucket & (kSubBuckets - 1)) + kSubBuckets) << exponent;
    }
    [[nodiscard]] static constexpr uint64_t upper_bound(std::size_t bucket) noexcept {
        return bucket + 1 == kBuckets ? ~uint64_t{0} : lower_bound(bucket + 1) - 1;
    }

    /// Counts a value. Threads: one at a time, and none in record_shared().
    void record(uint64_t value) noexcept {
        // One writer: a plain load and store, which readers beside it see whole.
        std::atomic<uint64_t>& counter = counts_[bucket_of(value)];
        counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    }

    /// As record(), from any thread: one locked add.
    void record_shared(uint64_t value) noexcept { counts_[bucket_of(value)].fetch_add(1, std::memory_order_relaxed); }

    /// Adds the counts of `other`: as if its values had been recorded here. Threads: as record().
    void merge(const LogLinearHistogram& other) noexcept;

    /// Forgets everything. Threads: as record().
    void reset() noexcept;

    /// Values recorded.
    [[nodiscard]] uint64_t count() const noexcept;

    /// The values recorded in one bucket. Shape: bucket < kBuckets.
    [[nodiscard]] uint64_t count_in(std::size_t bucket) const noexcept {
        return counts_[bucket].load(std::memory_order_relaxed);
    }

    /// The q-quantile by nearest rank, as in Distribution: the ceil(q n)-th smallest value, given as the middle of its
    /// bucket: off by at most 1/128 of it, exact below 128.
    /// Errors:  absent where nothing was recorded or q is not within 0..1.
    [[nodiscard]] std::optional<uint64_t> quantile(double q) const noexcept;

private:
    static constexpr uint64_t kSubBuckets = uint64_t{1} << kSubBits;
    static constexpr uint64_t kLinear = 2 * kSubBuckets - 1;    // up to here a bucket holds one value

    std::array<std::atomic<uint64_t>, kBuckets> counts_{};
};

}    // namespace lapwing
