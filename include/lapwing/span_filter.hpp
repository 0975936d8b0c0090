// A part of a span stream: what matches a name, a kind, a device, a process, a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lapwing/result.hpp"
#include "lapwing/sink.hpp"

namespace lapwing {

/// Which spans pass: those that meet every condition that is set.
struct SpanFilterOptions {
    /// POSIX extended regular expression, found anywhere in the label, op or kernel of the span's site; empty = all.
    std::string match{};
    std::vector<SpanKind> kinds{};    ///< empty = all
    /// Each a DeviceInfo::id in digits, or a part of a device's name. Host spans do not pass where this is set.
    std::vector<std::string> devices{};
    /// Process ids as the stream has them: TrackInfo::process, else ProcessInfo::pid in digits.
    std::vector<std::string> processes{};
    std::optional<int64_t> from_ns{};    ///< spans that begin then or later; in the stream's own clock
    std::optional<int64_t> to_ns{};      ///< spans that begin before
    bool no_warmup = false;              ///< without first uses (Site::warmup)

    /// Whether anything is asked for at all.
    [[nodiscard]] bool any() const noexcept;
};

/// "dispatch,copy" as kinds.
/// Errors:  kInvalidArgument naming the text and the accepted names.
[[nodiscard]] Result<std::vector<SpanKind>> parse_span_kinds(std::string_view text);

/// What a filter has come to.
struct FilterCounts {
    uint64_t kept = 0;
    uint64_t left_out = 0;           ///< all that did not pass
    uint64_t left_out_device = 0;    ///< of these, spans of device queues
};

/// A sink that passes on the spans that meet the options.
/// Shape:   sites are announced to `to` when the first of their spans passes. Steps are held back until flush(), so
/// that
///          StepRecord::dispatches counts those that passed (where spans of the step were left out); with a time range
///          only steps that begin in it are passed on, and the window of the statistics is cut to it. All else goes
///          through.
/// Cost:    cold; a look-up a span. Memory: sites, tracks and steps.
/// Threads: one at a time.
class SpanFilter : public SpanSink {
public:
    [[nodiscard]] virtual FilterCounts counts() const = 0;
    /// Every text of `devices` and `processes` that nothing in the stream answered to, as a sentence that lists what is
    /// there; empty = all were found. Shape:   after the stream.
    [[nodiscard]] virtual std::string unanswered() const = 0;
};

/// Shape:   `to` outlives the filter.
/// Errors:  kInvalidArgument where `match` is no regular expression, or the time range is empty.
[[nodiscard]] Result<std::unique_ptr<SpanFilter>> make_span_filter(SpanSink& to, const SpanFilterOptions& options);

/// Finds the first moment of a stream: of spans, steps and the window of the statistics.
class FirstMoment final : public SpanSink {
public:
    Status process(const ProcessInfo&) override { return {}; }
    Status device(const DeviceInfo&) override { return {}; }
    Status track(const TrackInfo&) override { return {}; }
    Status site(SiteId, const Site&) override { return {}; }
    Status spans(std::span<const SpanRecord> spans) override;
    Status step(const StepRecord& step) override;
    Status stats(const RecordingStats& stats) override;
    Status close() override { return {}; }
    /// Absent where nothing was recorded.
    [[nodiscard]] std::optional<int64_t> ns() const noexcept { return first_ns_; }

private:
    void see(int64_t ns) noexcept {
        if (!first_ns_ || ns < *first_ns_) first_ns_ = ns;
    }
    std::optional<int64_t> first_ns_;
};

}    // namespace lapwing
