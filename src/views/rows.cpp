#include "views/rows.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>

#include "views/arithmetic.hpp"
#include "views/distribution.hpp"
#include "views/natural_order.hpp"

namespace lapwing::detail {
namespace {

constexpr std::size_t kNoRow = ~std::size_t{0};
constexpr std::size_t kInNoRow = kNoRow - 1;    // looked at, and left out

// What makes two executions equal work. An absent figure comes before 0.
using WorkKey = std::tuple<uint32_t, std::optional<uint64_t>, std::optional<uint64_t>>;

// A row while spans are still added to it.
struct OpenRow {
    std::string name;
    std::size_t track_or_step = 0;    // what the row is of, where rows are tracks or steps
    uint32_t kinds = 0;               // bit per SpanKind
    std::vector<int64_t> durations;
    uint64_t warmup_count = 0;
    int64_t warmup_ns = 0;
    uint64_t estimated_count = 0;
    uint64_t below_floor = 0;
    int64_t counted_ns = 0;    // in steps of the headline
    uint64_t counted_spans = 0;
    StepTotals sampled;
    std::map<WorkKey, WorkEntry> work;
};

std::string name_of(const Site& site, GroupBy by) {
    const char* kind = to_text(site.kind);
    switch (by) {
        case GroupBy::kOp:
            if (!site.op.empty()) return site.op;
            return site.kernel.empty() ? kind : site.kernel;
        case GroupBy::kKernel:
            return site.kernel.empty() ? kind : site.kernel;
        case GroupBy::kLayer:
            return site.layer < 0 ? "-" : std::to_string(site.layer);
        case GroupBy::kName:
            if (!site.label.empty()) return site.label;
            if (!site.op.empty()) return site.op;
            return site.kernel.empty() ? kind : site.kernel;
        case GroupBy::kBrick:
            return site.category.empty() ? std::string{} : site.op;
        case GroupBy::kCategory:
            return site.category;
        case GroupBy::kFamily:
            return site.family;
        case GroupBy::kPhase:
            return site.phase;
        case GroupBy::kLane:
            return site.lane;
        case GroupBy::kStep:
        case GroupBy::kQueue:
            break;
    }
    return {};
}

// Whether rows may hold spans of this site at all.
bool takes_part(const Site& site, bool device, GroupBy by) {
    if (by == GroupBy::kName || by == GroupBy::kQueue) return true;
    if (is_by_mark(by)) return !name_of(site, by).empty();
    return device && !site.container && (by == GroupBy::kStep || !StreamModel::is_whole_step(site));
}

class Grouping {
public:
    Grouping(const StreamModel& model, const std::vector<StepUse>& steps, const StepSample& sample,
             const RowOptions& options)
        : model_(model), steps_(steps), sample_(sample), by_(options.by), floor_(options.floor) {
        index_.assign(by_ == GroupBy::kStep ? model.steps().size() : 2 * model.sites().size(), kNoRow);
    }

    void add(const ModelTrack& track) {
        std::size_t track_row = kNoRow;
        const std::optional<int64_t> floor_ns = floor_of(track);
        track.spans.for_each([&](int64_t, int64_t read_ns, SiteIndex site_index, StepIndex step) {
            const Site& site = model_.sites()[site_index];
            const bool device = StreamModel::is_device(track, site);
            if (by_ == GroupBy::kStep && !takes_part(site, device, by_)) return;
            std::size_t& cached = by_ == GroupBy::kQueue  ? track_row
                                  : by_ == GroupBy::kStep ? index_[step]
                                                          : index_[2 * std::size_t{site_index} + (device ? 1 : 0)];
            if (cached == kNoRow) cached = takes_part(site, device, by_) ? open_row(track, site, step) : kInNoRow;
            if (cached == kInNoRow) {
                ungrouped_ += device && !site.container && !StreamModel::is_whole_step(site) ? 1 : 0;
                return;
            }
            OpenRow& row = rows_[cached];
            // An undescribed site of a host thread has the default kind, dispatch; its track knows better.
            const SpanKind kind = track.info.kind == TrackKind::kHostThread ? SpanKind::kHost : site.kind;
            row.kinds |= 1u << static_cast<uint32_t>(kind);
            const bool subtract = floor_ns && device && floor_ == FloorTime::kSubtracted;
            const int64_t duration_ns = subtract ? std::max<int64_t>(0, read_ns - *floor_ns) : read_ns;
            if (site.warmup) {
                ++row.warmup_count;
                row.warmup_ns = saturating_add(row.warmup_ns, duration_ns);
                return;
            }
            row.durations.push_back(duration_ns);
            row.below_floor += floor_ns && device && read_ns <= *floor_ns ? 1 : 0;
            if (site.flops || site.bytes) add_work(row, site, device ? track.info.device : 0, duration_ns);
            row.estimated_count += site.validity == Validity::kEstimated ? 1 : 0;
            if (device && steps_[step].counted) {
                row.counted_ns = saturating_add(row.counted_ns, duration_ns);
                ++row.counted_spans;
            }
            if (device && sample_.scales() && sample_.has[step]) row.sampled.add(step, duration_ns);
        });
    }

