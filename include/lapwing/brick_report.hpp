// Bricks and tiles as text and JSON.
#pragma once

#include <cstdio>
#include <string>

#include "lapwing/brick_snapshot.hpp"
#include "lapwing/result.hpp"
#include "lapwing/tile_stats.hpp"

namespace lapwing {

/// Totals, a row a brick and a row a category with samples, for a terminal.
/// Shape:   bricks by total time descending, then name; rows of a device and those whose times are launches say so.
[[nodiscard]] std::string summary(const BrickSnapshot& bricks);

/// The categories with samples as a boxed table.
[[nodiscard]] std::string category_table(const BrickSnapshot& bricks);
/// Writes category_table() to `out`.
void print_category_stats(const BrickSnapshot& bricks, std::FILE* out);

/// One line of JSON, schema "lapwing.bricks/1".
/// Shape:   first the keys that this report has always had, in their order and with their decimals: total_tokens,
///          total_ns, total_throughput (1), bricks with name, count, total_ns, avg_us, min_us, max_us (2), throughput
///          (1), pct (1), total_bytes, compression_ratio (2), throughput_gbps (2), bottleneck; then schema and all that
///          is new. total_tokens is null until add_tokens(); the elements are total_elements. Unknown is null. Names
///          are escaped, invalid UTF-8 is replaced; equal snapshots give equal text.
[[nodiscard]] std::string to_json(const BrickSnapshot& bricks);

/// Writes to_json() and a newline to `path`: whole, or not at all. A reader never sees half of it.
/// Errors:  kUnwritable naming the file; what was there before stays.
Status write_json(const BrickSnapshot& bricks, const std::string& path);

/// A title, a header and a row a level with samples.
[[nodiscard]] std::string tile_summary(const TileSnapshot& tiles);
/// One line of JSON, schema "lapwing.tiles/1": tile_profiling_enabled, tiles with level, count, total_ns, avg_us,
/// min_us, max_us (2), gflops (2), arithmetic_intensity (2), total_elements, total_flops; then what is new.
[[nodiscard]] std::string tile_stats_to_json(const TileSnapshot& tiles);

}    // namespace lapwing
