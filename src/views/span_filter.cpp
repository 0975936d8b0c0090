#include "lapwing/span_filter.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "lapwing/step_rule.hpp"

namespace lapwing {

namespace {

constexpr std::array kKinds{SpanKind::kDispatch, SpanKind::kCopy, SpanKind::kFill, SpanKind::kRender, SpanKind::kHost};

struct FilteredSite {
    Site site;
    bool passes = false;
    bool announced = false;
};

struct FilteredTrack {
    bool device = true;
    bool passes = true;
};

class Filter final : public SpanFilter {
public:
    Filter(SpanSink& to, const SpanFilterOptions& options, std::optional<LabelPattern> pattern)
        : to_(to), options_(options), pattern_(std::move(pattern)) {
        // Spans that no site or track was announced for.
        unknown_site_.passes = passes(unknown_site_.site);
        unknown_track_.passes = options_.devices.empty() && options_.processes.empty();
    }

    Status process(const ProcessInfo& process) override {
        if (Status status = pass_steps(); !status.ok()) return status;    // they are of the process before
        process_ = std::to_string(process.pid);
        return to_.process(process);
    }

    Status device(const DeviceInfo& device) override {
        devices_[device.id] = device.name;
        for (auto& [id, track] : tracks_)
            if (infos_[id].device == device.id) track.passes = passes(infos_[id]);
        return to_.device(device);
    }

    Status track(const TrackInfo& track) override {
        TrackInfo& info = infos_[track.id] = track;
        if (info.process.empty()) info.process = process_;
        processes_.insert(info.process);
        tracks_[track.id] = {track.kind == TrackKind::kDeviceQueue, passes(info)};
        return to_.track(track);
    }

    Status site(SiteId id, const Site& site) override {
        FilteredSite& known = sites_[id];
        known.site = site;
        known.passes = passes(site);
        return known.announced ? to_.site(id, site) : Status();
    }

    Status spans(std::span<const SpanRecord> spans) override {
        kept_.clear();
        for (const SpanRecord& span : spans) {
            const auto track_found = tracks_.find(span.track);
            const FilteredTrack& track = track_found == tracks_.end() ? unknown_track_ : track_found->second;
            const auto site_found = sites_.find(span.site);
            FilteredSite& site = site_found == sites_.end() ? unknown_site_ : site_found->second;
            if (!track.passes || !site.passes || !in_range(span.begin_ns)) {
                leave_out(span, track, site.site);
                continue;
            }
            if (site_found != sites_.end() && !std::exchange(site.announced, true))
                if (Status status = to_.site(span.site, site.site); !status.ok()) return status;
            ++counts_.kept;
            kept_.push_back(span);
        }
        return kept_.empty() ? Status() : to_.spans(kept_);
    }

    Status step(const StepRecord& step) override {
        if (in_range(step.begin_ns)) steps_.push_back(step);
        return {};
    }

    Status stats(const RecordingStats& stats) override {
        RecordingStats out = stats;
        if (options_.from_ns) out.window_begin_ns = std::max(out.window_begin_ns, *options_.from_ns);
        if (options_.to_ns) out.window_end_ns = std::min(out.window_end_ns, *options_.to_ns);
        return to_.stats(out);
    }

    Status fingerprint(const FingerprintRecord& record) override { return to_.fingerprint(record); }

    Status flush() override {
        Status status = pass_steps();
        return status.ok() ? to_.flush() : status;
    }

    Status close() override {
        Status status = pass_steps();
        return status.ok() ? to_.close() : status;
    }

    FilterCounts counts() const override { return counts_; }

    std::string unanswered() const override {
        for (const std::string& wanted : options_.devices) {
            const auto answers = [&](const auto& device) { return answers_to(device.first, device.second, wanted); };
            if (std::any_of(devices_.begin(), devices_.end(), answers)) continue;
            std::string out = "no device is '" + wanted + "'";
            return out += devices_.empty() ? ": there is none" : "; there is " + list_devices();
        }
        for (const std::string& wanted : options_.processes) {
            if (processes_.contains(wanted)) continue;
            std::string out = "no process is '" + wanted + "'";
            return out += processes_.empty() ? ": there is none" : "; there is " + list_processes();
        }
        return {};
    }

private:
    [[nodiscard]] static bool answers_to(uint32_t id, const std::string& name, const std::string& wanted) {
        return std::to_string(id) == wanted || name.find(wanted) != std::string::npos;
    }

    [[nodiscard]] bool in_range(int64_t begin_ns) const noexcept {
        return (!options_.from_ns || begin_ns >= *options_.from_ns) && (!options_.to_ns || begin_ns < *options_.to_ns);
    }

    [[nodiscard]] bool passes(const Site& site) const {
        if (options_.no_warmup && site.warmup) return false;
        const auto& kinds = options_.kinds;
        if (!kinds.empty() && std::find(kinds.begin(), kinds.end(), site.kind) == kinds.end()) return false;
        return !pattern_ || pattern_->matches(site.label) || pattern_->matches(site.op) ||
               pattern_->matches(site.kernel);
    }