    // Steps without a span have launches and a wall time all the same.
    void add_steps_without_spans() {
        for (StepIndex step = 1; step < model_.steps().size(); ++step) {
            if (index_[step] != kNoRow || !model_.steps()[step].finished) continue;
            OpenRow row;
            row.track_or_step = step;
            row.name = std::to_string(model_.steps()[step].index);
            row.kinds = 1u << static_cast<uint32_t>(SpanKind::kDispatch);
            rows_.push_back(std::move(row));
        }
    }

    std::vector<OpenRow>& rows() noexcept { return rows_; }
    [[nodiscard]] uint64_t ungrouped() const noexcept { return ungrouped_; }

private:
    [[nodiscard]] std::optional<int64_t> floor_of(const ModelTrack& track) const {
        const auto device = model_.devices().find(track.info.device);
        return device == model_.devices().end() ? std::nullopt : device->second.clock.floor_ns;
    }

    static void add_work(OpenRow& row, const Site& site, uint32_t device, int64_t duration_ns) {
        WorkEntry& entry = row.work[{device, site.flops, site.bytes}];
        entry.work = {site.flops, site.bytes};
        entry.device = device;
        ++entry.executions;
        entry.total_ns = saturating_add(entry.total_ns, duration_ns);
    }

    std::size_t open_row(const ModelTrack& track, const Site& site, StepIndex step) {
        OpenRow row;
        if (by_ == GroupBy::kQueue) {
            row.track_or_step = track.info.id;
        } else if (by_ == GroupBy::kStep) {
            row.track_or_step = step;
            row.name = step == 0 ? "-" : std::to_string(model_.steps()[step].index);
        } else {
            row.name = name_of(site, by_);
            const bool apart = is_by_mark(by_) && !StreamModel::is_device(track, site);
            const auto [found, fresh] = by_name_[apart ? 1 : 0].try_emplace(row.name, rows_.size());
            if (!fresh) return found->second;
        }
        rows_.push_back(std::move(row));
        return rows_.size() - 1;
    }

