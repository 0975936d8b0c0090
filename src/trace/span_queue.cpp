#include "trace/span_queue.hpp"

#include <utility>

namespace lapwing::trace {

void SpanQueue::add(std::span<const SpanRecord> spans) {
    while (!spans.empty()) {
        const std::size_t block = spans_ / kBlockSpans;
        const std::size_t at = spans_ % kBlockSpans;
        if (block == blocks_.size()) blocks_.push_back(std::make_unique<Block>());
        const std::size_t count = std::min(kBlockSpans - at, spans.size());
        std::copy_n(spans.begin(), count, blocks_[block]->begin() + static_cast<std::ptrdiff_t>(at));
        spans_ += count;
        spans = spans.subspan(count);
    }
}

void SpanQueue::add(Event event) {
    if (std::holds_alternative<StepRecord>(event)) ++counts_.steps;
    if (std::holds_alternative<FingerprintRecord>(event)) ++counts_.fingerprints;
    events_.push_back({spans_, std::move(event)});
}

void SpanQueue::clear() {
    spans_ = 0;
    counts_ = {};
    events_.clear();
    if (blocks_.size() > kKeptBlocks) blocks_.resize(kKeptBlocks);
}

Status SpanQueue::deliver(SpanSink& sink, const Event& event) {
    struct Visitor {
        SpanSink& sink;
        Status operator()(const ProcessInfo& process) const { return sink.process(process); }
        Status operator()(const DeviceInfo& device) const { return sink.device(device); }
        Status operator()(const TrackInfo& track) const { return sink.track(track); }
        Status operator()(const NamedSite& named) const { return sink.site(named.id, named.site); }
        Status operator()(const StepRecord& step) const { return sink.step(step); }
        Status operator()(const FingerprintRecord& record) const { return sink.fingerprint(record); }
    };
    return std::visit(Visitor{sink}, event);
}

}    // namespace lapwing::trace
