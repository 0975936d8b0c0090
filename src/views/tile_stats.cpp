#include "lapwing/tile_stats.hpp"

#include <algorithm>

#include "lapwing/result.hpp"

namespace lapwing {
namespace {

double ratio(double numerator, double denominator) noexcept {
    return denominator == 0 ? 0 : numerator / denominator;
}
std::size_t number(TileLevel level) noexcept {
    return static_cast<std::size_t>(level) % kTileLevelCount;
}

}    // namespace

const char* to_text(TileLevel level) noexcept {
    constexpr std::array kNames{"macro", "midi", "micro"};
    return kNames[number(level)];
}

BrickFault TileStats::add_sample(uint64_t ns, uint64_t elements, uint64_t flops) noexcept {
    uint64_t ns_sum = 0, element_sum = 0, flop_sum = 0;
    if (elements == 0) return BrickFault::kNoElements;
    if (ns > kMaxBrickNs || __builtin_add_overflow(total_ns, ns, &ns_sum) ||
        __builtin_add_overflow(total_elements, elements, &element_sum) ||
        __builtin_add_overflow(total_flops, flops, &flop_sum))
        return BrickFault::kOverflow;
    ++count;
    total_ns = ns_sum;
    total_elements = element_sum;
    total_flops = flop_sum;
    min_ns = std::min(min_ns, ns);
    max_ns = std::max(max_ns, ns);
    return BrickFault::kNone;
}

double TileStats::avg_us() const noexcept {
    return ratio(static_cast<double>(total_ns), static_cast<double>(count)) / 1000;
}
double TileStats::min_us() const noexcept {
    return count == 0 ? 0 : static_cast<double>(min_ns) / 1000;
}
double TileStats::max_us() const noexcept {
    return static_cast<double>(max_ns) / 1000;
}
double TileStats::throughput() const noexcept {
    return ratio(static_cast<double>(total_elements) * 1e9, static_cast<double>(total_ns));
}
double TileStats::gflops() const noexcept {
    return ratio(static_cast<double>(total_flops), static_cast<double>(total_ns));
}
double TileStats::arithmetic_intensity() const noexcept {
    return ratio(static_cast<double>(total_flops), static_cast<double>(total_elements) * bytes_per_element);
}
double TileStats::cache_efficiency(double peak_gflops) const noexcept {
    return peak_gflops > 0 ? std::min(1.0, gflops() / peak_gflops) : 0;
}

TileProfiler::TileProfiler(const TileProfilerOptions& options) : options_(options) {
    LAPWING_ASSERT(options.max_cells > 0);
    reset_tile_stats();
}

BrickFault TileProfiler::refuse(BrickFault fault) noexcept {
    faults_[static_cast<std::size_t>(fault)].fetch_add(1, std::memory_order_relaxed);
    return fault;
}

BrickFault TileProfiler::stop_tile(TileTimer& timer, uint64_t elements, uint64_t flops) noexcept {
    if (timer.stopped) return refuse(BrickFault::kAlreadyStopped);
    if (!timer.running) return BrickFault::kNone;
    const uint64_t end = tick().value;
    timer.running = false;
    timer.stopped = true;
    const int64_t ns = host_scale().to_ns(static_cast<int64_t>(end - timer.begin));
    if (ns < 0) return refuse(BrickFault::kNegativeDuration);
    return record_tile(timer.level, timer.row, timer.col, static_cast<uint64_t>(ns), elements, flops);
}

BrickFault TileProfiler::record_tile(TileLevel level, uint32_t row, uint32_t col, uint64_t ns, uint64_t elements,
                                     uint64_t flops) noexcept {
    if (!is_tile_profiling_enabled()) return BrickFault::kNone;
    const std::lock_guard lock(mutex_);
    const BrickFault fault = levels_[number(level)].add_sample(ns, elements, flops);
    if (fault != BrickFault::kNone) return refuse(fault);
    add_heat(level, {row, col}, ns);
    return BrickFault::kNone;
}

void TileProfiler::add_heat(TileLevel level, Place tile, uint64_t ns) {
    Heat& heat = heat_[number(level)];
    const auto cell_of = [&heat](Place at) { return Place{at.first >> heat.shift, at.second >> heat.shift}; };
    // Ends: at shift 31 there are four cells at most.
    while (heat.cells.size() >= options_.max_cells && heat.shift < 31 && heat.cells.count(cell_of(tile)) == 0) {
        ++heat.shift;
        std::map<Place, Cell> coarser;
        for (const auto& [place, cell] : heat.cells) {
            Cell& into = coarser[{place.first >> 1, place.second >> 1}];
            into.count += cell.count;
            into.total_ns += cell.total_ns;
        }
        heat.cells = std::move(coarser);
    }
    Cell& cell = heat.cells[cell_of(tile)];
    ++cell.count;
    cell.total_ns += ns;
}

TileStats TileProfiler::tile_stats(TileLevel level) const {
    const std::lock_guard lock(mutex_);
    return levels_[number(level)];
}
std::array<TileStats, kTileLevelCount> TileProfiler::all_tile_stats() const {
    const std::lock_guard lock(mutex_);
    return levels_;
}

TileSnapshot TileProfiler::snapshot() const {
    TileSnapshot out;
    const std::lock_guard lock(mutex_);
    out.enabled = is_tile_profiling_enabled();
    out.levels = levels_;
    for (std::size_t level = 0; level < kTileLevelCount; ++level) {
        out.cell_shift[level] = heat_[level].shift;
        for (const auto& [place, cell] : heat_[level].cells)
            out.heat.push_back({static_cast<TileLevel>(level), place.first, place.second, cell.count, cell.total_ns});
    }
    for (std::size_t i = 0; i < kBrickFaultCount; ++i) out.faults[i] = faults_[i].load(std::memory_order_relaxed);
    return out;
}

void TileProfiler::reset_tile_stats() {
    const std::lock_guard lock(mutex_);
    for (std::size_t level = 0; level < kTileLevelCount; ++level) {
        levels_[level] = TileStats{};
        levels_[level].level = static_cast<TileLevel>(level);
        levels_[level].bytes_per_element = options_.bytes_per_element[level];
        heat_[level] = Heat{};
    }
    for (auto& fault : faults_) fault.store(0, std::memory_order_relaxed);
}

}    // namespace lapwing
