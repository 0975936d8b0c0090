// One stream of spans for several consumers: a recording and the views that the process itself shows.
#pragma once

#include <span>
#include <vector>

#include "lapwing/sink.hpp"

namespace lapwing {

/// Passes every call on to each of its sinks, in their order.
/// Shape:   the sinks outlive the tee. close() closes them all.
/// Errors:  a sink that failed does not keep the stream from the others; each call returns the first error of its own
///          sinks, in their order.
/// Threads: one at a time.
class SpanTee final : public SpanSink {
public:
    explicit SpanTee(std::vector<SpanSink*> sinks);

    Status process(const ProcessInfo& process) override;
    Status device(const DeviceInfo& device) override;
    Status track(const TrackInfo& track) override;
    Status site(SiteId id, const Site& site) override;
    Status spans(std::span<const SpanRecord> spans) override;
    Status step(const StepRecord& step) override;
    Status stats(const RecordingStats& stats) override;
    Status fingerprint(const FingerprintRecord& record) override;
    Status flush() override;
    Status close() override;

private:
    template <class Call>
    Status each(Call&& call);
    std::vector<SpanSink*> sinks_;
};

}    // namespace lapwing
