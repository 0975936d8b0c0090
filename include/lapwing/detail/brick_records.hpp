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

/// One finished brick as its thread writes it.
struct BrickRecord {
    uint64_t begin;       // tick; of a second record: input bytes
    uint64_t ticks;       // output bytes
    uint64_t elements;    // cycles
    uint16_t brick;
    uint16_t parent;    // the brick around it; kNoBrick = none
    int16_t layer;
    uint16_t flags;
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
    uint16_t current = kNoBrick;    // innermost open brick
    int16_t layer = -1;
};

/// Where threads point that have not timed a brick yet: no profiler's, so that null needs no test.
extern constinit BrickThread g_no_brick_thread;

/// The thread's BrickThread of the profiler that it used last. One word: see span.hpp on initial-exec.
[[gnu::tls_model("initial-exec")]] extern thread_local constinit BrickThread* t_brick_thread;

}    // namespace lapwing::detail
