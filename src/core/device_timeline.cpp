#include "lapwing/detail/device_timeline.hpp"

#include <algorithm>

#include "core/wide.hpp"

namespace lapwing::detail {

namespace {
// How much longer than the host's own window a span may seem: clocks differ by some 100 ppm, and periods are rounded.
constexpr int64_t kWindowSlackNs = 1'000'000;
constexpr int kWindowSlackShift = 10;
}    // namespace

DeviceTimeline::DeviceTimeline(TickScale scale, uint32_t valid_bits, HostNs created, int64_t max_span_ns) noexcept
    : scale_(scale),
      valid_bits_(valid_bits),
      mask_(tick_mask(valid_bits)),
      unwrapper_(valid_bits),
      alignment_(scale),
      created_(created),
      now_(created),
      last_batch_(created),
      max_span_ns_(max_span_ns) {}

void DeviceTimeline::start_batch(HostNs now) noexcept {
    now_ = now;
    batch_hinted_ = false;
    const int64_t lived = std::max<int64_t>(saturating_subtract(now.value, created_.value), 0);
    int64_t bound_ns = saturating_add(saturating_add(lived, lived >> kWindowSlackShift), kWindowSlackNs);
    if (max_span_ns_ > 0) bound_ns = std::min(bound_ns, max_span_ns_);
    bound_ticks_ = std::min(std::max<uint64_t>(scale_.to_ticks(bound_ns), 1), mask_ / 2 + 1);
}

uint64_t DeviceTimeline::unwrap_first(Ticks end) noexcept {
    batch_hinted_ = true;
    bool ambiguous = false;
    const int64_t elapsed = has_batch_ ? saturating_subtract(now_.value, last_batch_.value) : 0;
    const uint64_t unwrapped = unwrapper_.unwrap(end, elapsed, scale_, &ambiguous);
    if (ambiguous) ambiguous_wraps_.add();
    last_batch_ = now_;
    has_batch_ = true;
    return unwrapped;
}

DeviceTimeline::Placed DeviceTimeline::judge_slowly(Ticks begin, Ticks end, const uint64_t* watermark) noexcept {
    Placed out;
    const SpanTime time = judge_span(begin, end, valid_bits_, bound_ticks_);
    const bool usable = !time.lost || *time.lost != LossReason::kZeroStamp;
    if (usable && watermark != nullptr) {
        // On a copy: a stamp that is refused must not move the unwrapper.
        TickUnwrapper probe = unwrapper_;
        const int64_t elapsed = batch_hinted_ ? 0 : saturating_subtract(now_.value, last_batch_.value);
        const uint64_t last = probe.unwrap(end, elapsed, scale_, nullptr);
        const uint64_t first = probe.unwrap(begin);
        if (static_cast<int64_t>(first - *watermark) < 0 || static_cast<int64_t>(last - *watermark) < 0) {
            out.lost = LossReason::kStale;
            return out;
        }
    }
    if (time.lost) {
        out.lost = *time.lost;
        return out;
    }
    out.valid = true;
    out.end = batch_hinted_ ? unwrapper_.unwrap(end) : unwrap_first(end);
    out.begin = out.end - time.duration_ticks;
    return out;
}

void DeviceTimeline::place(std::span<SpanRecord> records) noexcept {
    if (records.empty()) return;
    if (!alignment_.aligned()) {
        // All that is known yet: the first span began after the ring was made.
        Placed first;
        first.begin = static_cast<uint64_t>(records[0].begin_ns);
        first.end = static_cast<uint64_t>(records[0].duration_ns);
        bracket(first, created_);
    }
    uint64_t newest = static_cast<uint64_t>(records[0].duration_ns);
    const ClockAlignment::Line line = alignment_.line();
    const auto drift = [&line](int64_t ns) {
        return line.rate == 0 ? 0 : static_cast<int64_t>(static_cast<double>(ns) * line.rate);
    };
    for (SpanRecord& record : records) {
        const auto first = static_cast<uint64_t>(record.begin_ns);
        const auto last = static_cast<uint64_t>(record.duration_ns);
        if (static_cast<int64_t>(last - newest) > 0) newest = last;
        if (static_cast<int64_t>(first - line.from) < 0) [[unlikely]] {    // begun before the newest anchor
            record.begin_ns = alignment_.to_host(first).value;
            record.duration_ns = alignment_.to_host(last).value - record.begin_ns;
            continue;
        }
        int64_t begin = static_cast<int64_t>(first - line.device);
        int64_t end = static_cast<int64_t>(last - line.device);
        if (!scale_.is_identity()) {
            begin = scale_.to_signed_ns(begin);
            end = scale_.to_signed_ns(end);
        }
        begin += drift(begin);
        end += drift(end);
        record.begin_ns = saturating_add(line.host.value, begin);
        record.duration_ns = end - begin;
    }
    alignment_.placed(newest);
}

void DeviceTimeline::bracket(const Placed& placed, HostNs before) noexcept {
    alignment_.bracket(placed.begin, placed.end, before, now_);
}

void DeviceTimeline::anchor(const ClockAnchor& anchor, HostNs now) noexcept {
    // On a copy, once there are stamps: a pair whose device half is of another clock must not move the unwrapper.
    const int64_t elapsed = has_batch_ ? saturating_subtract(now.value, last_batch_.value) : 0;
    TickUnwrapper probe = unwrapper_;
    const uint64_t device = probe.unwrap(anchor.device, elapsed, scale_, nullptr);
    if (!has_batch_) {
        unwrapper_ = probe;
        last_batch_ = now;
        has_batch_ = true;
    }
    alignment_.anchor(device, anchor.host, anchor.uncertainty_ns);
}

}    // namespace lapwing::detail
