// The figures of one kernel, as threads write them.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include "lapwing/histogram.hpp"
#include "lapwing/kernel_table.hpp"

namespace lapwing::detail {

/// One row of a KernelTable. It stays where it is, so that a KernelId is good for ever.
class KernelFigures {
public:
    explicit KernelFigures(std::string text) : name(std::move(text)) {}

    void record(int64_t ns) noexcept;
    void launched() noexcept { launches_.fetch_add(1, std::memory_order_relaxed); }
    void reset() noexcept;

    const std::string name;
    /// The kernel that this row's handle turned out to be: its figures are that one's. 0 = none.
    std::atomic<KernelId> same_as{0};

private:
    friend class KernelSum;
    std::atomic<uint64_t> launches_{0};
    std::atomic<uint64_t> samples_{0};
    std::atomic<uint64_t> total_ns_{0};
    std::atomic<int64_t> min_ns_{std::numeric_limits<int64_t>::max()};
    std::atomic<int64_t> max_ns_{-1};
    std::atomic<double> squares_{0};    // of the durations; doubles: 2^56 ns squared does not fit 64 bits
    LogLinearHistogram histogram_;
};

/// The figures of the rows that are one kernel, added up.
class KernelSum {
public:
    void add(const KernelFigures& figures) noexcept;
    [[nodiscard]] bool empty() const noexcept { return samples_ == 0 && launches_ == 0; }
    [[nodiscard]] KernelRow row(std::string name) const;

private:
    uint64_t launches_ = 0;
    uint64_t samples_ = 0;
    uint64_t total_ns_ = 0;
    int64_t min_ns_ = std::numeric_limits<int64_t>::max();
    int64_t max_ns_ = -1;
    double squares_ = 0;
    LogLinearHistogram histogram_;
};

}    // namespace lapwing::detail
