// Statistics of tiles, the blocks that a kernel's loops work on, by level of the memory that they fit.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "lapwing/brick_stats.hpp"
#include "lapwing/clock.hpp"

namespace lapwing {

/// The memory that a tile is made for.
enum class TileLevel : uint8_t {
    kMacro = 0,    ///< "macro": last-level cache or global memory; the default
    kMidi,         ///< "midi": L2 or shared memory
    kMicro,        ///< "micro": registers, SIMD
};
inline constexpr std::size_t kTileLevelCount = 3;
/// "macro", "midi", "micro". Static string.
[[nodiscard]] const char* to_text(TileLevel level) noexcept;

/// What the tiles of one level come to. Formulas give 0 where they have nothing to go by.
struct TileStats {
    TileLevel level = TileLevel::kMacro;
    uint64_t count = 0;
    uint64_t total_ns = 0;
    uint64_t min_ns = ~uint64_t{0};    ///< all ones while there is no sample
    uint64_t max_ns = 0;
    uint64_t total_elements = 0;
    uint64_t total_flops = 0;
    double bytes_per_element = 4;

    /// Takes a sample, or says why not and changes nothing: kNoElements, kOverflow.
    BrickFault add_sample(uint64_t ns, uint64_t elements, uint64_t flops) noexcept;

    [[nodiscard]] double avg_us() const noexcept;
    [[nodiscard]] double min_us() const noexcept;
    [[nodiscard]] double max_us() const noexcept;
    [[nodiscard]] double throughput() const noexcept;              ///< elements a second
    [[nodiscard]] double gflops() const noexcept;                  ///< 1e9 operations a second
    [[nodiscard]] double arithmetic_intensity() const noexcept;    ///< flops / (elements x bytes_per_element)
    /// min(1, gflops() / peak); 0 for a peak <= 0.
    [[nodiscard]] double cache_efficiency(double peak_gflops) const noexcept;
};

/// Time by place: which tiles are slow. A cell is a block of rows x columns of tiles.
struct TileHeat {
    TileLevel level = TileLevel::kMacro;
    uint32_t row = 0;    ///< of the cell: the tiles' row >> row_shift
    uint32_t col = 0;
    uint64_t count = 0;
    uint64_t total_ns = 0;
};

struct TileSnapshot {
    bool enabled = false;
    std::array<TileStats, kTileLevelCount> levels{};
    std::vector<TileHeat> heat;                            ///< by level, row, column
    std::array<uint32_t, kTileLevelCount> cell_shift{};    ///< a cell of that level has 2^shift x 2^shift tiles
    std::array<uint64_t, kBrickFaultCount> faults{};       ///< refused samples
};

struct TileProfilerOptions {
    /// Of an element in memory, by level: what arithmetic intensity is computed with. > 0.
    std::array<double, kTileLevelCount> bytes_per_element{4, 4, 4};
    /// Cells of the heat map a level may have; > 0. When there would be more, cells of 2 x 2 become one.
    std::size_t max_cells = 4096;
};

/// A tile under way. The default is off.
struct TileTimer {
    uint64_t begin = 0;    ///< tick
    uint32_t row = 0;
    uint32_t col = 0;
    TileLevel level = TileLevel::kMacro;
    bool running = false;
    bool stopped = false;
};

/// Times tiles. Starts off; its switch is its own.
/// Cost:    off: one relaxed load, no clock. On: two clock reads, a short lock, a lookup of the tile's cell.
/// Threads: any.
class TileProfiler {
public:
    explicit TileProfiler(const TileProfilerOptions& options = {});

    void enable_tile_profiling() noexcept { enabled_.store(true, std::memory_order_relaxed); }
    void disable_tile_profiling() noexcept { enabled_.store(false, std::memory_order_relaxed); }
    [[nodiscard]] bool is_tile_profiling_enabled() const noexcept { return enabled_.load(std::memory_order_relaxed); }

    /// Begins the tile at `row` and `col` of its level's grid.
    [[nodiscard]] TileTimer start_tile(TileLevel level, uint32_t row, uint32_t col) noexcept {
        TileTimer timer;
        if (!is_tile_profiling_enabled()) return timer;
        timer.level = level;
        timer.row = row;
        timer.col = col;
        timer.running = true;
        timer.begin = tick().value;
        return timer;
    }
    /// Errors:  kNoElements, kAlreadyStopped, kOverflow; all counted. Null timers are ignored.
    BrickFault stop_tile(TileTimer& timer, uint64_t elements, uint64_t flops) noexcept;
    /// A tile that the caller timed. Off: nothing.
    BrickFault record_tile(TileLevel level, uint32_t row, uint32_t col, uint64_t ns, uint64_t elements,
                           uint64_t flops) noexcept;

    [[nodiscard]] TileStats tile_stats(TileLevel level) const;
    [[nodiscard]] std::array<TileStats, kTileLevelCount> all_tile_stats() const;
    [[nodiscard]] TileSnapshot snapshot() const;
    void reset_tile_stats();

private:
    using Place = std::pair<uint32_t, uint32_t>;
    struct Cell {
        uint64_t count = 0;
        uint64_t total_ns = 0;
    };
    struct Heat {
        uint32_t shift = 0;
        std::map<Place, Cell> cells;
    };
    BrickFault refuse(BrickFault fault) noexcept;
    void add_heat(TileLevel level, Place tile, uint64_t ns);

    TileProfilerOptions options_;
    std::atomic<bool> enabled_{false};
    std::array<std::atomic<uint64_t>, kBrickFaultCount> faults_{};
    mutable std::mutex mutex_;
    std::array<TileStats, kTileLevelCount> levels_{};
    std::array<Heat, kTileLevelCount> heat_{};
};

}    // namespace lapwing
