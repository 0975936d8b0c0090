// What producers hand to the recorder's thread: spans in fixed blocks, and everything else in order between them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <variant>
#include <vector>

#include "lapwing/sink.hpp"

namespace lapwing::trace {

/// A batch of the stream, in the order in which it was handed over.
/// Shape:   spans lie in blocks of fixed size, so that taking one more never copies those before it.
/// Threads: one at a time.
class SpanQueue {
public:
    struct NamedSite {
        SiteId id = 0;
        Site site;
    };
    using Event = std::variant<ProcessInfo, DeviceInfo, TrackInfo, NamedSite, StepRecord, FingerprintRecord>;
    /// Of what comes without end beside the spans.
    struct Counts {
        std::size_t steps = 0;
        std::size_t fingerprints = 0;
    };

    void add(std::span<const SpanRecord> spans);
    void add(Event event);

    [[nodiscard]] std::size_t spans() const noexcept { return spans_; }
    [[nodiscard]] Counts counts() const noexcept { return counts_; }
    [[nodiscard]] bool empty() const noexcept { return spans_ == 0 && events_.empty(); }

    /// Feeds a sink and forgets what it fed. Stops at the sink's first error, or when `stop()` says so (asked between
    /// blocks).
    /// Shape:   returns the sink's error, if any; `fed` grows by the spans that the sink took.
    template <class Stop>
    Status feed(SpanSink& sink, std::size_t& fed, Stop&& stop);

    /// Empties the queue and keeps a few blocks for the next batch.
    void clear();

private:
    static constexpr std::size_t kBlockSpans = 1024;    // 32 KiB: small enough for malloc to recycle
    static constexpr std::size_t kKeptBlocks = 64;
    using Block = std::array<SpanRecord, kBlockSpans>;
    struct Placed {
        std::size_t spans_before;
        Event event;
    };

    static Status deliver(SpanSink& sink, const Event& event);

    std::vector<std::unique_ptr<Block>> blocks_;    // those in use first
    std::size_t spans_ = 0;
    Counts counts_;
    std::vector<Placed> events_;
};

template <class Stop>
Status SpanQueue::feed(SpanSink& sink, std::size_t& fed, Stop&& stop) {
    std::size_t at = 0;
    auto event = events_.begin();
    for (;;) {
        while (event != events_.end() && event->spans_before == at) {
            if (Status status = deliver(sink, event->event); !status.ok()) return status;
            ++event;
        }
        if (at == spans_ || stop()) return {};
        const std::size_t in_block = at % kBlockSpans;
        std::size_t count = std::min(kBlockSpans - in_block, spans_ - at);
        if (event != events_.end()) count = std::min(count, event->spans_before - at);
        const std::span<const SpanRecord> spans(blocks_[at / kBlockSpans]->data() + in_block, count);
        if (Status status = sink.spans(spans); !status.ok()) return status;
        at += count;
        fed += count;
    }
}

}    // namespace lapwing::trace
