#include "lapwing/statistics.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string>

namespace lapwing {

namespace {

std::optional<Error> refusal(std::span<const double> values, std::span<const double> percents) {
    if (values.empty()) return Error{Errc::kInvalidArgument, 0, "no values: a percentile needs at least one"};
    for (const double percent : percents)
        if (!(percent >= 0 && percent <= 100))
            return Error{Errc::kInvalidArgument, 0, "percent is " + std::to_string(percent) + ": give 0 to 100"};
    for (const double value : values)
        if (!std::isfinite(value))
            return Error{Errc::kInvalidArgument, 0, "a value is not finite: leave out what could not be measured"};
    return std::nullopt;
}

// Where between which ranks of `count` values the percentile lies.
struct Place {
    std::size_t below;
    double share;    // of the way to the next rank
};
Place place_of(double percent, std::size_t count) {
    const double at = percent / 100 * static_cast<double>(count - 1);
    const auto below = std::min(static_cast<std::size_t>(at), count - 1);
    return {below, at - static_cast<double>(below)};
}

// Counted from the nearer end, so that both ends are hit exactly.
double between(double low, double high, double share) {
    return share < 0.5 ? low + (high - low) * share : high - (high - low) * (1 - share);
}

}    // namespace

Result<double> percentile(std::span<const double> values, double percent) {
    if (std::optional<Error> error = refusal(values, {&percent, 1})) return std::move(*error);
    std::vector<double> copy(values.begin(), values.end());
    const Place place = place_of(percent, copy.size());
    const auto below = copy.begin() + static_cast<std::ptrdiff_t>(place.below);
    std::nth_element(copy.begin(), below, copy.end());
    const auto above = std::min_element(below + 1, copy.end());
    return above == copy.end() ? *below : between(*below, *above, place.share);
}

Result<std::vector<double>> percentiles(std::span<const double> values, std::span<const double> percents) {
    if (std::optional<Error> error = refusal(values, percents)) return std::move(*error);
    std::vector<double> sorted(values.begin(), values.end());
    std::sort(sorted.begin(), sorted.end());
    std::vector<double> out;
    out.reserve(percents.size());
    for (const double percent : percents) {
        const Place place = place_of(percent, sorted.size());
        const double above = sorted[std::min(place.below + 1, sorted.size() - 1)];
        out.push_back(between(sorted[place.below], above, place.share));
    }
    return out;
}

void SampleMoments::merge(const SampleMoments& other) noexcept {
    if (other.count_ == 0) return;
    const auto own = static_cast<double>(count_);
    const auto others = static_cast<double>(other.count_);
    const double apart = other.mean_ - mean_;
    count_ += other.count_;
    mean_ += apart * others / (own + others);
    squares_ += other.squares_ + apart * apart * own * others / (own + others);
}

std::optional<double> SampleMoments::variance() const noexcept {
    if (count_ < 2 || !std::isfinite(squares_)) return std::nullopt;
    return squares_ / static_cast<double>(count_ - 1);
}

SampleStatistics SampleMoments::statistics() const noexcept {
    SampleStatistics out;
    out.count = count_;
    if (count_ == 0 || !std::isfinite(mean_)) return out;
    out.mean = mean_;
    const std::optional<double> spread = variance();
    if (count_ < 3 || !spread) return out;
    out.stddev = std::sqrt(*spread);
    out.ci95_half_width = ci95_factor(count_ - 1) * *out.stddev / std::sqrt(static_cast<double>(count_));
    return out;
}

SampleStatistics sample_statistics(std::span<const double> values) noexcept {
    SampleMoments moments;
    for (const double value : values) moments.add(value);
    return moments.statistics();
}

double student_t_975(uint64_t degrees_of_freedom) noexcept {
    constexpr std::array<double, 29> kTable{12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
                                            2.201,  2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
                                            2.080,  2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045};
    if (degrees_of_freedom == 0) return HUGE_VAL;
    if (degrees_of_freedom <= kTable.size()) return kTable[degrees_of_freedom - 1];
    // Cornish and Fisher's expansion.
    constexpr double z = 1.959964;
    const auto v = static_cast<double>(degrees_of_freedom);
    return z + (z * z * z + z) / (4 * v) + (5 * std::pow(z, 5) + 16 * z * z * z + 3 * z) / (96 * v * v);
}

double ci95_factor(uint64_t degrees_of_freedom) noexcept {
    return degrees_of_freedom <= 29 ? student_t_975(degrees_of_freedom) : 1.96;
}

const char* to_text(MeansVerdict verdict) noexcept {
    switch (verdict) {
        case MeansVerdict::kSame:
            return "same";
        case MeansVerdict::kLower:
            return "lower";
        case MeansVerdict::kHigher:
            return "higher";
        case MeansVerdict::kUnknown:
            break;
    }
    return "unknown";
}

MeansComparison compare_means(const SampleStatistics& first, const SampleStatistics& second) noexcept {
    MeansComparison out;
    if (!first.mean || !second.mean) return out;
    out.difference = *second.mean - *first.mean;
    if (!first.ci95_half_width || !second.ci95_half_width) return out;
    out.needed = *first.ci95_half_width + *second.ci95_half_width;
    if (std::abs(*out.difference) <= *out.needed)
        out.verdict = MeansVerdict::kSame;
    else
        out.verdict = *out.difference < 0 ? MeansVerdict::kLower : MeansVerdict::kHigher;
    return out;
}

}    // namespace lapwing
