// What the samples of one brick come to: sums, spread, quantiles, bytes, cycles.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "lapwing/brick_id.hpp"
#include "lapwing/histogram.hpp"

namespace lapwing {

/// When the host waits for the device, and so what a host time of a brick means.
enum class SyncMode : uint8_t {
    kImmediate = 0,    ///< after every brick: its host time is its execution, and the device idles between bricks
    kPerLayer,         ///< at the end of a layer: the layer's time is true, a brick's is its launch
    kDeferred,         ///< never: device times by harvest where a device is bound, else launches
    kNone,             ///< never: launches, or work that the host does itself
};
inline constexpr std::size_t kSyncModeCount = 4;
/// "immediate", "per_layer", "deferred", "none". Static string.
[[nodiscard]] const char* to_text(SyncMode mode) noexcept;

/// Whose clock timed a sample.
enum class BrickClock : uint8_t { kHost = 0, kDevice };
/// "host", "device". Static string.
[[nodiscard]] const char* to_text(BrickClock clock) noexcept;

/// What limits a brick, as its caller says; nothing here computes it.
enum class BrickBottleneck : uint8_t { kUnknown = 0, kMemory, kCompute };
/// "unknown", "memory", "compute". Static string.
[[nodiscard]] const char* to_text(BrickBottleneck bottleneck) noexcept;

/// Why a sample was not taken. Counted by a profiler and returned to the caller.
enum class BrickFault : uint8_t {
    kNone = 0,            ///< it was taken
    kNoElements,          ///< element count 0
    kNegativeDuration,    ///< its end is before its begin
    kOverflow,            ///< longer than 104 days, or a sum would overflow
    kAlreadyStopped,      ///< the timer had been stopped before
    kUnknownBrick,        ///< a key that this profiler never gave, or no room for another name
    kRecordsFull,         ///< a reader held the thread's records until they were full
    kDeviceLost,          ///< its device span was lost (DeviceRing::stats says why)
};
inline constexpr std::size_t kBrickFaultCount = 8;
/// The fault's name in reports ("no_elements", ...). Static string.
[[nodiscard]] const char* to_text(BrickFault fault) noexcept;
/// A sentence that says what to do. Static string.
[[nodiscard]] const char* describe(BrickFault fault) noexcept;

/// One sample in full. Units: ns, bytes, CPU or device cycles; 0 bytes or cycles = not known.
struct BrickSample {
    uint64_t ns = 0;
    uint64_t elements = 0;        ///< > 0
    uint64_t input_bytes = 0;     ///< read
    uint64_t output_bytes = 0;    ///< after compression, written
    uint64_t cycles = 0;
    SyncMode mode = SyncMode::kNone;
};

/// A sample's longest time. Units: ns, 104 days; doubles hold it exactly.
inline constexpr uint64_t kMaxBrickNs = (uint64_t{1} << 53) - 1;

/// The statistics of one brick on one clock. Plain data with the formulas beside it.
/// Shape:   30 KB, for the histogram. Warm-up samples (BrickProfilerOptions::warmup_samples) and deferred records that
///          only have a host start are kept apart: they are in none of the other fields, but for child_ns and
///          exclusive_ns().
/// Units:   formulas give 0 where they have nothing to go by (compression_ratio 1), as they always did; what is new is
///          absent instead.
/// Threads: one at a time.
class BrickStats {
public:
    std::string name;
    BrickCategory category = BrickCategory::kOther;
    std::string category_name;
    BrickClock clock = BrickClock::kHost;
    BrickBottleneck bottleneck = BrickBottleneck::kUnknown;

    uint64_t total_ns = 0;
    uint64_t min_ns = ~uint64_t{0};    ///< all ones while there is no sample
    uint64_t max_ns = 0;
    uint64_t total_elements = 0;
    uint64_t total_bytes = 0;               ///< input bytes
    uint64_t total_compressed_bytes = 0;    ///< output bytes
    uint64_t total_cycles = 0;
    uint64_t cycle_samples = 0;            ///< samples that said their cycles
    uint64_t min_cycles = ~uint64_t{0};    ///< all ones while no sample said its cycles
    uint64_t max_cycles = 0;
    std::array<uint64_t, kSyncModeCount> by_mode{};    ///< samples by the SyncMode that made them; count() is their sum

    uint64_t child_ns = 0;    ///< time of bricks that ran inside this one, warm-up included

    uint64_t warmup_count = 0;
    uint64_t warmup_ns = 0;
    uint64_t warmup_max_ns = 0;

    uint64_t until_sync_count = 0;    ///< deferred records without an end of their own: start to finalize()
    uint64_t until_sync_ns = 0;       ///< these overlap, so that their sum is no time that passed

