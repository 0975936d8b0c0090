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

// All device spans of one device by begin; counts them per step on the way.
std::vector<Interval> gather(const StreamModel& model, const std::vector<const ModelTrack*>& tracks,
                             std::vector<StepUse>& steps) {
    std::vector<Interval> out;
    for (const ModelTrack* track : tracks) {
        track->spans.for_each([&](int64_t begin_ns, int64_t duration_ns, SiteIndex site_index, StepIndex step) {
            const Site& site = model.sites()[site_index];
            if (!StreamModel::is_device(*track, site)) return;
            out.push_back(Interval{begin_ns, begin_ns + duration_ns, step});
            StepUse& use = steps[step];
            ++use.device_spans;
            use.dispatch_spans += site.kind == SpanKind::kDispatch ? 1 : 0;
            use.warmup = use.warmup || site.warmup;
        });
    }
    const auto earlier = [](const Interval& a, const Interval& b) { return a.begin_ns < b.begin_ns; };
    if (!std::is_sorted(out.begin(), out.end(), earlier)) std::sort(out.begin(), out.end(), earlier);
    return out;
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
        const std::vector<Interval> intervals = gather(model, tracks, out.steps);
        if (intervals.empty()) continue;
        UnionMeter whole;
        std::vector<UnionMeter> by_step(out.steps.size());
        for (const Interval& interval : intervals) {
            whole.add(interval.begin_ns, interval.end_ns);
            by_step[interval.step].add(interval.begin_ns, interval.end_ns);
        }
        out.devices.push_back(DeviceFigures{device, intervals.size(), whole.length_ns()});
        for (std::size_t i = 0; i < by_step.size(); ++i)
            out.steps[i].gpu_ns = saturating_add(out.steps[i].gpu_ns, by_step[i].length_ns());
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
    for (std::size_t i = 0; i < uses.size(); ++i) {
        const ModelStep& step = model.steps()[i];
        const StepUse& use = uses[i];
        if (!step.finished) continue;
        ++out.count;
        if (use.warmup) {
            ++out.with_warmup;
        } else if (!step.record.armed) {
            ++out.not_armed;
        } else if (!use.counted) {
            ++out.untimed;
        } else {
            gpu_ns.push_back(use.gpu_ns);
            int64_t wall = 0;
            if (__builtin_sub_overflow(step.record.end_ns, step.record.begin_ns, &wall)) wall = INT64_MAX;
            wall_ns.push_back(wall);
            if (use.dispatch_spans < step.record.dispatches) {
                ++out.incomplete;
                out.missing_dispatches += step.record.dispatches - use.dispatch_spans;
            }
        }
    }
    out.gpu_ns = summarise(gpu_ns);
    out.wall_ns = summarise(wall_ns);
    return out;
}

}    // namespace lapwing::detail
