// Telemetry as a list of metrics, for the formats that know metrics.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "lapwing/telemetry_figures.hpp"

namespace lapwing::detail {

enum class MetricType : uint8_t { kCounter, kGauge, kHistogram };

/// What the values are. Times are in ns here and in seconds outside.
enum class MetricUnit : uint8_t { kOne, kSeconds, kBytes };

struct MetricPoint {
    std::vector<std::pair<std::string, std::string>> labels;
    std::variant<uint64_t, double, Log2Snapshot> value;    ///< a double is in the unit itself: seconds
};

/// One metric. Without points it is not known, and is left out.
struct Metric {
    std::string name;         ///< Prometheus, without "lapwing_" and "_total": "gpu_lane_seconds"
    std::string otlp_name;    ///< without "lapwing.": "gpu.lane.duration"
    std::string help;         ///< one sentence
    MetricType type = MetricType::kCounter;
    MetricUnit unit = MetricUnit::kOne;
    std::vector<MetricPoint> points;
};

/// The metrics of a snapshot's level, those with points, in the order of docs/TELEMETRY.md.
[[nodiscard]] std::vector<Metric> metrics_of(const TelemetrySnapshot& snapshot);

}    // namespace lapwing::detail
