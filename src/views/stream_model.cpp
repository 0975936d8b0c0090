#include "views/stream_model.hpp"

#include <algorithm>
#include <limits>

namespace lapwing::detail {

SiteIndex StreamModel::find_site(SiteId id) {
    constexpr SiteId kDense = 1u << 16;
    if (id < kDense) {
        if (id >= dense_site_index_.size()) dense_site_index_.resize(id + std::size_t{1});
        sites_.emplace_back().op = kUnknownSite;
        dense_site_index_[id] = static_cast<SiteIndex>(sites_.size());
        return dense_site_index_[id] - 1;
    }
    const auto [found, fresh] = site_index_.try_emplace(id, static_cast<SiteIndex>(sites_.size()));
    if (fresh) sites_.emplace_back().op = kUnknownSite;
    return found->second;
}

StepIndex StreamModel::step_index(uint32_t step) {
    if (step != last_step_) {
        last_step_index_ = find_step(step);
        last_step_ = step;
    }
    return last_step_index_;
}

StepIndex StreamModel::find_step(uint32_t step) {
    const auto [found, fresh] = step_index_.try_emplace(step, static_cast<StepIndex>(steps_.size()));
    if (fresh) steps_.push_back(ModelStep{.index = step, .finished = false, .record = {}});
    return found->second;
}

void StreamModel::extend_window(int64_t begin_ns, int64_t end_ns) noexcept {
    window_begin_ns_ = has_window_ ? std::min(window_begin_ns_, begin_ns) : begin_ns;
    window_end_ns_ = has_window_ ? std::max(window_end_ns_, end_ns) : end_ns;
    has_window_ = true;
}

void StreamModel::set_device(const DeviceInfo& device) {
    devices_[device.id] = device;
    device_process_.try_emplace(device.id, processes_.size());
}

std::size_t StreamModel::process_of(uint32_t device) const {
    const auto known = device_process_.find(device);
    return known == device_process_.end() ? processes_.size() : known->second;
}

void StreamModel::set_step(const StepRecord& step) {
    if (step.end_ns < step.begin_ns || step.index == kNoStep) {
        ++refused_;
        return;
    }
    ModelStep& entry = steps_[step_index(step.index)];
    entry.finished = true;
    entry.record = step;
    entry.process = processes_.size();
    extend_window(step.begin_ns, step.end_ns);
}

void StreamModel::set_stats(const RecordingStats& stats) {
    stats_ = stats;
    has_stats_ = true;
    // A failed writer's last word tells nothing of the time since the statistics before it.
    if (stats.write_error == 0)
        whole_until_ns_ = stats.final ? std::numeric_limits<int64_t>::max() : stats.window_end_ns;
}

bool StreamModel::beyond_edges(const StepRecord& step) const noexcept {
    const bool before = has_stats_ && stats_.left_out != 0 && step.begin_ns < stats_.window_begin_ns;
    return before || step.end_ns > whole_until_ns_;
}

void StreamModel::add(std::span<const SpanRecord> spans) {
    ModelTrack* track = nullptr;
    TrackId track_id = 0;
    for (const SpanRecord& span : spans) {
        int64_t end_ns = 0;
        if (span.duration_ns < 0 || __builtin_add_overflow(span.begin_ns, span.duration_ns, &end_ns)) {
            ++refused_;
            continue;
        }
        if (track == nullptr || span.track != track_id) {
            track_id = span.track;
            track = &tracks_[track_id];
            track->info.id = track_id;
        }
        track->spans.push(span.begin_ns, span.duration_ns, site_index(span.site), step_index(span.step));
        extend_window(span.begin_ns, end_ns);
    }
}

int64_t StreamModel::window_ns() const noexcept {
    int64_t begin_ns = window_begin_ns_;
    int64_t end_ns = window_end_ns_;
    if (has_stats_ && stats_.window_end_ns > stats_.window_begin_ns) {
        begin_ns = has_window_ ? std::min(begin_ns, stats_.window_begin_ns) : stats_.window_begin_ns;
        end_ns = has_window_ ? std::max(end_ns, stats_.window_end_ns) : stats_.window_end_ns;
    }
    int64_t window_ns = 0;
    return __builtin_sub_overflow(end_ns, begin_ns, &window_ns) ? std::numeric_limits<int64_t>::max() : window_ns;
}

}    // namespace lapwing::detail
