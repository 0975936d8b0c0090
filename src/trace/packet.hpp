// The fields of a trace packet that the reader looks at.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace lapwing::trace {

/// One TracePacket, taken apart.
/// Shape:   views point into the bytes it was taken from.
struct Packet {
    uint32_t sequence = 0;
    uint64_t clock = 0;    // 0 = the sequence's default
    uint64_t timestamp = 0;
    bool has_timestamp = false;
    bool zstd = false;    // it holds packets compressed by zstd
    std::optional<std::string_view> event, interned, defaults, snapshot, own, compressed;
};

/// False where the bytes are no well-formed message.
[[nodiscard]] bool take_apart(std::string_view bytes, Packet& packet);

/// The begin or end of a slice in the shape that lanes write nearly all of them in.
struct PlainSlice {
    uint32_t sequence = 0;
    uint32_t name = 0;    // of a begin
    uint32_t timestamp = 0;
    bool begins = false;
};

/// False where the bytes have another shape, well-formed or not: take_apart() tells.
/// Cost:    a few instructions.
[[nodiscard]] bool take_plain(std::string_view bytes, PlainSlice& slice) noexcept;

}    // namespace lapwing::trace
