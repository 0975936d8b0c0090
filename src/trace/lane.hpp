// One packet sequence of slices: the spans of a track that do not overlap, encoded into a buffer.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "lapwing/record.hpp"

namespace lapwing::trace {

/// A slice's begin or end is at most this many bytes, so a buffer with this much room takes the next packet.
inline constexpr std::size_t kMaxSlicePacket = 64;

/// Packets that wait to be written. Bytes are appended through `cursor`; the owner keeps it below `limit`.
class PacketBuffer {
public:
    explicit PacketBuffer(std::size_t capacity);

    [[nodiscard]] std::size_t room() const noexcept { return static_cast<std::size_t>(limit_ - cursor); }
    [[nodiscard]] std::size_t capacity() const noexcept { return static_cast<std::size_t>(limit_ - bytes_.get()); }
    [[nodiscard]] std::span<const uint8_t> content() const noexcept { return {bytes_.get(), cursor}; }
    void clear() noexcept { cursor = bytes_.get(); }
    /// Shape:   only while empty.
    void regrow(std::size_t capacity);
    /// Shape:   `bytes.size() <= room()`.
    void append(std::string_view bytes) noexcept;

private:
    std::unique_ptr<uint8_t[]> bytes_;
    uint8_t* limit_;

public:
    uint8_t* cursor;
};

/// A lane: spans in time order, each a begin and an end packet whose timestamps are deltas to the packet before.
/// Units:   ns of CLOCK_MONOTONIC.
/// Threads: one at a time.
class Lane {
public:
    /// `first_ns` is where the lane's incremental clock starts: the begin of its first span.
    Lane(uint32_t sequence, uint64_t track_uuid, int64_t first_ns, std::size_t buffer_bytes);

    /// Writes spans as long as they come in order, from known sites, within one step and while there is room.
    /// Cost:    about 5 ns and 26 bytes a span.
    /// Shape:   returns how many were written; the next one, if any, needs what the writer does for it first.
    [[nodiscard]] std::size_t write_plain(std::span<const SpanRecord> spans) noexcept;

    /// A slice's begin or end at `at_ns` >= last_ns(). Shape: room for kMaxSlicePacket.
    void write_begin(int64_t at_ns, SiteId site) noexcept;
    void write_end(int64_t at_ns) noexcept;
    /// A whole slice that ends before first_ns(), with absolute timestamps. Shape: room for twice kMaxSlicePacket.
    void write_late(const SpanRecord& span) noexcept;

    [[nodiscard]] bool knows(SiteId site) const noexcept;
    void learn(SiteId site);

    [[nodiscard]] uint32_t sequence() const noexcept { return sequence_; }
    [[nodiscard]] uint64_t track_uuid() const noexcept { return track_uuid_; }
    [[nodiscard]] int64_t first_ns() const noexcept { return first_ns_; }
    [[nodiscard]] int64_t last_ns() const noexcept { return last_ns_; }
    [[nodiscard]] uint32_t step() const noexcept { return step_; }
    void set_step(uint32_t step) noexcept { step_ = step; }

    PacketBuffer buffer;
    std::vector<int64_t> open_ends;    // host spans begun and not ended yet, innermost last

private:
    static constexpr SiteId kPlainSites = 1 << 14;    // sites whose number takes at most two bytes

    void write_slice(uint64_t type, SiteId site, uint64_t timestamp, bool absolute) noexcept;

    uint32_t sequence_;
    uint32_t step_ = kNoStep;
    uint64_t track_uuid_;
    int64_t first_ns_;
    int64_t last_ns_;
    std::array<uint64_t, kPlainSites / 64> known_{};
    std::unordered_set<SiteId> known_beyond_;
};

}    // namespace lapwing::trace
