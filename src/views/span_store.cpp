#include "views/span_store.hpp"

namespace lapwing::detail {

void TrackSpans::push(int64_t begin_ns, int64_t duration_ns, SiteIndex site, uint32_t step) {
    if (runs_.empty() || runs_.back().second != step) runs_.emplace_back(spans_.size(), step);
    if (!spans_.empty() && begin_ns < spans_.back().begin_ns) ascending_ = false;
    uint32_t packed = kLong;
    if (duration_ns < int64_t{kLong}) {
        packed = static_cast<uint32_t>(duration_ns);
    } else {
        long_durations_.push_back(duration_ns);
    }
    spans_.push_back(Packed{begin_ns, packed, site});
}

}    // namespace lapwing::detail
