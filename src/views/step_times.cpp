#include "views/step_times.hpp"

#include <algorithm>
#include <map>

#include "views/arithmetic.hpp"
#include "views/distribution.hpp"

namespace lapwing::detail {
namespace {

struct Interval {
    int64_t begin_ns;
    int64_t end_ns;
    StepIndex step;
};

// The unions of one device, fed by ascending begin.
class Sweep {
public:
    explicit Sweep(std::size_t steps) : by_step_(steps) {}
    void add(const Interval& interval) {
        ++spans_;
        whole_.add(interval.begin_ns, interval.end_ns);
        by_step_[interval.step].add(interval.begin_ns, interval.end_ns);
    }
    [[nodiscard]] uint64_t spans() const noexcept { return spans_; }
    [[nodiscard]] int64_t busy_ns() const noexcept { return whole_.length_ns(); }
    [[nodiscard]] const std::vector<UnionMeter>& by_step() const noexcept { return by_step_; }

private:
    uint64_t spans_ = 0;
    UnionMeter whole_;
    std::vector<UnionMeter> by_step_;
};

// Calls `visit` for every device span of a track, and counts it in its step.
template <class Visit>
void for_each_interval(const StreamModel& model, const ModelTrack& track, std::vector<StepUse>& steps, Visit&& visit) {
    track.spans.for_each([&](int64_t begin_ns, int64_t duration_ns, SiteIndex site_index, StepIndex step) {
        const Site& site = model.sites()[site_index];
        if (!StreamModel::is_device(track, site) || site.container) return;
        StepUse& use = steps[step];
        ++use.device_spans;
        if (StreamModel::is_whole_step(site))
            use.whole = true;
        else
            use.dispatch_spans += site.kind == SpanKind::kDispatch ? 1 : 0;
        use.warmup = use.warmup || site.warmup;
        visit(Interval{begin_ns, begin_ns + duration_ns, step});
    });
}

Sweep sweep_device(const StreamModel& model, const std::vector<const ModelTrack*>& tracks,
                   std::vector<StepUse>& steps) {
    Sweep sweep{steps.size()};
    // One queue in device order, the usual case, needs neither the copy nor the sort.
    if (tracks.size() == 1 && tracks.front()->spans.ascending()) {
        for_each_interval(model, *tracks.front(), steps, [&](const Interval& interval) { sweep.add(interval); });
        return sweep;
    }
    std::vector<Interval> intervals;
    for (const ModelTrack* track : tracks)
        for_each_interval(model, *track, steps, [&](const Interval& interval) { intervals.push_back(interval); });
    std::sort(intervals.begin(), intervals.end(),
              [](const Interval& a, const Interval& b) { return a.begin_ns < b.begin_ns; });
    for (const Interval& interval : intervals) sweep.add(interval);
    return sweep;
}

}    // namespace

DeviceTimes measure_devices(const StreamModel& model) {
    std::map<uint32_t, std::vector<const ModelTrack*>> tracks_of_device;
    for (const auto& [id, track] : model.tracks()) {
        if (track.info.kind == TrackKind::kDeviceQueue) tracks_of_device[track.info.device].push_back(&track);
    }

    DeviceTimes out;
    out.steps.resize(model.steps().size());
    for (const auto& [device, tracks] : tracks_of_device) {
        const Sweep sweep = sweep_device(model, tracks, out.steps);
        if (sweep.spans() == 0) continue;
        out.devices.push_back(DeviceFigures{device, sweep.spans(), sweep.busy_ns()});
        for (std::size_t i = 0; i < out.steps.size(); ++i)
            out.steps[i].gpu_ns = saturating_add(out.steps[i].gpu_ns, sweep.by_step()[i].length_ns());
    }
    for (std::size_t i = 0; i < out.steps.size(); ++i) {
        const ModelStep& step = model.steps()[i];
        StepUse& use = out.steps[i];
        use.counted = step.finished && step.record.armed && use.device_spans != 0 && !use.warmup;
    }
    return out;
}

StepSummary summarise_steps(const StreamModel& model, const std::vector<StepUse>& uses) {
    StepSummary out;
    std::vector<int64_t> gpu_ns;
    std::vector<int64_t> wall_ns;
    std::vector<int64_t> all_wall_ns;
    for (std::size_t i = 0; i < uses.size(); ++i) {
        const ModelStep& step = model.steps()[i];
        const StepUse& use = uses[i];
        if (!step.finished) continue;
        ++out.count;
        out.dispatches += step.record.dispatches;
        if (step.record.armed) out.untimed_dispatches += step.record.untimed;
        int64_t wall = 0;
        if (__builtin_sub_overflow(step.record.end_ns, step.record.begin_ns, &wall)) wall = INT64_MAX;
        all_wall_ns.push_back(wall);
        if (use.warmup) {
            ++out.with_warmup;
        } else if (!step.record.armed) {
            ++out.not_armed;
        } else if (!use.counted) {
            ++out.untimed;
        } else {
            gpu_ns.push_back(use.gpu_ns);
            wall_ns.push_back(wall);
            if (const uint64_t missing = use.missing(step.record.dispatches); missing > 0) {
                ++out.incomplete;
                out.missing_dispatches += missing;
            }
        }
    }
    out.gpu_ns = summarise(gpu_ns);
    out.wall_ns = summarise(wall_ns);
    out.all_wall_ns = summarise(all_wall_ns);
    return out;
}

}    // namespace lapwing::detail
