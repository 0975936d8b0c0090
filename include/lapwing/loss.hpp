// Why a span that was begun has no valid time. Losses are data: they are counted by reason and printed everywhere.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace lapwing {

/// Why a span that was begun has no valid time.
enum class LossReason : uint8_t {
    kRingFull = 0,        ///< every slot was in flight; the newest span is the one dropped
    kCapture,             ///< the stream was being captured into a graph
    kAbandoned,           ///< its end never came: token lost, buffer never submitted, level lowered, deadline passed
    kZeroStamp,           ///< the driver delivered zero: missing, never a span at the epoch
    kReversed,            ///< end before begin
    kStale,               ///< a token or result of an earlier generation
    kImplausible,         ///< longer than the window it must lie in, or on another clock
    kDeviceLost,          ///< the device was lost or reset before the result came
    kUnsupported,         ///< this queue has no usable timestamps
    kUnreliableDriver,    ///< a driver known to report wrong times for this kind of work
    kOverwritten,         ///< the result was overwritten by a later submission before it could be read
    kDriverError,         ///< the driver refused the stamp or its result
    kUnwritten,           ///< it was measured, and the recording could not be written any more (a full disk)
};
inline constexpr std::size_t kLossReasonCount = 13;

/// The reason's name in reports and files ("ring_full", ...). Static string.
[[nodiscard]] const char* to_text(LossReason reason) noexcept;

/// A plain copy of loss counts, indexed by LossReason.
struct LossCounts {
    std::array<uint64_t, kLossReasonCount> by_reason{};

    [[nodiscard]] uint64_t& operator[](LossReason reason) noexcept {
        return by_reason[static_cast<std::size_t>(reason)];
    }
    [[nodiscard]] uint64_t operator[](LossReason reason) const noexcept {
        return by_reason[static_cast<std::size_t>(reason)];
    }
    [[nodiscard]] uint64_t total() const noexcept {
        uint64_t sum = 0;
        for (const uint64_t count : by_reason) sum += count;
        return sum;
    }
    LossCounts& operator+=(const LossCounts& other) noexcept {
        for (std::size_t i = 0; i < kLossReasonCount; ++i) by_reason[i] += other.by_reason[i];
        return *this;
    }
};

/// Loss counters that any thread may raise and read.
/// Cost:    hot: one relaxed add.
class LossCounters {
public:
    void add(LossReason reason, uint64_t count = 1) noexcept {
        counts_[static_cast<std::size_t>(reason)].fetch_add(count, std::memory_order_relaxed);
    }
    [[nodiscard]] LossCounts snapshot() const noexcept {
        LossCounts out;
        for (std::size_t i = 0; i < kLossReasonCount; ++i)
            out.by_reason[i] = counts_[i].load(std::memory_order_relaxed);
        return out;
    }

private:
    std::array<std::atomic<uint64_t>, kLossReasonCount> counts_{};
};

}    // namespace lapwing
