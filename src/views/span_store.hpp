// Spans kept for a report, 16 bytes each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <utility>
#include <vector>

#include "lapwing/record.hpp"

namespace lapwing::detail {

/// Index of a site in the builder's own dense table; SiteId is the file's number and may be anything.
using SiteIndex = uint32_t;

/// The spans of one track, in the order they came.
/// Shape:   16 bytes a span: steps change rarely along a track and are kept as runs, durations above 4.29 s are rare
/// and
///          are kept aside.
class TrackSpans {
public:
    /// Shape:   duration_ns >= 0.
    void push(int64_t begin_ns, int64_t duration_ns, SiteIndex site, uint32_t step);

    [[nodiscard]] std::size_t size() const noexcept { return spans_.size(); }

    /// Whether the spans came by ascending begin, as those of one queue do.
    [[nodiscard]] bool ascending() const noexcept { return ascending_; }

    /// Calls `visit(begin_ns, duration_ns, site, step)` for every span in order.
    template <class Visit>
    void for_each(Visit&& visit) const {
        std::size_t index = 0;
        std::size_t run = 0;
        std::size_t next_long = 0;
        for (const Packed& span : spans_) {
            while (run + 1 < runs_.size() && runs_[run + 1].first == index) ++run;
            int64_t duration = span.duration;
            if (span.duration == kLong) duration = long_durations_[next_long++];
            visit(span.begin_ns, duration, span.site, runs_[run].second);
            ++index;
        }
    }

private:
    static constexpr uint32_t kLong = std::numeric_limits<uint32_t>::max();
    struct Packed {
        int64_t begin_ns;
        uint32_t duration;    // kLong: the next of long_durations_
        SiteIndex site;
    };
    std::deque<Packed> spans_;    // a deque, so that growing neither copies nor holds twice the memory
    std::vector<std::pair<std::size_t, uint32_t>> runs_;    // index of the first span, step
    std::vector<int64_t> long_durations_;
    bool ascending_ = true;
};

}    // namespace lapwing::detail
