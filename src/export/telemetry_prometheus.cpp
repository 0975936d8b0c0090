#include <fmt/format.h>

#include <string>
#include <string_view>

#include "export/telemetry_metrics.hpp"
#include "lapwing/telemetry_export.hpp"

namespace lapwing {
namespace {

using detail::Metric;
using detail::MetricPoint;
using detail::MetricType;
using detail::MetricUnit;

// Exact: no nanosecond is lost to floating point, and none looks like 1e-06.
std::string seconds_text(uint64_t ns) {
    std::string text = fmt::format("{}.{:09}", ns / 1'000'000'000, ns % 1'000'000'000);
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
    return text;
}

std::string value_text(uint64_t value, MetricUnit unit) {
    return unit == MetricUnit::kSeconds ? seconds_text(value) : std::to_string(value);
}

std::string escaped(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (c == '\\' || c == '"') out += '\\';
        if (c == '\n')
            out += "\\n";
        else
            out += c;
    }
    return out;
}

std::string labels_text(const MetricPoint& point, std::string_view le = {}) {
    std::string out;
    for (const auto& [name, value] : point.labels)
        out += fmt::format("{}{}=\"{}\"", out.empty() ? "" : ",", name, escaped(value));
    if (!le.empty()) out += fmt::format("{}le=\"{}\"", out.empty() ? "" : ",", le);
    return out.empty() ? out : "{" + out + "}";
}

void write_histogram(std::string& out, const std::string& name, const MetricPoint& point, const Log2Snapshot& values,
                     MetricUnit unit) {
    for (uint32_t i = 0; i < values.buckets; ++i) {
        out += fmt::format("{}_bucket{} {}\n", name, labels_text(point, value_text(values.bound(i), unit)),
                           values.cumulative[i]);
    }
    out += fmt::format("{}_bucket{} {}\n", name, labels_text(point, "+Inf"), values.count());
    out += fmt::format("{}_sum{} {}\n", name, labels_text(point), value_text(values.sum, unit));
    out += fmt::format("{}_count{} {}\n", name, labels_text(point), values.count());
}

const char* type_text(MetricType type) {
    switch (type) {
        case MetricType::kCounter:
            return "counter";
        case MetricType::kGauge:
            return "gauge";
        case MetricType::kHistogram:
            return "histogram";
    }
    return "untyped";
}

}    // namespace

std::string to_prometheus(const TelemetrySnapshot& snapshot) {
    std::string out;
    for (const Metric& metric : detail::metrics_of(snapshot)) {
        const std::string name = "lapwing_" + metric.name + (metric.type == MetricType::kCounter ? "_total" : "");
        out += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, metric.help, name, type_text(metric.type));
        for (const MetricPoint& point : metric.points) {
            if (const auto* histogram = std::get_if<Log2Snapshot>(&point.value))
                write_histogram(out, name, point, *histogram, metric.unit);
            else if (const auto* whole = std::get_if<uint64_t>(&point.value))
                out += fmt::format("{}{} {}\n", name, labels_text(point), value_text(*whole, metric.unit));
            else
                out += fmt::format("{}{} {}\n", name, labels_text(point), std::get<double>(point.value));
        }
    }
    return out;
}

}    // namespace lapwing
