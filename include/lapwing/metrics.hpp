// The instruments of a process that measures itself: counters, gauges and histograms with power-of-two buckets.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

namespace lapwing {

/// Counts what happened; never goes down.
/// Cost:    hot: one relaxed add. Constant-initialised, no allocation.
/// Threads: any.
class Counter {
public:
    void add(uint64_t count = 1) noexcept { value_.fetch_add(count, std::memory_order_relaxed); }
    [[nodiscard]] uint64_t get() const noexcept { return value_.load(std::memory_order_relaxed); }

private:
    std::atomic<uint64_t> value_{0};
};

/// A whole number that goes up and down, and may not be known.
/// Shape:   unset until the first set(), which takes any value but INT64_MIN: that one means unset.
/// Threads: any.
class Gauge {
public:
    void set(int64_t value) noexcept { value_.store(value, std::memory_order_relaxed); }
    void unset() noexcept { set(kUnset); }
    /// Nothing: not known.
    [[nodiscard]] std::optional<int64_t> get() const noexcept {
        const int64_t value = value_.load(std::memory_order_relaxed);
        return value == kUnset ? std::nullopt : std::optional(value);
    }

private:
    static constexpr int64_t kUnset = std::numeric_limits<int64_t>::min();
    std::atomic<int64_t> value_{kUnset};
};

/// A quantity that goes up and down, and may not be known.
/// Shape:   unset until the first set(); setting what is no finite number unsets it.
/// Threads: any.
class FloatGauge {
public:
    void set(double value) noexcept {
        value_.store(std::isfinite(value) ? value : std::numeric_limits<double>::quiet_NaN(),
                     std::memory_order_relaxed);
    }
    void unset() noexcept { set(std::numeric_limits<double>::quiet_NaN()); }
    /// Nothing: not known.
    [[nodiscard]] std::optional<double> get() const noexcept {
        const double value = value_.load(std::memory_order_relaxed);
        return std::isnan(value) ? std::nullopt : std::optional(value);
    }

private:
    std::atomic<double> value_{std::numeric_limits<double>::quiet_NaN()};
};

/// A histogram at one moment, cumulative as Prometheus and OTLP want it. Plain data.
/// Shape:   `cumulative[i]` counts values <= bound(i) for i < buckets; `cumulative[buckets]` counts all: +Inf.
struct Log2Snapshot {
    static constexpr uint32_t kMaxBuckets = 32;

    uint32_t shift = 0;      ///< log2 of the first bound
    uint32_t buckets = 0;    ///< without +Inf
    std::array<uint64_t, kMaxBuckets + 1> cumulative{};
    uint64_t sum = 0;    ///< of the values, in the histogram's unit; modulo 2^64

    [[nodiscard]] uint64_t bound(uint32_t bucket) const noexcept { return uint64_t{1} << (shift + bucket); }
    [[nodiscard]] uint64_t count() const noexcept { return cumulative[buckets]; }

    /// Adds what another histogram counted: of another queue, device, process.
    /// Returns: false, and changes nothing, where its buckets are others. An empty snapshot takes any.
    bool merge(const Log2Snapshot& other) noexcept {
        if (other.buckets == 0) return true;
        if (buckets == 0) return *this = other, true;
        if (shift != other.shift || buckets != other.buckets) return false;
        for (uint32_t i = 0; i <= buckets; ++i) cumulative[i] += other.cumulative[i];
        sum += other.sum;
        return true;
    }
    friend bool operator==(const Log2Snapshot&, const Log2Snapshot&) = default;
};

/// Counts values in `Buckets` buckets with the bounds 2^Shift, 2^(Shift + 1), ..., and one for all above.
/// Shape:   a value belongs to the first bound that is >= it.
/// Cost:    hot: two relaxed adds. Constant-initialised, no allocation; 8 (Buckets + 2) bytes.
/// Threads: any. A snapshot beside a record() may have its count and not yet its sum.
template <uint32_t Buckets, uint32_t Shift>
class Log2Histogram {
    static_assert(Buckets > 0 && Buckets <= Log2Snapshot::kMaxBuckets && Shift + Buckets <= 64);

public:
    /// The bucket of a value; `Buckets` is +Inf.
    [[nodiscard]] static constexpr uint32_t bucket_of(uint64_t value) noexcept {
        const auto bits = static_cast<uint32_t>(value == 0 ? 0 : std::bit_width(value - 1));
        return bits <= Shift ? 0 : std::min(bits - Shift, Buckets);
    }

    void record(uint64_t value) noexcept {
        counts_[bucket_of(value)].fetch_add(1, std::memory_order_relaxed);
        sum_.fetch_add(value, std::memory_order_relaxed);
    }

    [[nodiscard]] Log2Snapshot snapshot() const noexcept {
        Log2Snapshot out;
        out.shift = Shift;
        out.buckets = Buckets;
        uint64_t below = 0;
        for (uint32_t i = 0; i <= Buckets; ++i) {
            below += counts_[i].load(std::memory_order_relaxed);
            out.cumulative[i] = below;
        }
        out.sum = sum_.load(std::memory_order_relaxed);
        return out;
    }

private:
    std::array<std::atomic<uint64_t>, Buckets + 1> counts_{};
    std::atomic<uint64_t> sum_{0};
};

/// Durations: 1.024 us .. 68.7 s. Units: ns.
using NsHistogram = Log2Histogram<27, 10>;
/// Numbers of things: 1 .. 1024.
using CountHistogram = Log2Histogram<11, 0>;
/// Energies: 1 mJ .. 16.8 kJ. Units: mJ.
using MillijouleHistogram = Log2Histogram<25, 0>;

}    // namespace lapwing
