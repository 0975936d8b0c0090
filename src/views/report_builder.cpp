#include <memory>

#include "lapwing/report.hpp"
#include "views/arithmetic.hpp"
#include "views/rows.hpp"
#include "views/sampling.hpp"
#include "views/step_times.hpp"
#include "views/stream_model.hpp"

namespace lapwing {
namespace {

using detail::DeviceTimes;
using detail::ModelTrack;
using detail::saturating_add;
using detail::SiteIndex;
using detail::StepIndex;
using detail::StreamModel;

// The counts and sums over all spans that need no grouping.
void count_spans(const StreamModel& model, Report& report) {
    for (const auto& entry : model.tracks()) {
        const ModelTrack& track = entry.second;    // clang 14 lets no lambda capture a structured binding
        track.spans.for_each([&](int64_t, int64_t duration_ns, SiteIndex site_index, StepIndex step) {
            const Site& site = model.sites()[site_index];
            if (!StreamModel::is_device(track, site)) {
                ++report.host_spans;
                return;
            }
            ++(site.validity == Validity::kEstimated ? report.estimated : report.spans);
            if (site.container) {
                ++report.containers;
                return;
            }
            report.dispatch_spans += site.kind == SpanKind::kDispatch && !StreamModel::is_whole_step(site) ? 1 : 0;
            report.outside_steps += model.steps()[step].finished ? 0 : 1;
            report.device_total_ns = saturating_add(report.device_total_ns, duration_ns);
            if (site.warmup) {
                ++report.warmup_spans;
                report.warmup_ns = saturating_add(report.warmup_ns, duration_ns);
            }
        });
    }
}

std::optional<SamplingSummary> summarise_sampling(const detail::StepSample& sample, const DeviceTimes& times) {
    if (!sample.scales() || sample.size == 0) return std::nullopt;
    detail::StepTotals gpu;
    for (std::size_t step = 0; step < times.steps.size(); ++step)
        if (sample.has[step]) gpu.add(static_cast<StepIndex>(step), times.steps[step].gpu_ns);
    return SamplingSummary{sample.population, sample.size, gpu.scaled(sample)};
}

class Builder final : public ReportBuilder {
public:
    Status process(const ProcessInfo& process) override {
        model_.add_process(process);
        return {};
    }
    Status device(const DeviceInfo& device) override {
        model_.set_device(device);
        return {};
    }
    Status track(const TrackInfo& track) override {
        model_.set_track(track);
        return {};
    }
    Status site(SiteId id, const Site& site) override {
        model_.set_site(id, site);
        return {};
    }
    Status spans(std::span<const SpanRecord> spans) override {
        model_.add(spans);
        return {};
    }
    Status step(const StepRecord& step) override {
        model_.set_step(step);
        return {};
    }
    Status stats(const RecordingStats& stats) override {
        model_.set_stats(stats);
        return {};
    }
    Status close() override { return {}; }

    Report build(std::optional<GroupBy> by, FloorTime floor) const override {
        Report report;
        report.floor = floor;
        report.by = by.value_or(detail::default_group(model_));
        if (!model_.processes().empty()) {
            report.process = model_.processes().front();
            report.other_processes.assign(model_.processes().begin() + 1, model_.processes().end());
        }
        for (const auto& [id, device] : model_.devices()) report.devices.push_back(device);
        report.stats = model_.stats();
        report.has_stats = model_.has_stats();
        report.window_ns = model_.window_ns();
        report.refused = model_.refused();
        count_spans(model_, report);

        const DeviceTimes times = detail::measure_devices(model_);
        report.device_figures = times.devices;
        report.gpus = times.gpus;
        report.busy_ns = times.busy_ns;
        if (report.window_ns > 0 && times.gpus != 0)
            report.coverage_of_wall =
                static_cast<double>(report.busy_ns) / (static_cast<double>(report.window_ns) * times.gpus);
        report.steps = detail::summarise_steps(model_, times);
        const detail::StepSample sample = detail::sample_steps(model_, times.steps);
        report.sampling = summarise_sampling(sample, times);
        detail::Rows rows = detail::make_rows(model_, times.steps, sample, {report.by, floor});
        report.rows = std::move(rows.rows);
        report.ungrouped = rows.ungrouped;
        for (const ReportRow& row : report.rows) report.total_ns = saturating_add(report.total_ns, row.spans.total_ns);
        return report;
    }

private:
    StreamModel model_;
};

}    // namespace

std::unique_ptr<ReportBuilder> make_report_builder() {
    return std::make_unique<Builder>();
}

}    // namespace lapwing
