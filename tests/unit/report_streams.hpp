// Span streams with known content, for the tests of reports.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lapwing/report.hpp"
#include "lapwing/sink.hpp"

namespace lapwing::testing {

/// Feeds a sink with little typing: tracks and sites are numbered as they come.
class StreamWriter {
public:
    explicit StreamWriter(SpanSink& sink) : sink_(sink) {}

    void process(const std::string& command, const std::string& level = "kernel", uint32_t every = 1);
    void device(uint32_t id, const std::string& name, double resolution_ns = 1, uint32_t valid_bits = 64);
    TrackId queue(uint32_t device, const std::string& name);
    TrackId thread(const std::string& name);
    SiteId site(const Site& site);
    void span(TrackId track, SiteId site, int64_t begin_ns, int64_t duration_ns, uint32_t step = kNoStep);
    void step(uint32_t index, int64_t begin_ns, int64_t end_ns, uint64_t dispatches, bool armed = true);
    void stats(const RecordingStats& stats);

private:
    SpanSink& sink_;
    TrackId last_track_ = 0;
    SiteId last_site_ = 0;
};

/// A device site: op, kernel, kind; the rest as Site has it.
[[nodiscard]] Site make_site(const std::string& op, const std::string& kernel = "",
                             SpanKind kind = SpanKind::kDispatch);

/// What decoding 32 tokens with a small dense model through ggml's Vulkan backend looks like: a step of warm-up whose
/// first uses carry compilation, then 32 steps of 15 dispatches a layer and 5 more, with copies, and a host thread of
/// submits and waits. The same figures on every machine.
void feed_decode(SpanSink& sink, uint32_t layers = 2, uint32_t steps = 33);

/// Builds the report of what `feed` writes.
template <class Feed>
[[nodiscard]] Report report_of(Feed&& feed, std::optional<GroupBy> by = std::nullopt) {
    const std::unique_ptr<ReportBuilder> builder = make_report_builder();
    feed(*builder);
    return builder->build(by);
}

}    // namespace lapwing::testing
