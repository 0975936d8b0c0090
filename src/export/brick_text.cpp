#include <fmt/format.h>

#include "lapwing/brick_report.hpp"

namespace lapwing {
namespace {

double percent(uint64_t part, uint64_t whole) {
    return whole == 0 ? 0 : 100 * static_cast<double>(part) / static_cast<double>(whole);
}
double microseconds(uint64_t ns) {
    return static_cast<double>(ns) / 1000;
}

// What a reader must know to trust a row's times.
std::string remark(const BrickStats& brick) {
    std::string out;
    const bool waits = brick.mode() == SyncMode::kImmediate || brick.mode() == SyncMode::kNone;
    if (brick.clock == BrickClock::kDevice)
        out += "  device time";
    else if (brick.count() != 0 && !waits)
        out += brick.mode() ? "  launch time" : "  several sync modes";
    if (brick.warmup_count != 0)
        out += fmt::format("  + {} warm-up of {:.2f} us", brick.warmup_count, microseconds(brick.warmup_ns));
    if (brick.until_sync_count != 0)
        out += fmt::format("  + {} until sync, {:.2f} us", brick.until_sync_count, microseconds(brick.until_sync_ns));
    return out;
}

std::string totals(const BrickSnapshot& bricks) {
    const std::string tokens = bricks.total_tokens ? std::to_string(*bricks.total_tokens) : "not told";
    const auto rate = bricks.tokens_per_sec();
    return fmt::format("Tokens: {}  Time: {:.2f} us  Throughput: {}\n", tokens, microseconds(bricks.total_ns),
                       rate ? fmt::format("{:.1f} tok/s", *rate) : "- tok/s");
}

std::string refused(const BrickSnapshot& bricks) {
    std::string out;
    for (std::size_t i = 1; i < kBrickFaultCount; ++i)
        if (bricks.faults[i] != 0)
            out += fmt::format("Refused: {} x {}: {}\n", bricks.faults[i], to_text(static_cast<BrickFault>(i)),
                               describe(static_cast<BrickFault>(i)));
    if (bricks.overlapping != 0)
        out += fmt::format("{} stops were out of order: exclusive times are off by these\n", bricks.overlapping);
    if (bricks.pending != 0) out += fmt::format("{} deferred records wait for finalize()\n", bricks.pending);
    return out;
}

}    // namespace

std::string summary(const BrickSnapshot& bricks) {
    std::string out = "=== Brick Profiler Summary ===\n" + totals(bricks) + "\nPer-Brick Breakdown\n";
    for (const BrickStats& brick : bricks.bricks) {
        out += fmt::format("  {:<20} {:>12.2f} us avg {:>6.1f} % {:>10} samples{}\n", brick.name, brick.avg_us(),
                           percent(brick.total_ns, bricks.total_ns), brick.count(), remark(brick));
    }
    out += "\nCategory Breakdown\n";
    for (const CategoryStats& category : bricks.categories) {
        if (category.count == 0) continue;
        out += fmt::format("  {:<20} {:>12.2f} us avg {:>6.1f} % {:>10} samples\n", category.name, category.avg_us(),
                           category.percentage(bricks.total_ns), category.count);
    }
    for (const LayerStats& layer : bricks.layers)
        out += fmt::format("  layer {:<14} {:>12.2f} us avg          {:>10} times, {:.2f} us of waiting\n", layer.layer,
                           microseconds(layer.total_ns) / static_cast<double>(layer.count), layer.count,
                           microseconds(layer.wait_ns));
    return out + refused(bricks);
}

std::string category_table(const BrickSnapshot& bricks) {
    const std::string rule = "+" + std::string(22, '-') + "+" + std::string(14, '-') + "+" + std::string(9, '-') + "+" +
                             std::string(12, '-') + "+\n";
    std::string out =
        rule + fmt::format("| {:<20} | {:>12} | {:>7} | {:>10} |\n", "Category", "Avg us", "%", "Samples");
    out += rule;
    for (const CategoryStats& category : bricks.categories)
        if (category.count != 0)
            out += fmt::format("| {:<20} | {:>12.2f} | {:>7.1f} | {:>10} |\n", category.name, category.avg_us(),
                               category.percentage(bricks.total_ns), category.count);
    return out + rule;
}

void print_category_stats(const BrickSnapshot& bricks, std::FILE* out) {
    const std::string table = category_table(bricks);
    std::fwrite(table.data(), 1, table.size(), out);
}

std::string tile_summary(const TileSnapshot& tiles) {
    std::string out = "=== Tile Profiling Summary ===\n";
    out += fmt::format("{:<8} {:>10} {:>12} {:>10} {:>10} {:>14}\n", "Level", "Samples", "Avg us", "GFLOP/s", "AI",
                       "Elements");
    for (const TileStats& tile : tiles.levels)
        if (tile.count != 0)
            out += fmt::format("{:<8} {:>10} {:>12.2f} {:>10.2f} {:>10.2f} {:>14}\n", to_text(tile.level), tile.count,
                               tile.avg_us(), tile.gflops(), tile.arithmetic_intensity(),
                               tile.total_elements / tile.count);
    return out;
}

}    // namespace lapwing