    const StreamModel& model_;
    const std::vector<StepUse>& steps_;
    const StepSample& sample_;
    GroupBy by_;
    FloorTime floor_;
    uint64_t ungrouped_ = 0;
    std::vector<std::size_t> index_;    // row of a site on host tracks and on queues, or of a step
    std::array<std::unordered_map<std::string, std::size_t>, 2> by_name_;    // [1]: host spans, where they stand apart
    std::vector<OpenRow> rows_;
};

std::string kind_text(uint32_t kinds) {
    if ((kinds & (kinds - 1)) != 0) return "mixed";
    for (uint32_t kind = 0; kind < 32; ++kind) {
        if (kinds == 1u << kind) return to_text(static_cast<SpanKind>(kind));
    }
    return "mixed";
}

// Track names as rows: two devices both have a "queue 0", so the device is added where there are several, and the
// track's own number where that still leaves two alike.
void name_tracks(const StreamModel& model, std::vector<OpenRow>& rows) {
    const bool several_devices = model.devices().size() > 1;
    std::map<std::string, int> uses;
    for (OpenRow& row : rows) {
        const TrackInfo& info = model.tracks().at(static_cast<TrackId>(row.track_or_step)).info;
        row.name = info.name.empty() ? "track " + std::to_string(info.id) : info.name;
        if (several_devices && info.device != 0) row.name += " (device " + std::to_string(info.device) + ")";
        ++uses[row.name];
    }
    for (OpenRow& row : rows) {
        if (uses[row.name] > 1) row.name += " [track " + std::to_string(row.track_or_step) + "]";
    }
}

std::optional<StepFigures> step_figures(const StreamModel& model, const StepUse& use, std::size_t step) {
    if (step == 0) return std::nullopt;
    const ModelStep& known = model.steps()[step];
    StepFigures out;
    out.gpu_ns = use.gpu_ns;
    out.finished = known.finished;
    if (known.finished) {
        if (__builtin_sub_overflow(known.record.end_ns, known.record.begin_ns, &out.wall_ns)) out.wall_ns = INT64_MAX;
        out.dispatches = known.record.dispatches;
        out.armed = known.record.armed;
        out.cut = use.cut;
    }
    return out;
}

ReportRow finish(OpenRow& open, uint64_t counted_steps, const StepSample& sample, GroupBy by) {
    ReportRow row;
    row.name = std::move(open.name);
    row.kind = kind_text(open.kinds);
    row.spans = summarise(open.durations);
    row.warmup_count = open.warmup_count;
    row.warmup_ns = open.warmup_ns;
    row.estimated_count = open.estimated_count;
    row.below_floor = open.below_floor;
    for (const auto& [key, entry] : open.work) row.work.push_back(entry);
    if (!row.work.empty()) row.roofline = roofline(row.work, {});
    const bool of_steps = by != GroupBy::kStep && row.kind != to_text(SpanKind::kHost);
    if (of_steps && sample.scales() && sample.size > 0) row.scaled = open.sampled.scaled(sample);
    if (of_steps && counted_steps != 0) {
        row.per_step_ns = static_cast<double>(open.counted_ns) / static_cast<double>(counted_steps);
        row.per_step_count = static_cast<double>(open.counted_spans) / static_cast<double>(counted_steps);
    }
    return row;
}

void sort_rows(std::vector<ReportRow>& rows, GroupBy by) {
    const bool natural = by == GroupBy::kLayer || by == GroupBy::kStep;
    std::sort(rows.begin(), rows.end(), [natural](const ReportRow& a, const ReportRow& b) {
        if (natural) return natural_less(a.name, b.name);
        if (a.spans.total_ns != b.spans.total_ns) return a.spans.total_ns > b.spans.total_ns;
        return a.name != b.name ? a.name < b.name : a.kind < b.kind;
    });
}

}    // namespace

GroupBy default_group(const StreamModel& model) {
    bool any_kernel = false;
    bool any_whole_step = false;
    for (const Site& site : model.sites()) {
        if (site.kind == SpanKind::kHost) continue;
        if (!site.op.empty() && site.op != kUnknownSite) return GroupBy::kOp;
        any_kernel = any_kernel || !site.kernel.empty();
        any_whole_step = any_whole_step || StreamModel::is_whole_step(site);
    }
    return any_kernel ? GroupBy::kKernel : any_whole_step ? GroupBy::kLane : GroupBy::kName;
}

Rows make_rows(const StreamModel& model, const std::vector<StepUse>& steps, const StepSample& sample,
               const RowOptions& options) {
    const GroupBy by = options.by;
    Grouping grouping{model, steps, sample, options};
    for (const auto& [id, track] : model.tracks()) grouping.add(track);
    if (by == GroupBy::kStep) grouping.add_steps_without_spans();
    std::vector<OpenRow>& open = grouping.rows();
    if (by == GroupBy::kQueue) name_tracks(model, open);

    uint64_t counted_steps = 0;
    for (const StepUse& step : steps) counted_steps += step.counted ? 1 : 0;

    Rows out;
    out.ungrouped = grouping.ungrouped();
    std::vector<ReportRow>& rows = out.rows;
    rows.reserve(open.size());
    int64_t total_ns = 0;
    for (OpenRow& row : open) {
        rows.push_back(finish(row, counted_steps, sample, by));
        if (by == GroupBy::kStep) {
            rows.back().step = step_figures(model, steps[row.track_or_step], row.track_or_step);
        }
        total_ns = saturating_add(total_ns, rows.back().spans.total_ns);
    }
    for (ReportRow& row : rows) {
        row.share = total_ns == 0 ? 0.0 : static_cast<double>(row.spans.total_ns) / static_cast<double>(total_ns);
    }
    sort_rows(rows, by);
    return out;
}

}    // namespace lapwing::detail
