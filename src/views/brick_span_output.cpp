#include "views/brick_span_output.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "lapwing/clock.hpp"
#include "lapwing/this_process.hpp"

namespace lapwing::detail {

BrickSpanOutput::BrickSpanOutput(SpanSink& sink, const BrickSinkOptions& options, const BrickNames& names)
    : sink_(sink),
      options_(options),
      names_(names),
      sites_(sink, options.sites),
      next_track_(options.first_track),
      begun_ns_(host_now().value) {
    if (options_.whole_recording) keep(sink_.process(this_process()));
}

void BrickSpanOutput::keep(Status status) {
    if (status_.ok() && !status.ok()) status_ = std::move(status);
}

void BrickSpanOutput::announce(BrickShard& shard) {
    shard.track = next_track_++;
    TrackInfo info;
    info.id = shard.track;
    info.kind = TrackKind::kHostThread;
    info.name = "bricks of thread " + std::to_string(shard.thread_id);
    keep(sink_.track(info));
}

void BrickSpanOutput::add(BrickShard& shard, const BrickRecord& record, int64_t begin_ns, int64_t duration_ns,
                          bool warmup) {
    if (shard.track == 0) announce(shard);
    SiteId& site = site_of_[brick_site_key(record.brick(), record.layer(), warmup)];
    if (site == 0) site = names_.site(record.brick(), record.layer(), SpanKind::kHost, warmup);
    SpanRecord span;
    span.begin_ns = begin_ns;
    span.duration_ns = duration_ns;
    span.site = sites_.number_of(site, status_);
    span.track = shard.track;
    batch_.push_back(span);
}

void BrickSpanOutput::deliver() {
    if (batch_.empty()) return;
    // A brick is written when it ends, so an outer one comes after those inside it.
    std::stable_sort(batch_.begin(), batch_.end(), [](const SpanRecord& a, const SpanRecord& b) {
        return a.begin_ns != b.begin_ns ? a.begin_ns < b.begin_ns : a.duration_ns > b.duration_ns;
    });
    if (status_.ok()) keep(sink_.spans(batch_));
    if (!status_.ok()) lost_[LossReason::kAbandoned] += batch_.size();
    batch_.clear();
}

Status BrickSpanOutput::flush() {
    keep(sink_.flush());
    return status_;
}

Status BrickSpanOutput::close(const LossCounts& lost) {
    if (!options_.whole_recording) return status_;
    RecordingStats stats;
    // These counts are of device spans (sink.hpp); host spans that were lost are begun here so that the sum holds.
    stats.lost = lost;
    stats.begun = lost.total();
    stats.window_begin_ns = begun_ns_;
    stats.window_end_ns = host_now().value;
    stats.names_dropped = sites_.folded() + process_sites_folded();
    stats.final = true;
    keep(sink_.stats(stats));
    keep(sink_.close());
    return status_;
}

}    // namespace lapwing::detail
