#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "export/write_whole.hpp"
#include "lapwing/brick_report.hpp"

// By hand and not by a JSON library: the number of decimals is part of the format.
namespace lapwing {
namespace {

std::string quoted(const std::string& text) {
    return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string or_null(const std::optional<uint64_t>& value) {
    return value ? std::to_string(*value) : "null";
}
std::string or_null(const std::optional<double>& value, int decimals) {
    return value ? fmt::format("{:.{}f}", *value, decimals) : "null";
}

std::optional<uint64_t> where(bool known, uint64_t value) {
    return known ? std::optional(value) : std::nullopt;
}

double percent(uint64_t part, uint64_t whole) {
    return whole == 0 ? 0 : 100 * static_cast<double>(part) / static_cast<double>(whole);
}

std::string faults_json(const std::array<uint64_t, kBrickFaultCount>& faults) {
    std::string out = "{";
    for (std::size_t i = 1; i < kBrickFaultCount; ++i) {
        if (faults[i] == 0) continue;
        out += fmt::format("{}\"{}\":{}", out.size() == 1 ? "" : ",", to_text(static_cast<BrickFault>(i)), faults[i]);
    }
    return out + "}";
}

std::string brick_json(const BrickStats& brick, uint64_t total_ns) {
    std::string out = fmt::format(
        R"({{"name":{},"count":{},"total_ns":{},"avg_us":{:.2f},"min_us":{:.2f},"max_us":{:.2f},)"
        R"("throughput":{:.1f},"pct":{:.1f},"total_bytes":{},"compression_ratio":{:.2f},"throughput_gbps":{:.2f},)"
        R"("bottleneck":"{}",)",
        quoted(brick.name), brick.count(), brick.total_ns, brick.avg_us(), brick.min_us(), brick.max_us(),
        brick.throughput(), percent(brick.total_ns, total_ns), brick.total_bytes, brick.compression_ratio(),
        brick.throughput_gbps(), to_text(brick.bottleneck));
    const bool cycles = brick.cycle_samples != 0;
    const std::optional<double> variance = brick.variance_ns2();
    const std::optional<SyncMode> mode = brick.mode();
    out += fmt::format(
        R"("category":{},"clock":"{}","sync_mode":{},"exclusive_ns":{},"total_elements":{},)"
        R"("total_compressed_bytes":{},"p50_ns":{},"p90_ns":{},"p99_ns":{},"variance_ns2":{},"ci95_ns":{},)",
        quoted(brick.category_name), to_text(brick.clock),
        mode                 ? quoted(to_text(*mode))
        : brick.count() == 0 ? "null"
                             : "\"mixed\"",
        brick.exclusive_ns(), brick.total_elements, brick.total_compressed_bytes, or_null(brick.quantile_ns(0.50)),
        or_null(brick.quantile_ns(0.90)), or_null(brick.quantile_ns(0.99)), or_null(variance, 1),
        or_null(brick.ci95_half_width_ns(), 1));
    out +=
        fmt::format(R"("total_cycles":{},"min_cycles":{},"max_cycles":{},"cycles_per_element":{},"diagnosis":{},)"
                    R"("warmup":{{"count":{},"total_ns":{},"max_ns":{}}},"until_sync":{{"count":{},"total_ns":{}}}}})",
                    or_null(where(cycles, brick.total_cycles)), or_null(where(cycles, brick.min_cycles)),
                    or_null(where(cycles, brick.max_cycles)),
                    or_null(cycles ? std::optional(brick.cycles_per_element()) : std::nullopt, 2),
                    cycles ? quoted(brick.diagnose_from_cycles()) : "null", brick.warmup_count, brick.warmup_ns,
                    brick.warmup_max_ns, brick.until_sync_count, brick.until_sync_ns);
    return out;
}

template <class Items, class Write>
std::string array_json(const Items& items, Write&& write) {
    std::string out = "[";
    for (const auto& item : items) {
        if (out.size() != 1) out += ',';
        out += write(item);
    }
    return out + "]";
}

std::string category_json(const CategoryStats& category, uint64_t total_ns) {
    return fmt::format(R"({{"name":{},"count":{},"total_ns":{},"exclusive_ns":{},"total_elements":{},"pct":{:.1f}}})",
                       quoted(category.name), category.count, category.total_ns, category.exclusive_ns,
                       category.total_elements, category.percentage(total_ns));
}

std::string tile_json(const TileStats& tile) {
    return fmt::format(
        R"({{"level":"{}","count":{},"total_ns":{},"avg_us":{:.2f},"min_us":{:.2f},"max_us":{:.2f},"gflops":{:.2f},)"
        R"("arithmetic_intensity":{:.2f},"total_elements":{},"total_flops":{},"bytes_per_element":{}}})",
        to_text(tile.level), tile.count, tile.total_ns, tile.avg_us(), tile.min_us(), tile.max_us(), tile.gflops(),
        tile.arithmetic_intensity(), tile.total_elements, tile.total_flops, tile.bytes_per_element);
}

}    // namespace

std::string to_json(const BrickSnapshot& bricks) {
    const auto brick = [&bricks](const BrickStats& each) { return brick_json(each, bricks.total_ns); };
    const auto category = [&bricks](const CategoryStats& each) { return category_json(each, bricks.total_ns); };
    const auto layer = [](const LayerStats& each) {
        return fmt::format(R"({{"layer":{},"count":{},"total_ns":{},"wait_ns":{}}})", each.layer, each.count,
                           each.total_ns, each.wait_ns);
    };
    std::string out = fmt::format(R"({{"total_tokens":{},"total_ns":{},"total_throughput":{:.1f},"bricks":{},)",
                                  or_null(bricks.total_tokens), bricks.total_ns, bricks.total_throughput(),
                                  array_json(bricks.bricks, brick));
    out += fmt::format(
        R"("schema":"lapwing.bricks/1","enabled":{},"sync_mode":"{}","total_elements":{},"exclusive_ns":{},)"
        R"("tokens_per_sec":{},"categories":{},"layers":{},"warmup_samples":{},"pending":{},"overlapping":{},)"
        R"("refused":{},"l2_cache_hit_rate":{},"zero_copy":{}}})",
        bricks.enabled, to_text(bricks.sync_mode), bricks.total_elements, bricks.exclusive_ns,
        or_null(bricks.tokens_per_sec(), 1), array_json(bricks.categories, category), array_json(bricks.layers, layer),
        bricks.warmup_samples, bricks.pending, bricks.overlapping, faults_json(bricks.faults),
        or_null(bricks.l2_cache_hit_rate, 4), bricks.zero_copy);
    return out;
}

Status write_json(const BrickSnapshot& bricks, const std::string& path) {
    return detail::write_whole(path, to_json(bricks) + "\n");
}

std::string tile_stats_to_json(const TileSnapshot& tiles) {
    std::vector<TileStats> with_samples;
    for (const TileStats& tile : tiles.levels)
        if (tile.count != 0) with_samples.push_back(tile);
    const auto heat = [&tiles](const TileHeat& cell) {
        return fmt::format(
            R"({{"level":"{}","row":{},"col":{},"tiles":{},"count":{},"total_ns":{}}})", to_text(cell.level),
            uint64_t{cell.row} << tiles.cell_shift[static_cast<std::size_t>(cell.level)],
            uint64_t{cell.col} << tiles.cell_shift[static_cast<std::size_t>(cell.level)],
            uint64_t{1} << tiles.cell_shift[static_cast<std::size_t>(cell.level)], cell.count, cell.total_ns);
    };
    return fmt::format(
        R"({{"tile_profiling_enabled":{},"tiles":{},"schema":"lapwing.tiles/1","heat":{},"refused":{}}})",
        tiles.enabled, array_json(with_samples, tile_json), array_json(tiles.heat, heat), faults_json(tiles.faults));
}

}    // namespace lapwing
