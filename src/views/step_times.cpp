#include "views/step_times.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "views/arithmetic.hpp"
#include "views/distribution.hpp"

namespace lapwing::detail {
namespace {

struct Interval {
    int64_t begin_ns;
    int64_t end_ns;
    StepIndex step;
    uint32_t device;    // its place in Gpu::devices
};

// Devices that are one GPU, opened by several processes or several times by one.
struct Gpu {
    std::vector<uint32_t> devices;    // DeviceInfo::id, ascending
    struct Queue {
        const ModelTrack* track;
        uint32_t device;    // as in Interval
    };
    std::vector<Queue> queues;
};

// The unions of one GPU, fed by ascending begin.
class Sweep {
public:
    Sweep(std::size_t steps, std::size_t devices) : by_step_(steps), by_device_(devices), figures_(devices) {}
    void add(const Interval& interval) {
        ++figures_[interval.device].spans;
        whole_.add(interval.begin_ns, interval.end_ns);
        by_step_[interval.step].add(interval.begin_ns, interval.end_ns);
        by_device_[interval.device].add(interval.begin_ns, interval.end_ns);
    }
    [[nodiscard]] int64_t busy_ns() const noexcept { return whole_.length_ns(); }
    [[nodiscard]] const std::vector<UnionMeter>& by_step() const noexcept { return by_step_; }
    [[nodiscard]] DeviceFigures figures(std::size_t device, uint32_t id) const noexcept {
        return {id, figures_[device].spans, by_device_[device].length_ns()};
    }

private:
    UnionMeter whole_;
    std::vector<UnionMeter> by_step_;
    std::vector<UnionMeter> by_device_;
    std::vector<DeviceFigures> figures_;
};

// Calls `visit` for every device span of a track, and counts it in its step.
template <class Visit>
void for_each_interval(const StreamModel& model, const Gpu::Queue& queue, std::vector<StepUse>& steps, Visit&& visit) {
    const ModelTrack& track = *queue.track;
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
        visit(Interval{begin_ns, begin_ns + duration_ns, step, queue.device});
    });
}

bool by_begin(const Interval& a, const Interval& b) {
    return a.begin_ns < b.begin_ns;
}

// Sorted runs into one, pairwise: most queues come in order, and sorting all of them took longer than reading the file.
void merge(std::vector<Interval>& intervals, const std::vector<std::size_t>& runs) {
    const std::size_t count = runs.size() - 1;
    const auto at = [&](std::size_t run) {
        return intervals.begin() + static_cast<std::ptrdiff_t>(runs[std::min(run, count)]);
    };
    for (std::size_t width = 1; width < count; width *= 2)
        for (std::size_t run = 0; run + width < count; run += 2 * width)
            std::inplace_merge(at(run), at(run + width), at(run + 2 * width), by_begin);
}

Sweep sweep_gpu(const StreamModel& model, const Gpu& gpu, std::vector<StepUse>& steps) {
    Sweep sweep{steps.size(), gpu.devices.size()};
    // One queue in device order, the usual case, needs neither the copy nor the sort.
    if (gpu.queues.size() == 1 && gpu.queues.front().track->spans.ascending()) {
        for_each_interval(model, gpu.queues.front(), steps, [&](const Interval& interval) { sweep.add(interval); });
        return sweep;
    }
    std::vector<Interval> intervals;
    std::vector<std::size_t> runs{0};    // one a queue: where it begins, and the end of the last
    for (const Gpu::Queue& queue : gpu.queues) {
        for_each_interval(model, queue, steps, [&](const Interval& interval) { intervals.push_back(interval); });
        if (!queue.track->spans.ascending())
            std::sort(intervals.begin() + static_cast<std::ptrdiff_t>(runs.back()), intervals.end(), by_begin);
        runs.push_back(intervals.size());
    }
    merge(intervals, runs);
    for (const Interval& interval : intervals) sweep.add(interval);
    return sweep;
}

