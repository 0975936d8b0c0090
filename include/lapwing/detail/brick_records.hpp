// What a thread that times bricks writes, and where: chunks of records that a profiler folds into statistics.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace lapwing::detail {

/// The bits of a profiler's state and of a timer's. 0 is off.
inline constexpr uint8_t kBrickOn = 1;           // bits 1 and 2: the SyncMode
inline constexpr uint8_t kBrickWaits = 8;        // the sync function is called before the end is taken
inline constexpr uint8_t kBrickOnDevice = 16;    // the stamps are a device's
inline constexpr uint8_t kBrickStopped = 32;     // of timers: stopped before
inline constexpr uint8_t kBrickSpecial = kBrickWaits | kBrickOnDevice | kBrickStopped;

/// Flags of a record. Bits 0 and 1: the SyncMode.
inline constexpr uint16_t kRecordMore = 4;            // the next record holds input bytes, output bytes, cycles
inline constexpr uint16_t kRecordUntilSync = 8;       // a host start alone; `begin` in ns of the profiler's epoch
inline constexpr uint16_t kRecordNanoseconds = 16;    // `begin` is CLOCK_MONOTONIC and `ticks` are ns

inline constexpr uint16_t kNoBrick = 0xffff;

/// The innermost open brick of a thread and the layer that it is in, as one word: written and read at once, since a
/// load that is wider than the store before it waits for that.
struct BrickPlace {
    uint32_t word = 0xffff'ffff;    ///< no brick, no layer

    [[nodiscard]] constexpr uint16_t brick() const noexcept { return static_cast<uint16_t>(word); }
    [[nodiscard]] constexpr int16_t layer() const noexcept { return static_cast<int16_t>(word >> 16); }
    [[nodiscard]] constexpr BrickPlace with_brick(uint16_t brick) const noexcept {
        return {(word & 0xffff'0000) | brick};
    }
    [[nodiscard]] constexpr BrickPlace with_layer(int16_t layer) const noexcept {
        return {(word & 0xffff) | uint32_t{static_cast<uint16_t>(layer)} << 16};
    }
    friend constexpr bool operator==(BrickPlace, BrickPlace) = default;
};

/// One finished brick as its thread writes it.
struct BrickRecord {
    uint64_t begin;       // tick; of a second record: input bytes
    uint64_t ticks;       // output bytes
    uint64_t elements;    // cycles
    uint64_t what;        // from the lowest bits: brick, the brick around it, layer, flags; 16 bits each

    /// `around` has the layer.
    [[nodiscard]] static constexpr uint64_t pack(uint16_t brick, BrickPlace around, uint16_t flags) noexcept {
        return uint64_t{brick} | uint64_t{around.word} << 16 | uint64_t{flags} << 48;
    }
    [[nodiscard]] constexpr uint16_t brick() const noexcept { return static_cast<uint16_t>(what); }
    [[nodiscard]] constexpr uint16_t parent() const noexcept { return static_cast<uint16_t>(what >> 16); }
    [[nodiscard]] constexpr int16_t layer() const noexcept { return static_cast<int16_t>(what >> 32); }
    [[nodiscard]] constexpr uint16_t flags() const noexcept { return static_cast<uint16_t>(what >> 48); }
};
static_assert(sizeof(BrickRecord) == 32);

/// 8 KB: what is folded at once, so that it is still in the first cache.
struct BrickChunk {
    static constexpr uint32_t kRecords = 256;
    std::atomic<uint32_t> count{0};    // written by the owner; release, so that a reader sees the records below it
    std::atomic<BrickChunk*> next{nullptr};
    BrickRecord records[kRecords];
};

/// The hot side of one thread in one profiler. Only its thread touches it.
struct BrickThread {
    uint64_t profiler = 0;    // serial, never used twice: a dead profiler's is nobody's
    BrickChunk* open = nullptr;
    BrickPlace place;
};

/// Where threads point that have not timed a brick yet: no profiler's, so that null needs no test.
extern constinit BrickThread g_no_brick_thread;

/// The thread's BrickThread of the profiler that it used last. One word: see span.hpp on initial-exec.
[[gnu::tls_model("initial-exec")]] extern thread_local constinit BrickThread* t_brick_thread;

}    // namespace lapwing::detail