    [[nodiscard]] bool passes(const TrackInfo& track) const {
        const auto& processes = options_.processes;
        if (!processes.empty() && std::find(processes.begin(), processes.end(), track.process) == processes.end())
            return false;
        if (options_.devices.empty()) return true;
        const auto device = devices_.find(track.device);
        if (track.kind != TrackKind::kDeviceQueue || device == devices_.end()) return false;
        return std::any_of(options_.devices.begin(), options_.devices.end(), [&](const std::string& wanted) {
            return answers_to(device->first, device->second, wanted);
        });
    }

    void leave_out(const SpanRecord& span, const FilteredTrack& track, const Site& site) {
        ++counts_.left_out;
        const bool device = track.device && site.kind != SpanKind::kHost;
        counts_.left_out_device += device ? 1u : 0u;
        if (device && span.step != kNoStep && site.kind == SpanKind::kDispatch) ++left_out_of_step_[span.step];
    }

    Status pass_steps() {
        for (StepRecord& step : steps_) {
            const auto left_out = left_out_of_step_.find(step.index);
            if (left_out != left_out_of_step_.end()) step.dispatches -= std::min(step.dispatches, left_out->second);
            if (Status status = to_.step(step); !status.ok()) return status;
        }
        steps_.clear();
        return {};
    }

    [[nodiscard]] std::string list_devices() const {
        std::string out;
        for (const auto& [id, name] : devices_)
            (((out += out.empty() ? "" : ", ") += std::to_string(id)) += " (") += name + ")";
        return out;
    }

    [[nodiscard]] std::string list_processes() const {
        constexpr std::size_t kMost = 20;
        std::string out;
        std::size_t listed = 0;
        for (const std::string& process : processes_) {
            if (listed++ == kMost) return out += ", ...";
            (out += out.empty() ? "" : ", ") += process;
        }
        return out;
    }

    SpanSink& to_;
    SpanFilterOptions options_;
    std::optional<LabelPattern> pattern_;
    FilterCounts counts_;
    std::string process_;
    std::map<uint32_t, std::string> devices_;
    std::set<std::string> processes_;
    std::unordered_map<TrackId, TrackInfo> infos_;
    std::unordered_map<TrackId, FilteredTrack> tracks_;
    std::unordered_map<SiteId, FilteredSite> sites_;
    FilteredSite unknown_site_;
    FilteredTrack unknown_track_;
    std::unordered_map<uint32_t, uint64_t> left_out_of_step_;
    std::vector<StepRecord> steps_;
    std::vector<SpanRecord> kept_;
};

}    // namespace

bool SpanFilterOptions::any() const noexcept {
    return !match.empty() || !kinds.empty() || !devices.empty() || !processes.empty() || from_ns || to_ns || no_warmup;
}

Result<std::vector<SpanKind>> parse_span_kinds(std::string_view text) {
    std::vector<SpanKind> out;
    for (bool more = true; more;) {
        const std::size_t comma = text.find(',');
        const std::string_view name = text.substr(0, comma);
        const auto* const found =
            std::find_if(kKinds.begin(), kKinds.end(), [&](SpanKind kind) { return name == to_text(kind); });
        if (found == kKinds.end()) {
            std::string message = "there is no kind '";
            message += name;
            return Error{Errc::kInvalidArgument, 0,
                         message += "': use dispatch, copy, fill, render, host, with commas"};
        }
        out.push_back(*found);
        more = comma != std::string_view::npos;
        if (more) text.remove_prefix(comma + 1);
    }
    return out;
}

Result<std::unique_ptr<SpanFilter>> make_span_filter(SpanSink& to, const SpanFilterOptions& options) {
    std::optional<LabelPattern> pattern;
    if (!options.match.empty()) {
        Result<LabelPattern> compiled = LabelPattern::compile(options.match);
        if (!compiled) return compiled.error();
        pattern.emplace(std::move(*compiled));
    }
    if (options.from_ns && options.to_ns && *options.from_ns >= *options.to_ns)
        return Error{Errc::kInvalidArgument, 0, "the time range is empty: its end must come after its begin"};
    return std::unique_ptr<SpanFilter>(std::make_unique<Filter>(to, options, std::move(pattern)));
}

Status FirstMoment::spans(std::span<const SpanRecord> spans) {
    for (const SpanRecord& span : spans)
        if (span.duration_ns >= 0) see(span.begin_ns);
    return {};
}

Status FirstMoment::step(const StepRecord& step) {
    see(step.begin_ns);
    return {};
}

Status FirstMoment::stats(const RecordingStats& stats) {
    if (stats.window_end_ns > stats.window_begin_ns) see(stats.window_begin_ns);
    return {};
}

}    // namespace lapwing
