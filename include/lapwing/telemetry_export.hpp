// Telemetry as text: for Prometheus, for a log of JSON lines, for an OpenTelemetry collector. No network: who serves or
// sends it decides how. Names and units: docs/TELEMETRY.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "lapwing/telemetry_figures.hpp"

namespace lapwing {

/// The Prometheus text exposition format, version 0.0.4.
/// Shape:   empty at level off. Each metric has its HELP and TYPE and at least one sample; counters end in one
/// "_total";
///          histograms are cumulative, and their +Inf is their count. What is not known is absent, never 0.
/// Units:   seconds and bytes; nanoseconds are printed as exact decimals.
/// Cost:    cold, linear in kernels and lanes; waits for nothing.
[[nodiscard]] std::string to_prometheus(const TelemetrySnapshot& snapshot);

/// One line of JSON, schema "lapwing.telemetry/1", without the line break at its end.
/// Shape:   all keys are always there, in one order; what is not known is null.
/// Units:   integers, as the keys say (`_ns`, `_bytes`). `time_unix_ns`: when the snapshot was taken.
[[nodiscard]] std::string to_json_line(const TelemetrySnapshot& snapshot,
                                       std::optional<int64_t> time_unix_ns = std::nullopt);

/// What an OpenTelemetry collector is told beside the metrics.
struct OtlpOptions {
    int64_t start_unix_ns = 0;               ///< since when counters count: the start of the process
    int64_t time_unix_ns = 0;                ///< when the snapshot was taken
    std::string service_name = "lapwing";    ///< the resource's service.name
};

/// The body of an OTLP/HTTP request with JSON encoding (POST /v1/metrics).
/// Shape:   the metrics of to_prometheus(). 64-bit integers are strings; sums are monotonic and cumulative.
/// Source:  OTLP 1.3, opentelemetry/proto/metrics/v1, and the JSON encoding of its specification.
[[nodiscard]] std::string to_otlp_json(const TelemetrySnapshot& snapshot, const OtlpOptions& options);

}    // namespace lapwing
