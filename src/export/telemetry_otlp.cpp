#include <nlohmann/json.hpp>

#include "export/telemetry_metrics.hpp"
#include "lapwing/telemetry_export.hpp"

namespace lapwing {
namespace {

using Json = nlohmann::ordered_json;
using detail::Metric;
using detail::MetricPoint;
using detail::MetricType;
using detail::MetricUnit;

constexpr int kCumulative = 2;    // AGGREGATION_TEMPORALITY_CUMULATIVE

double in_unit(uint64_t value, MetricUnit unit) {
    return unit == MetricUnit::kSeconds ? static_cast<double>(value) / 1e9 : static_cast<double>(value);
}

Json attribute(const std::string& key, const std::string& value) {
    return Json{{"key", key}, {"value", {{"stringValue", value}}}};
}

Json point_json(const Metric& metric, const MetricPoint& point, const OtlpOptions& options) {
    Json out{{"attributes", Json::array()},
             {"startTimeUnixNano", std::to_string(options.start_unix_ns)},
             {"timeUnixNano", std::to_string(options.time_unix_ns)}};
    for (const auto& [key, value] : point.labels) out["attributes"].push_back(attribute(key, value));
    if (const auto* values = std::get_if<Log2Snapshot>(&point.value)) {
        Json counts = Json::array();
        Json bounds = Json::array();
        uint64_t below = 0;
        for (uint32_t i = 0; i <= values->buckets; ++i) {
            counts.push_back(std::to_string(values->cumulative[i] - below));
            below = values->cumulative[i];
            if (i < values->buckets) bounds.push_back(in_unit(values->bound(i), metric.unit));
        }
        out["count"] = std::to_string(values->count());
        out["sum"] = in_unit(values->sum, metric.unit);
        out["bucketCounts"] = std::move(counts);
        out["explicitBounds"] = std::move(bounds);
    } else if (const auto* whole = std::get_if<uint64_t>(&point.value);
               whole != nullptr && metric.unit != MetricUnit::kSeconds) {
        out["asInt"] = std::to_string(*whole);
    } else {
        out["asDouble"] = whole != nullptr ? in_unit(*whole, metric.unit) : std::get<double>(point.value);
    }
    return out;
}

const char* unit_text(MetricUnit unit) {
    switch (unit) {
        case MetricUnit::kOne:
            return "1";
        case MetricUnit::kSeconds:
            return "s";
        case MetricUnit::kBytes:
            return "By";
    }
    return "1";
}

Json metric_json(const Metric& metric, const OtlpOptions& options) {
    Json points = Json::array();
    for (const MetricPoint& point : metric.points) points.push_back(point_json(metric, point, options));
    Json out{{"name", "lapwing." + metric.otlp_name}, {"description", metric.help}, {"unit", unit_text(metric.unit)}};
    Json data{{"dataPoints", std::move(points)}};
    switch (metric.type) {
        case MetricType::kCounter:
            data["aggregationTemporality"] = kCumulative;
            data["isMonotonic"] = true;
            out["sum"] = std::move(data);
            break;
        case MetricType::kGauge:
            out["gauge"] = std::move(data);
            break;
        case MetricType::kHistogram:
            data["aggregationTemporality"] = kCumulative;
            out["histogram"] = std::move(data);
            break;
    }
    return out;
}

}    // namespace

std::string to_otlp_json(const TelemetrySnapshot& snapshot, const OtlpOptions& options) {
    Json metrics = Json::array();
    for (const Metric& metric : detail::metrics_of(snapshot)) metrics.push_back(metric_json(metric, options));
    Json scope{{"scope", {{"name", "lapwing"}}}, {"metrics", std::move(metrics)}};
    Json resource{{"resource", {{"attributes", Json::array({attribute("service.name", options.service_name)})}}},
                  {"scopeMetrics", Json::array({std::move(scope)})}};
    const Json out{{"resourceMetrics", Json::array({std::move(resource)})}};
    return out.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}    // namespace lapwing
