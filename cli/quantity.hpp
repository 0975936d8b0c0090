// Sizes and durations as people write them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace lapwing::cli {

/// "512MiB", "2GB", "1048576": a whole number and a unit (none or B, KiB, MiB, GiB by 1024, kB, MB, GB by 1000; K, M
/// and G are KiB, MiB and GiB). Nothing where it is no such text or beyond 63 bits.
[[nodiscard]] std::optional<int64_t> parse_bytes(std::string_view text);

/// "30s", "500ms", "5min", "2h" as ns, as above.
[[nodiscard]] std::optional<int64_t> parse_duration(std::string_view text);

}    // namespace lapwing::cli
