// A set of site numbers.
#pragma once

#include <cstddef>
#include <unordered_set>
#include <vector>

#include "lapwing/record.hpp"

namespace lapwing::trace {

/// Sites of true recordings are numbered from 1 on and take a bit each; what a damaged file may hold beyond is hashed,
/// so that a number of 4 billion takes no memory.
class SiteSet {
public:
    [[nodiscard]] bool contains(SiteId id) const noexcept {
        return id < kDense ? id < dense_.size() && dense_[id] : beyond_.contains(id);
    }
    /// True where it was not in the set before.
    bool insert(SiteId id) {
        if (id >= kDense) return beyond_.insert(id).second;
        if (id >= dense_.size()) dense_.resize(id + std::size_t{1});
        const bool fresh = !dense_[id];
        dense_[id] = true;
        return fresh;
    }
    void erase(SiteId id) {
        if (id < dense_.size()) dense_[id] = false;
        beyond_.erase(id);
    }
    void clear() noexcept {
        dense_.clear();
        beyond_.clear();
    }

private:
    static constexpr SiteId kDense = 1u << 20;
    std::vector<bool> dense_;
    std::unordered_set<SiteId> beyond_;
};

}    // namespace lapwing::trace
