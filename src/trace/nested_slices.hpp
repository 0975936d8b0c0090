// What makes slices a viewer's thread: in order of begin, each inside or behind the ones before it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace lapwing::trace {

/// The slices of one thread of a viewer so far. Viewers drop, cut or hide those that overlap others in part.
class NestedSlices {
public:
    /// Takes [begin, end] where it keeps the thread sorted and nested; false, and nothing is taken, where it does not.
    /// Shape:   begin <= end. Of slices that begin together the longest comes first.
    bool take(int64_t begin, int64_t end) {
        if (begin < last_begin_) return false;
        // Nothing is popped before it is clear that the slice is taken: an earlier one may still come.
        auto around = open_ends_.size();
        while (around > 0 && open_ends_[around - 1] <= begin) --around;
        if (around > 0 && end > open_ends_[around - 1]) return false;
        if (around >= kMaxDepth) return false;
        open_ends_.resize(around);
        open_ends_.push_back(end);
        last_begin_ = begin;
        return true;
    }

private:
    static constexpr std::size_t kMaxDepth = 512;    // viewers of deeper stacks give up
    int64_t last_begin_ = std::numeric_limits<int64_t>::min();
    std::vector<int64_t> open_ends_;    // of the slices around the last one, outermost first
};

}    // namespace lapwing::trace
