#include "lapwing/brick_stats.hpp"

#include <cmath>

#include "lapwing/statistics.hpp"

namespace lapwing {
namespace {

double ratio(double numerator, double denominator, double otherwise = 0) noexcept {
    return denominator == 0 ? otherwise : numerator / denominator;
}
double per_second(uint64_t amount, uint64_t ns) noexcept {
    return ratio(static_cast<double>(amount) * 1e9, static_cast<double>(ns));
}

struct FaultText {
    const char* name;
    const char* remedy;
};
constexpr std::array<FaultText, kBrickFaultCount> kFaults{{
    {"none", "the sample was taken"},
    {"no_elements", "a sample needs its number of elements: pass the count that the brick worked on, at least 1"},
    {"negative_duration",
     "the end is before the begin: stop a timer on the thread that started it, and pass durations "
     "of a monotonic clock"},
    {"overflow", "a sample is longer than 104 days or a sum left 64 bits: check the unit (ns), or call reset()"},
    {"already_stopped", "the timer was stopped before: start a new one for every sample"},
    {"unknown_brick",
     "ask brick(name) for the key, and raise BrickProfilerOptions::max_named_bricks where there are "
     "more names"},
    {"records_full",
     "the thread's records were full while a reader held them: raise "
     "BrickProfilerOptions::max_record_bytes or flush() more often"},
    {"device_lost", "the device span of a brick never came: DeviceRing::stats() says why"},
}};

}    // namespace

const char* to_text(SyncMode mode) noexcept {
    constexpr std::array kNames{"immediate", "per_layer", "deferred", "none"};
    return kNames[static_cast<std::size_t>(mode) % kSyncModeCount];
}
const char* to_text(BrickClock clock) noexcept {
    return clock == BrickClock::kHost ? "host" : "device";
}
const char* to_text(BrickBottleneck bottleneck) noexcept {
    switch (bottleneck) {
        case BrickBottleneck::kMemory:
            return "memory";
        case BrickBottleneck::kCompute:
            return "compute";
        case BrickBottleneck::kUnknown:
            break;
    }
    return "unknown";
}
const char* to_text(BrickFault fault) noexcept {
    return kFaults[static_cast<std::size_t>(fault) % kBrickFaultCount].name;
}
const char* describe(BrickFault fault) noexcept {
    return kFaults[static_cast<std::size_t>(fault) % kBrickFaultCount].remedy;
}

BrickFault BrickStats::add(const BrickSample& sample) noexcept {
    if (sample.elements == 0) return BrickFault::kNoElements;
    uint64_t sum = 0;
    if (sample.ns > kMaxBrickNs || __builtin_add_overflow(total_ns, sample.ns, &sum) ||
        __builtin_add_overflow(total_elements, sample.elements, &sum) ||
        __builtin_add_overflow(total_bytes, sample.input_bytes, &sum) ||
        __builtin_add_overflow(total_compressed_bytes, sample.output_bytes, &sum) ||
        __builtin_add_overflow(total_cycles, sample.cycles, &sum))
        return BrickFault::kOverflow;
    add_judged(sample.ns, sample.elements, sample.mode);
    total_bytes += sample.input_bytes;
    total_compressed_bytes += sample.output_bytes;
    if (sample.cycles != 0) {
        ++cycle_samples;
        total_cycles += sample.cycles;
        min_cycles = std::min(min_cycles, sample.cycles);
        max_cycles = std::max(max_cycles, sample.cycles);
    }
    return BrickFault::kNone;
}

void BrickStats::add_warmup(uint64_t ns) noexcept {
    ++warmup_count;
    warmup_ns += ns;
    warmup_max_ns = std::max(warmup_max_ns, ns);
}

void BrickStats::merge(const BrickStats& other) noexcept {
    total_ns += other.total_ns;
    min_ns = std::min(min_ns, other.min_ns);
    max_ns = std::max(max_ns, other.max_ns);
    total_elements += other.total_elements;
    total_bytes += other.total_bytes;
    total_compressed_bytes += other.total_compressed_bytes;
    total_cycles += other.total_cycles;
    cycle_samples += other.cycle_samples;
    min_cycles = std::min(min_cycles, other.min_cycles);
    max_cycles = std::max(max_cycles, other.max_cycles);
    for (std::size_t mode = 0; mode < kSyncModeCount; ++mode) by_mode[mode] += other.by_mode[mode];
    child_ns += other.child_ns;
    warmup_count += other.warmup_count;
    warmup_ns += other.warmup_ns;
    warmup_max_ns = std::max(warmup_max_ns, other.warmup_max_ns);
    until_sync_count += other.until_sync_count;
    until_sync_ns += other.until_sync_ns;
    squares_ += other.squares_;
    if (other.count() != 0) histogram.merge(other.histogram);
    if (bottleneck == BrickBottleneck::kUnknown) bottleneck = other.bottleneck;
}

double BrickStats::avg_us() const noexcept {
    return ratio(static_cast<double>(total_ns), static_cast<double>(count())) / 1000;
}
double BrickStats::min_us() const noexcept {
    return count() == 0 ? 0 : static_cast<double>(min_ns) / 1000;
}
double BrickStats::max_us() const noexcept {
    return static_cast<double>(max_ns) / 1000;
}
double BrickStats::throughput() const noexcept {
    return per_second(total_elements, total_ns);
}
double BrickStats::throughput_gbps() const noexcept {
    return ratio(static_cast<double>(total_bytes), static_cast<double>(total_ns));
}
double BrickStats::compression_ratio() const noexcept {
    return ratio(static_cast<double>(total_bytes), static_cast<double>(total_compressed_bytes), 1);
}
double BrickStats::cycles_per_element() const noexcept {
    return ratio(static_cast<double>(total_cycles), static_cast<double>(total_elements));
}
double BrickStats::avg_cycles() const noexcept {
    return ratio(static_cast<double>(total_cycles), static_cast<double>(count()));
}
double BrickStats::estimated_ipc() const noexcept {
    return ratio(static_cast<double>(total_elements), static_cast<double>(total_cycles));
}

const char* BrickStats::diagnose_from_cycles() const noexcept {
    if (total_cycles == 0 || total_ns == 0) return "insufficient data";
    if (estimated_ipc() < 0.5) return "memory-bound: below 0.5 elements a cycle";
    if (estimated_ipc() > 2) return "compute-bound: above 2 elements a cycle";
    if (total_ns > total_cycles) return "throttled: above 1 ns a cycle";
    return "balanced";
}

std::optional<uint64_t> BrickStats::quantile_ns(double q) const noexcept {
    const std::optional<uint64_t> middle = histogram.quantile(q);
    if (!middle || count() == 0) return std::nullopt;
    return std::clamp(*middle, min_ns, max_ns);
}

std::optional<double> BrickStats::variance_ns2() const noexcept {
    if (count() < 2) return std::nullopt;
    // Distances from the whole part q of the mean: sum (x - q)^2 = squares - 2 q sum + n q^2. It is small and not
    // negative, so that what overflows in between does not matter.
    const uint64_t q = total_ns / count();
    const uint64_t rest = total_ns % count();
    const Wide around_q = squares_ - 2 * static_cast<Wide>(q) * total_ns + static_cast<Wide>(q) * q * count();
    const auto n = static_cast<double>(count());
    const double off = static_cast<double>(rest) * (static_cast<double>(rest) / n);
    return std::max(0.0, (static_cast<double>(around_q) - off) / (n - 1));
}

std::optional<double> BrickStats::ci95_half_width_ns() const noexcept {
    if (count() < 3) return std::nullopt;
    return student_t_975(count() - 1) * std::sqrt(*variance_ns2() / static_cast<double>(count()));
}

std::optional<SyncMode> BrickStats::mode() const noexcept {
    for (std::size_t mode = 0; mode < kSyncModeCount; ++mode)
        if (count() != 0 && by_mode[mode] == count()) return static_cast<SyncMode>(mode);
    return std::nullopt;
}

double CategoryStats::avg_us() const noexcept {
    return ratio(static_cast<double>(total_ns), static_cast<double>(count)) / 1000;
}
double CategoryStats::throughput() const noexcept {
    return per_second(total_elements, total_ns);
}
double CategoryStats::percentage(uint64_t total) const noexcept {
    return ratio(100 * static_cast<double>(total_ns), static_cast<double>(total));
}

}    // namespace lapwing
