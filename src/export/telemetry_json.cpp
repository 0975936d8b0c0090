#include <nlohmann/json.hpp>

#include "lapwing/telemetry_export.hpp"

namespace lapwing {
namespace {

using Json = nlohmann::ordered_json;

template <class T>
Json or_null(const std::optional<T>& value) {
    return value ? Json(*value) : Json(nullptr);
}

// Times. `unit`: what the sum's key ends in.
Json histogram_json(const std::optional<Log2Snapshot>& values, const char* sum_key = "total_ns") {
    const bool known = values.has_value();
    const bool any = known && values->count() != 0;
    Json cumulative = Json::array();
    if (any)
        for (uint32_t i = 0; i <= values->buckets; ++i) cumulative.push_back(values->cumulative[i]);
    return Json{{"count", known ? Json(values->count()) : Json(nullptr)},
                {sum_key, known ? Json(values->sum) : Json(nullptr)},
                {"first_bound", any ? Json(values->bound(0)) : Json(nullptr)},
                {"cumulative", any ? std::move(cumulative) : Json(nullptr)}};
}

Json gpu_json(const std::optional<GpuSpanFigures>& gpu) {
    if (!gpu) {
        return Json{{"begun", nullptr}, {"recorded", nullptr},   {"in_flight", nullptr},
                    {"lost", nullptr},  {"lane_calls", nullptr}, {"unsupported", nullptr}};
    }
    Json by_reason = Json::object();
    for (std::size_t i = 0; i < kLossReasonCount; ++i)
        by_reason[to_text(static_cast<LossReason>(i))] = gpu->lost.by_reason[i];
    const LaneStats& lanes = gpu->lanes;
    return Json{{"begun", gpu->begun},
                {"recorded", gpu->recorded},
                {"in_flight", gpu->in_flight},
                {"lost", {{"total", gpu->lost.total()}, {"by_reason", std::move(by_reason)}}},
                {"lane_calls",
                 {{"begun", lanes.begun},
                  {"ended", lanes.ended},
                  {"begun_twice", lanes.begun_twice},
                  {"left_open", lanes.left_open},
                  {"ended_without_begin", lanes.ended_without_begin},
                  {"out_of_range", lanes.out_of_range},
                  {"open", lanes.open}}},
                {"unsupported", gpu->unsupported}};
}

Json lanes_json(const TelemetrySnapshot& s) {
    Json out = Json::array();
    for (const LaneFigures& lane : s.lanes) {
        Json one{{"device", lane.device}, {"lane", lane.lane}};
        one.update(histogram_json(lane.time_ns));
        one["reason"] = lane.reason.empty() ? Json(nullptr) : Json(lane.reason);
        out.push_back(std::move(one));
    }
    return out;
}

Json kernels_json(const TelemetrySnapshot& s) {
    Json out = Json::array();
    for (const KernelRow& row : s.kernels) {
        const auto known = [&row](int64_t ns) { return row.samples != 0 ? Json(ns) : Json(nullptr); };
        out.push_back(Json{{"kernel", row.name},
                           {"samples", row.samples},
                           {"total_ns", known(row.total_ns)},
                           {"min_ns", known(row.min_ns)},
                           {"p50_ns", known(row.p50_ns)},
                           {"p90_ns", known(row.p90_ns)},
                           {"p99_ns", known(row.p99_ns)},
                           {"max_ns", known(row.max_ns)},
                           {"launches", or_null(row.launches)},
                           {"estimated_total_ns", row.scaled ? Json(row.scaled->total_ns) : Json(nullptr)},
                           {"estimated_error_ns", row.scaled ? or_null(row.scaled->error_ns) : Json(nullptr)}});
    }
    return out;
}

Json copies_json(const TelemetrySnapshot& s) {
    Json out = Json::object();
    for (std::size_t i = 0; i < kCopyDirections; ++i) {
        Json one{{"bytes", s.copy_bytes[i]}};
        one.update(histogram_json(s.copy_ns[i]));
        out[to_text(static_cast<CopyDirection>(i))] = std::move(one);
    }
    return out;
}

Json phases_json(const TelemetrySnapshot& s) {
    Json out = Json::array();
    for (const PhaseFigures& phase : s.phases) {
        Json one{{"phase", phase.phase}};
        one.update(histogram_json(phase.time_ns));
        out.push_back(std::move(one));
    }
    return out;
}

Json requests_json(const TelemetrySnapshot& s) {
    Json out = Json::object();
    for (std::size_t i = 0; i < kRequestOutcomes; ++i) out[to_text(static_cast<RequestOutcome>(i))] = s.requests[i];
    out["queue"] = histogram_json(s.request_queue_ns);
    out["first_token"] = histogram_json(s.first_token_ns);
    out["per_token"] = histogram_json(s.per_token_ns);
    out["total"] = histogram_json(s.request_ns);
    return out;
}

}    // namespace

std::string to_json_line(const TelemetrySnapshot& s, std::optional<int64_t> time_unix_ns) {
    const bool lanes = s.level >= Level::kLane || s.steps != 0;
    Json out{{"schema", "lapwing.telemetry/1"},
             {"schema_version", 1},
             {"time_unix_ns", or_null(time_unix_ns)},
             {"level", to_text(s.level)},
             {"kernel_span_every", s.kernel_span_every != 0 ? Json(s.kernel_span_every) : Json(nullptr)},
             {"steps", lanes ? Json(s.steps) : Json(nullptr)},
             {"armed_steps", lanes ? Json(s.armed_steps) : Json(nullptr)}};
    out["gpu"] = gpu_json(s.gpu);
    out["lanes"] = lanes_json(s);
    out["kernels"] = kernels_json(s);
    out["kernel_losses"] = Json{{"table_full", s.kernel_losses.table_full},
                                {"handle_zero", s.kernel_losses.handle_zero},
                                {"refused", s.kernel_losses.refused},
                                {"unknown_sites", s.kernel_losses.unknown_sites}};
    out["phases"] = phases_json(s);
    out["scheduler"] = Json{{"ticks", s.scheduler_ticks},
                            {"running", or_null(s.scheduler.running)},
                            {"waiting", or_null(s.scheduler.waiting)},
                            {"cache_used", or_null(s.scheduler.cache_used)},
                            {"batch_tokens", histogram_json(s.batch_tokens, "total")}};
    out["tokens"] = Json{{"prompt", s.tokens[0]}, {"generated", s.tokens[1]}};
    out["stream_sync"] = histogram_json(s.stream_sync_ns);
    out["copies"] = copies_json(s);
    out["graphs"] = Json{{"captures", histogram_json(s.graph_capture_ns)},
                         {"replays", s.graph_replays},
                         {"replayed_kernels", s.graph_replayed_kernels}};
    out["speculation"] =
        Json{{"verifications", s.spec_verifications}, {"drafted", s.spec_drafted}, {"accepted", s.spec_accepted}};
    out["requests"] = requests_json(s);
    out["misuse"] = Json{{"refused_durations", s.misuse.refused_durations},
                         {"refused_values", s.misuse.refused_values},
                         {"no_stream", s.misuse.no_stream},
                         {"unplaced_spans", s.misuse.unplaced_spans},
                         {"sink_errors", s.misuse.sink_errors}};
    return out.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}    // namespace lapwing
