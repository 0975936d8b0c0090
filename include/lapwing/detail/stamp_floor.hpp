// What empty pairs of stamps read: the floor below which a span's time is the stamps' own.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

namespace lapwing::detail {

/// The median of the first pairs.
/// Threads: one at a time.
class StampFloor {
public:
    static constexpr uint32_t kMaxPairs = 16;

    /// A pair with nothing between its stamps. Units: ns, >= 0. Pairs beyond kMaxPairs are ignored.
    void add(int64_t pair_ns) noexcept {
        if (count_ < kMaxPairs) pairs_[count_++] = pair_ns;
    }
    [[nodiscard]] uint32_t pairs() const noexcept { return count_; }
    /// The lower median; nothing before the first pair.
    [[nodiscard]] std::optional<int64_t> median_ns() const noexcept {
        if (count_ == 0) return std::nullopt;
        std::array<int64_t, kMaxPairs> sorted = pairs_;
        const auto middle = sorted.begin() + (count_ - 1) / 2;
        std::nth_element(sorted.begin(), middle, sorted.begin() + count_);
        return *middle;
    }

private:
    std::array<int64_t, kMaxPairs> pairs_{};
    uint32_t count_ = 0;
};

}    // namespace lapwing::detail
