// Statistics of a sample: percentiles between ranks, mean, spread, 95 % confidence intervals and what they say about
// two results. Reports of spans use nearest ranks in integers (report.hpp); these are for benchmark figures.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "lapwing/result.hpp"

namespace lapwing {

/// The `percent`-th percentile by linear interpolation between the two nearest ranks.
/// Shape:   percent in 0..100; `values` in any order, left as they are. 0 gives the smallest, 100 the largest.
/// Units:   those of the values.
/// Errors:  kInvalidArgument: no values, a value that is not finite, a percent out of range.
/// Cost:    cold: copies the values, linear time.
/// Source:  numpy.percentile, method "linear" (its default).
[[nodiscard]] Result<double> percentile(std::span<const double> values, double percent);

/// Several percentiles of one sample, in the order asked for; otherwise as percentile().
/// Cost:    cold: copies and sorts once.
[[nodiscard]] Result<std::vector<double>> percentiles(std::span<const double> values, std::span<const double> percents);

/// What a sample comes to.
/// Units:   those of the values.
struct SampleStatistics {
    uint64_t count = 0;
    std::optional<double> mean;               ///< absent for an empty sample
    std::optional<double> stddev;             ///< of the sample (n - 1); absent below 3 values
    std::optional<double> ci95_half_width;    ///< t(n - 1) x stddev / sqrt(n); absent below 3 values
};

/// Mean and variance kept up to date value by value, without the values.
/// Shape:   plain data, two of which merge into what one would have come to (up to rounding).
/// Cost:    add: one division; no allocation.
/// Source:  Welford 1962; Chan, Golub and LeVeque 1979 for merging.
/// Threads: one at a time.
class SampleMoments {
public:
    void add(double value) noexcept {
        ++count_;
        const double before = value - mean_;
        mean_ += before / static_cast<double>(count_);
        squares_ += before * (value - mean_);
    }
    void merge(const SampleMoments& other) noexcept;

    [[nodiscard]] uint64_t count() const noexcept { return count_; }
    [[nodiscard]] double mean() const noexcept { return mean_; }    ///< 0 while empty
    /// Of the sample (n - 1); absent below 2 values.
    [[nodiscard]] std::optional<double> variance() const noexcept;
    [[nodiscard]] SampleStatistics statistics() const noexcept;

private:
    uint64_t count_ = 0;
    double mean_ = 0;
    double squares_ = 0;    // of the distances from the mean
};

/// Mean, sample standard deviation and 95 % half-width of `values`.
/// Shape:   below 3 values there is only the mean: two values say nothing worth stating about their spread.
/// Errors:  never fails; a value that is not finite makes all figures absent but the count.
[[nodiscard]] SampleStatistics sample_statistics(std::span<const double> values) noexcept;

/// The 97.5 % point of Student's t: 95 % of the distribution lie within plus and minus it.
/// Shape:   tabulated to three decimals up to 29 degrees of freedom, from there an expansion around the normal
///          distribution that is right to three. Infinite for 0.
[[nodiscard]] double student_t_975(uint64_t degrees_of_freedom) noexcept;

/// The factor of a 95 % half-width: student_t_975() up to 29 degrees of freedom, then 1.96, as benchmark tools have it.
[[nodiscard]] double ci95_factor(uint64_t degrees_of_freedom) noexcept;

/// How two means compare.
enum class MeansVerdict : uint8_t {
    kUnknown = 0,    ///< a result has no interval (below 3 values): nothing can be said
    kSame,           ///< the 95 % intervals overlap or touch
    kLower,          ///< the second mean is lower, and the intervals do not meet
    kHigher,         ///< the second mean is higher, and the intervals do not meet
};

/// "unknown", "same", "lower", "higher". Static string.
[[nodiscard]] const char* to_text(MeansVerdict verdict) noexcept;

/// A comparison, with what it rests on.
struct MeansComparison {
    MeansVerdict verdict = MeansVerdict::kUnknown;
    std::optional<double> difference;    ///< second mean minus first; absent where one is empty
    std::optional<double> needed;    ///< sum of the half-widths, which |difference| must exceed; absent where unknown
};

/// Compares two results: they differ where |difference of means| exceeds the sum of their half-widths.
[[nodiscard]] MeansComparison compare_means(const SampleStatistics& first, const SampleStatistics& second) noexcept;

}    // namespace lapwing
