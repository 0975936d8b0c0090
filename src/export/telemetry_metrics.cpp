#include "export/telemetry_metrics.hpp"

#include <algorithm>
#include <map>

#include "export/names.hpp"
#include "lapwing/sink.hpp"

namespace lapwing::detail {
namespace {

using Labels = std::vector<std::pair<std::string, std::string>>;

// Collects metrics. A metric's points are added right after it is begun.
class Metrics {
public:
    Metrics& counter(std::string name, std::string otlp, std::string help, MetricUnit unit = MetricUnit::kOne) {
        return begin(std::move(name), std::move(otlp), std::move(help), MetricType::kCounter, unit);
    }
    Metrics& gauge(std::string name, std::string otlp, std::string help, MetricUnit unit = MetricUnit::kOne) {
        return begin(std::move(name), std::move(otlp), std::move(help), MetricType::kGauge, unit);
    }
    Metrics& histogram(std::string name, std::string otlp, std::string help, MetricUnit unit = MetricUnit::kSeconds) {
        return begin(std::move(name), std::move(otlp), std::move(help), MetricType::kHistogram, unit);
    }
    Metrics& at(uint64_t value, Labels labels = {}) { return point(value, std::move(labels)); }
    Metrics& at(double value, Labels labels = {}) { return point(value, std::move(labels)); }
    Metrics& at(const Log2Snapshot& value, Labels labels = {}) {
        return value.count() == 0 ? *this : point(value, std::move(labels));
    }
    template <class T>
    Metrics& at(const std::optional<T>& value, Labels labels = {}) {
        if (!value) return *this;
        if constexpr (std::is_integral_v<T>)
            return point(uint64_t{*value}, std::move(labels));
        else
            return at(*value, std::move(labels));
    }
    std::vector<Metric> take() {
        std::erase_if(all_, [](const Metric& metric) { return metric.points.empty(); });
        return std::move(all_);
    }

private:
    Metrics& begin(std::string name, std::string otlp, std::string help, MetricType type, MetricUnit unit) {
        all_.push_back({std::move(name), std::move(otlp), std::move(help), type, unit, {}});
        return *this;
    }
    Metrics& point(std::variant<uint64_t, double, Log2Snapshot> value, Labels labels) {
        all_.back().points.push_back({std::move(labels), std::move(value)});
        return *this;
    }
    std::vector<Metric> all_;
};

void add_host(Metrics& m, const TelemetrySnapshot& s) {
    m.gauge("telemetry_info", "telemetry.info", "The level that telemetry is at; always 1.")
        .at(uint64_t{1}, {{"level", to_text(s.level)}});
    m.histogram("phase_seconds", "phase.duration", "Host time of each phase of the server's work.");
    for (const PhaseFigures& phase : s.phases) m.at(phase.time_ns, {{"phase", printable(phase.phase)}});
    m.counter("scheduler_ticks", "scheduler.ticks", "Ticks of the scheduler.").at(s.scheduler_ticks);
    m.gauge("scheduler_running_requests", "scheduler.running", "Requests in the batch, at the latest tick.")
        .at(s.scheduler.running);
    m.gauge("scheduler_waiting_requests", "scheduler.waiting", "Requests in the queue, at the latest tick.")
        .at(s.scheduler.waiting);
    m.gauge("cache_used_ratio", "cache.usage", "Share of the key-value cache in use, at the latest tick.")
        .at(s.scheduler.cache_used);
    m.histogram("scheduler_batch_tokens", "scheduler.batch_tokens", "Tokens that a tick works on.", MetricUnit::kOne)
        .at(s.batch_tokens);
    m.counter("tokens", "tokens", "Tokens read (prompt) and made (generated).");
    for (std::size_t i = 0; i < kTokenKinds; ++i) m.at(s.tokens[i], {{"kind", to_text(static_cast<TokenKind>(i))}});
    m.histogram("stream_sync_seconds", "stream.sync.duration", "Host time waited for a stream.").at(s.stream_sync_ns);
    m.counter("blocking_copy_bytes", "copy.io", "Bytes copied while the host waited.", MetricUnit::kBytes);
    for (std::size_t i = 0; i < kCopyDirections; ++i)
        if (s.copy_ns[i].count() != 0) m.at(s.copy_bytes[i], {{"direction", to_text(static_cast<CopyDirection>(i))}});
    m.histogram("blocking_copy_seconds", "copy.duration", "Host time waited for a copy.");
    for (std::size_t i = 0; i < kCopyDirections; ++i)
        m.at(s.copy_ns[i], {{"direction", to_text(static_cast<CopyDirection>(i))}});
    m.histogram("graph_capture_seconds", "graph.capture.duration", "Host time of capturing a graph.")
        .at(s.graph_capture_ns);
    m.counter("graph_replays", "graph.replays", "Launches of captured graphs.").at(s.graph_replays);
    m.counter("graph_replayed_kernels", "graph.replayed_kernels", "Kernels in launched graphs, as far as told.")
        .at(s.graph_replayed_kernels);
    m.counter("spec_verifications", "speculation.verifications", "Checks of drafted tokens.").at(s.spec_verifications);
    m.counter("spec_drafted_tokens", "speculation.drafted", "Tokens that were drafted and checked.").at(s.spec_drafted);
    m.counter("spec_accepted_tokens", "speculation.accepted", "Drafted tokens that were right.").at(s.spec_accepted);
    m.counter("requests", "requests", "Requests that ended, by how.");
    for (std::size_t i = 0; i < kRequestOutcomes; ++i)
        m.at(s.requests[i], {{"outcome", to_text(static_cast<RequestOutcome>(i))}});
    m.histogram("request_queue_seconds", "request.queue.duration", "From a request's arrival to the first work on it.")
        .at(s.request_queue_ns);
    m.histogram("time_to_first_token_seconds", "request.first_token.duration", "From arrival to the first token.")
        .at(s.first_token_ns);
    m.histogram("time_per_output_token_seconds", "request.per_token.duration",
                "Time a token behind the first, averaged over a request.")
        .at(s.per_token_ns);
    m.histogram("request_seconds", "request.duration", "From a request's arrival to its end.").at(s.request_ns);
    m.counter("telemetry_refused", "telemetry.refused", "What telemetry was told and could not record, by what it was.")
        .at(s.misuse.refused_durations, {{"what", "duration"}})
        .at(s.misuse.refused_values, {{"what", "value"}})
        .at(s.misuse.no_stream, {{"what", "stream"}})
        .at(s.misuse.unplaced_spans, {{"what", "lane_span"}})
        .at(s.misuse.sink_errors, {{"what", "harvest"}});
}

void add_lanes(Metrics& m, const TelemetrySnapshot& s) {
    m.counter("steps", "steps", "Steps of the scheduler in which lanes were timed.").at(s.steps);
    m.histogram("gpu_lane_seconds", "gpu.lane.duration", "Device time of each lane, one span a step and stream.");
    for (const LaneFigures& lane : s.lanes)
        m.at(lane.time_ns, {{"device", std::to_string(lane.device)}, {"lane", printable(lane.lane)}});
    if (!s.gpu) return;
    const LossCounts& lost = s.gpu->lost;
    m.counter("gpu_spans", "gpu.spans", "Device spans begun.").at(s.gpu->begun);
    m.counter("gpu_spans_recorded", "gpu.spans.recorded", "Device spans with a valid time.").at(s.gpu->recorded);
    m.gauge("gpu_spans_in_flight", "gpu.spans.in_flight", "Device spans that are open or not finished by the device.")
        .at(s.gpu->in_flight);
    m.counter("gpu_spans_dropped", "gpu.spans.dropped", "Device spans lost because every slot was in flight.")
        .at(lost[LossReason::kRingFull]);
    m.counter("gpu_span_failures", "gpu.spans.failures", "Device spans that the driver refused or failed.")
        .at(lost[LossReason::kDriverError]);
    m.counter("gpu_spans_lost", "gpu.spans.lost", "Device spans without a valid time, by reason.");
    for (std::size_t i = 0; i < kLossReasonCount; ++i)
        if (lost.by_reason[i] != 0) m.at(lost.by_reason[i], {{"reason", to_text(static_cast<LossReason>(i))}});
    m.counter("gpu_lane_misuse", "gpu.lane.misuse", "Lanes that were not begun and ended as they should be, by how.")
        .at(s.gpu->lanes.begun_twice, {{"what", "begun_twice"}})
        .at(s.gpu->lanes.left_open, {{"what", "left_open"}})
        .at(s.gpu->lanes.ended_without_begin, {{"what", "ended_without_begin"}})
        .at(s.gpu->lanes.out_of_range, {{"what", "out_of_range"}});
}

void add_kernels(Metrics& m, const TelemetrySnapshot& s) {
    // Names that differ in bytes that cannot be shown would make one series twice.
    std::map<std::string, uint32_t> used;
    std::vector<Labels> names;
    for (const KernelRow& row : s.kernels) {
        std::string text = printable(row.name);
        if (const uint32_t again = used[text]++; again != 0) text.append("#").append(std::to_string(again + 1));
        names.push_back({{"kernel", std::move(text)}});
    }
    const auto each = [&](const auto& use) {
        for (std::size_t i = 0; i < s.kernels.size(); ++i) use(s.kernels[i], names[i]);
    };
    m.counter("armed_steps", "steps.armed", "Steps in which kernels were timed.").at(s.armed_steps);
    m.counter("gpu_kernel_seconds", "gpu.kernel.time", "Device time of the launches that were timed, by kernel.",
              MetricUnit::kSeconds);
    each([&](const KernelRow& row, const Labels& name) {
        if (row.samples != 0) m.at(static_cast<uint64_t>(row.total_ns), name);
    });
    m.counter("gpu_kernel_samples", "gpu.kernel.samples", "Launches that were timed, by kernel.");
    each([&](const KernelRow& row, const Labels& name) {
        if (row.samples != 0) m.at(row.samples, name);
    });
    m.counter("gpu_kernel_launches", "gpu.kernel.launches", "Launches, timed or not, by kernel.");
    each([&](const KernelRow& row, const Labels& name) { m.at(row.launches, name); });
    m.gauge("gpu_kernel_estimated_seconds", "gpu.kernel.estimated_time",
            "Device time of all launches, estimated from those that were timed, by kernel.", MetricUnit::kSeconds);
    each([&](const KernelRow& row, const Labels& name) {
        if (row.scaled) m.at(row.scaled->total_ns / 1e9, name);
    });
    m.gauge("gpu_kernel_estimate_error_seconds", "gpu.kernel.estimate_error",
            "Half of the 95 % interval of the estimated device time, by kernel.", MetricUnit::kSeconds);
    each([&](const KernelRow& row, const Labels& name) {
        if (row.scaled && row.scaled->error_ns) m.at(*row.scaled->error_ns / 1e9, name);
    });
    m.gauge("gpu_kernel_quantile_seconds", "gpu.kernel.quantile", "Quantiles of the timed launches, by kernel.",
            MetricUnit::kSeconds);
    each([&](const KernelRow& row, const Labels& name) {
        if (row.samples == 0) return;
        for (const auto& [quantile, ns] : {std::pair{"0.5", row.p50_ns}, {"0.9", row.p90_ns}, {"0.99", row.p99_ns}}) {
            Labels labels = name;
            labels.emplace_back("quantile", quantile);
            m.at(static_cast<uint64_t>(ns), std::move(labels));
        }
    });
    m.counter("gpu_kernel_table_full", "gpu.kernel.table_full", "Samples of kernels beyond the table's limit.")
        .at(s.kernel_losses.table_full);
    m.counter("gpu_kernel_refused", "gpu.kernel.refused", "Samples that were not recorded, by why.")
        .at(s.kernel_losses.handle_zero, {{"what", "handle_zero"}})
        .at(s.kernel_losses.refused, {{"what", "duration"}})
        .at(s.kernel_losses.unknown_sites, {{"what", "unknown_site"}});
}

}    // namespace

std::vector<Metric> metrics_of(const TelemetrySnapshot& snapshot) {
    Metrics metrics;
    if (snapshot.level >= Level::kBasic) add_host(metrics, snapshot);
    if (snapshot.level >= Level::kLane) add_lanes(metrics, snapshot);
    if (snapshot.level >= Level::kKernel) add_kernels(metrics, snapshot);
    return metrics.take();
}

}    // namespace lapwing::detail
