#include "telemetry/kernel_figures.hpp"

#include <algorithm>
#include <cmath>

#include "lapwing/statistics.hpp"

namespace lapwing::detail {

void KernelFigures::record(int64_t ns) noexcept {
    samples_.fetch_add(1, std::memory_order_relaxed);
    total_ns_.fetch_add(static_cast<uint64_t>(ns), std::memory_order_relaxed);
    int64_t min = min_ns_.load(std::memory_order_relaxed);
    while (ns < min && !min_ns_.compare_exchange_weak(min, ns, std::memory_order_relaxed)) {
    }
    int64_t max = max_ns_.load(std::memory_order_relaxed);
    while (ns > max && !max_ns_.compare_exchange_weak(max, ns, std::memory_order_relaxed)) {
    }
    const auto value = static_cast<double>(ns);
    squares_.fetch_add(value * value, std::memory_order_relaxed);
    histogram_.record_shared(static_cast<uint64_t>(ns));
}

void KernelFigures::reset() noexcept {
    launches_.store(0, std::memory_order_relaxed);
    samples_.store(0, std::memory_order_relaxed);
    total_ns_.store(0, std::memory_order_relaxed);
    min_ns_.store(std::numeric_limits<int64_t>::max(), std::memory_order_relaxed);
    max_ns_.store(-1, std::memory_order_relaxed);
    squares_.store(0, std::memory_order_relaxed);
    histogram_.reset();
}

void KernelSum::add(const KernelFigures& figures) noexcept {
    launches_ += figures.launches_.load(std::memory_order_relaxed);
    samples_ += figures.samples_.load(std::memory_order_relaxed);
    total_ns_ += figures.total_ns_.load(std::memory_order_relaxed);
    min_ns_ = std::min(min_ns_, figures.min_ns_.load(std::memory_order_relaxed));
    max_ns_ = std::max(max_ns_, figures.max_ns_.load(std::memory_order_relaxed));
    squares_ += figures.squares_.load(std::memory_order_relaxed);
    histogram_.merge(figures.histogram_);
}

KernelRow KernelSum::row(std::string name) const {
    KernelRow out;
    out.name = std::move(name);
    out.samples = samples_;
    out.total_ns = static_cast<int64_t>(total_ns_);
    if (max_ns_ >= 0) {
        // A sample that is being recorded may be in the extremes and not yet in the histogram, or the other way round.
        out.min_ns = std::min(min_ns_, max_ns_);
        out.max_ns = max_ns_;
        const auto quantile = [&](double q) {
            const auto value = static_cast<int64_t>(histogram_.quantile(q).value_or(static_cast<uint64_t>(max_ns_)));
            return std::clamp(value, out.min_ns, out.max_ns);
        };
        out.p50_ns = quantile(0.50);
        out.p90_ns = quantile(0.90);
        out.p99_ns = quantile(0.99);
    }
    if (launches_ == 0) return out;
    out.launches = launches_;
    if (samples_ == 0) return out;
    const auto timed = static_cast<double>(samples_);
    const double all = std::max(static_cast<double>(launches_), timed);
    const double mean = static_cast<double>(total_ns_) / timed;
    out.scaled = ScaledKernelTime{all * mean, std::nullopt};
    if (samples_ >= 3) {
        const double variance = std::max(0.0, (squares_ - timed * mean * mean) / (timed - 1));
        out.scaled->error_ns = student_t_975(samples_ - 1) * all * std::sqrt((1 - timed / all) * variance / timed);
    }
    return out;
}

}    // namespace lapwing::detail