// By the smallest id of each.
std::vector<Gpu> find_gpus(const StreamModel& model) {
    std::map<uint32_t, std::vector<const ModelTrack*>> tracks_of_device;
    for (const auto& [id, track] : model.tracks()) {
        if (track.info.kind == TrackKind::kDeviceQueue) tracks_of_device[track.info.device].push_back(&track);
    }
    std::vector<Gpu> gpus;
    std::map<std::string, std::size_t> by_uuid;
    for (const auto& [id, tracks] : tracks_of_device) {
        const auto device = model.devices().find(id);
        const std::string uuid = device == model.devices().end() ? std::string{} : device->second.uuid;
        std::size_t at = gpus.size();
        if (!uuid.empty()) at = by_uuid.try_emplace(uuid, at).first->second;
        if (at == gpus.size()) gpus.emplace_back();
        Gpu& gpu = gpus[at];
        for (const ModelTrack* track : tracks) gpu.queues.push_back({track, static_cast<uint32_t>(gpu.devices.size())});
        gpu.devices.push_back(id);
    }
    return gpus;
}

void judge_steps(const StreamModel& model, std::vector<StepUse>& uses) {
    for (std::size_t i = 0; i < uses.size(); ++i) {
        const ModelStep& step = model.steps()[i];
        StepUse& use = uses[i];
        const bool armed = step.finished && step.record.armed;
        // A step whose dispatches are all there is whole, wherever it lies.
        use.cut = armed && use.missing(step.record.dispatches) > 0 && model.beyond_edges(step.record);
        use.counted = armed && use.device_spans != 0 && !use.warmup && !use.cut;
    }
}

}    // namespace

DeviceTimes measure_devices(const StreamModel& model) {
    DeviceTimes out;
    out.steps.resize(model.steps().size());
    out.process_gpus.resize(model.processes().size() + 1);
    for (const Gpu& gpu : find_gpus(model)) {
        const Sweep sweep = sweep_gpu(model, gpu, out.steps);
        std::set<std::size_t> processes;
        for (std::size_t i = 0; i < gpu.devices.size(); ++i) {
            const DeviceFigures figures = sweep.figures(i, gpu.devices[i]);
            if (figures.spans == 0) continue;
            out.devices.push_back(figures);
            processes.insert(model.process_of(figures.id));
        }
        if (processes.empty()) continue;
        ++out.gpus;
        out.busy_ns = saturating_add(out.busy_ns, sweep.busy_ns());
        for (const std::size_t process : processes) ++out.process_gpus[process];
        for (std::size_t i = 0; i < out.steps.size(); ++i)
            out.steps[i].gpu_ns = saturating_add(out.steps[i].gpu_ns, sweep.by_step()[i].length_ns());
    }
    std::sort(out.devices.begin(), out.devices.end(),
              [](const DeviceFigures& a, const DeviceFigures& b) { return a.id < b.id; });
    judge_steps(model, out.steps);
    return out;
}

StepSummary summarise_steps(const StreamModel& model, const DeviceTimes& times) {
    const std::vector<StepUse>& uses = times.steps;
    StepSummary out;
    double capacity_ns = 0;
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
        } else if (use.cut) {
            ++out.cut;
        } else if (!use.counted) {
            ++out.untimed;
        } else {
            gpu_ns.push_back(use.gpu_ns);
            wall_ns.push_back(wall);
            capacity_ns += static_cast<double>(wall) * std::max(times.process_gpus[step.process], 1u);
            if (const uint64_t missing = use.missing(step.record.dispatches); missing > 0) {
                ++out.incomplete;
                out.missing_dispatches += missing;
            }
        }
    }
    out.gpu_ns = summarise(gpu_ns);
    out.wall_ns = summarise(wall_ns);
    out.all_wall_ns = summarise(all_wall_ns);
    if (capacity_ns > 0) out.gpu_share = static_cast<double>(out.gpu_ns.total_ns) / capacity_ns;
    return out;
}

}    // namespace lapwing::detail