    LogLinearHistogram histogram;    ///< of ns

    /// Takes a sample, or says why not and changes nothing.
    BrickFault add_sample(uint64_t ns, uint64_t elements) noexcept { return add({.ns = ns, .elements = elements}); }
    BrickFault add_sample_with_bytes(uint64_t ns, uint64_t elements, uint64_t input, uint64_t output) noexcept {
        return add({.ns = ns, .elements = elements, .input_bytes = input, .output_bytes = output});
    }
    BrickFault add_sample_with_cycles(uint64_t ns, uint64_t elements, uint64_t cycles) noexcept {
        return add({.ns = ns, .elements = elements, .cycles = cycles});
    }
    BrickFault add(const BrickSample& sample) noexcept;

    /// Keeps a sample apart, as warm-up.
    void add_warmup(uint64_t ns) noexcept;

    /// Adds what `other` holds, as if its samples had come here; name and category stay.
    void merge(const BrickStats& other) noexcept;

    /// Samples, without what is kept apart.
    [[nodiscard]] uint64_t count() const noexcept { return by_mode[0] + by_mode[1] + by_mode[2] + by_mode[3]; }
    [[nodiscard]] double avg_us() const noexcept;
    [[nodiscard]] double min_us() const noexcept;
    [[nodiscard]] double max_us() const noexcept;
    [[nodiscard]] double throughput() const noexcept;           ///< elements a second
    [[nodiscard]] double throughput_gbps() const noexcept;      ///< input bytes, 1e9 B/s
    [[nodiscard]] double compression_ratio() const noexcept;    ///< input / output bytes; 1 where not known
    [[nodiscard]] double cycles_per_element() const noexcept;
    [[nodiscard]] double avg_cycles() const noexcept;
    [[nodiscard]] double estimated_ipc() const noexcept;    ///< elements a cycle: one instruction an element
    /// "insufficient data", memory-bound (IPC < 0.5), compute-bound (IPC > 2), throttled (> 1 ns a cycle), "balanced".
    [[nodiscard]] const char* diagnose_from_cycles() const noexcept;

    /// By nearest rank, within 1/128 and between min and max. Absent without a sample.
    [[nodiscard]] std::optional<uint64_t> quantile_ns(double q) const noexcept;
    /// Of the sample (n - 1), exact up to the last rounding. Absent below 2 samples.
    [[nodiscard]] std::optional<double> variance_ns2() const noexcept;
    /// Half of the mean's 95 % interval by Student's t. Absent below 3 samples.
    [[nodiscard]] std::optional<double> ci95_half_width_ns() const noexcept;
    /// Time not spent in bricks inside this one, warm-up included. While one of its samples is open, the bricks inside
    /// that are already taken off: it may be negative then.
    [[nodiscard]] int64_t exclusive_ns() const noexcept {
        return static_cast<int64_t>(total_ns + warmup_ns) - static_cast<int64_t>(child_ns);
    }
    /// The mode of all samples; absent where they were made by several, or there are none.
    [[nodiscard]] std::optional<SyncMode> mode() const noexcept;

    /// The bare sums of a judged sample: elements > 0, ns <= kMaxBrickNs, no sum overflows.
    /// Cost:    hot.
    [[gnu::always_inline]] void add_judged(uint64_t ns, uint64_t elements, SyncMode mode) noexcept {
        ++by_mode[static_cast<std::size_t>(mode)];
        // Branches: they are hardly ever taken, and spare two stores.
        if (ns < min_ns) [[unlikely]]
            min_ns = ns;
        if (ns > max_ns) [[unlikely]]
            max_ns = ns;
        squares_ += static_cast<Wide>(ns) * ns;
        histogram.record(ns);
        total_ns += ns;
        total_elements += elements;
    }

private:
    __extension__ typedef unsigned __int128 Wide;
    Wide squares_ = 0;    // of ns: exact, so that the variance has no cancellation
};

/// What the bricks of one category come to.
struct CategoryStats {
    BrickCategory category = BrickCategory::kOther;
    std::string name;
    uint64_t total_ns = 0;    ///< of the bricks as they are; nested ones count in both
    uint64_t total_elements = 0;
    uint64_t count = 0;
    int64_t exclusive_ns = 0;    ///< of all its bricks: over the categories, the time in any brick

    [[nodiscard]] double avg_us() const noexcept;
    [[nodiscard]] double throughput() const noexcept;
    /// 100 x total_ns / total; 0 where the total is 0.
    [[nodiscard]] double percentage(uint64_t total) const noexcept;
};

}    // namespace lapwing
