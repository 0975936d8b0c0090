#include "lapwing/span_tee.hpp"

#include <utility>

namespace lapwing {

SpanTee::SpanTee(std::vector<SpanSink*> sinks) : sinks_(std::move(sinks)) {}

template <class Call>
Status SpanTee::each(Call&& call) {
    Status first;
    for (SpanSink* const sink : sinks_) {
        Status status = call(*sink);
        if (first.ok()) first = std::move(status);
    }
    return first;
}

Status SpanTee::process(const ProcessInfo& process) {
    return each([&](SpanSink& sink) { return sink.process(process); });
}
Status SpanTee::device(const DeviceInfo& device) {
    return each([&](SpanSink& sink) { return sink.device(device); });
}
Status SpanTee::track(const TrackInfo& track) {
    return each([&](SpanSink& sink) { return sink.track(track); });
}
Status SpanTee::site(SiteId id, const Site& site) {
    return each([&](SpanSink& sink) { return sink.site(id, site); });
}
Status SpanTee::spans(std::span<const SpanRecord> spans) {
    return each([&](SpanSink& sink) { return sink.spans(spans); });
}
Status SpanTee::step(const StepRecord& step) {
    return each([&](SpanSink& sink) { return sink.step(step); });
}
Status SpanTee::stats(const RecordingStats& stats) {
    return each([&](SpanSink& sink) { return sink.stats(stats); });
}
Status SpanTee::fingerprint(const FingerprintRecord& record) {
    return each([&](SpanSink& sink) { return sink.fingerprint(record); });
}
Status SpanTee::flush() {
    return each([](SpanSink& sink) { return sink.flush(); });
}
Status SpanTee::close() {
    return each([](SpanSink& sink) { return sink.close(); });
}

}    // namespace lapwing
