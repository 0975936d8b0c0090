#include "trace/packet.hpp"

#include <bit>
#include <cstring>

#include "trace/fields.hpp"
#include "trace/wire_reader.hpp"

namespace lapwing::trace {

namespace {
static_assert(std::endian::native == std::endian::little, "packets are read in words, low byte first");

// See lane.cpp: 50 SS 5a 04 48 01 50 NN  40 TT TT TT  and  50 SS 5a 02 48 02 40  TT TT TT.
constexpr std::size_t kBeginBytes = 12;
constexpr std::size_t kEndBytes = 10;
constexpr uint64_t kBegin = 0x0050'0148'045a'0050;
constexpr uint64_t kBeginMask = 0x80ff'ffff'ffff'80ff;    // SS and NN are of one byte
constexpr uint64_t kEnd = 0x0040'0248'025a'0050;
constexpr uint64_t kEndMask = 0x00ff'ffff'ffff'80ff;

// A varint of exactly three bytes.
bool three_bytes(uint32_t bytes, uint32_t& value) noexcept {
    if ((bytes & 0x80'8080) != 0x00'8080) return false;
    value = (bytes & 0x7f) | (bytes & 0x7f00) >> 1 | (bytes & 0x7f'0000) >> 2;
    return true;
}
}    // namespace

bool take_plain(std::string_view bytes, PlainSlice& slice) noexcept {
    if (bytes.size() != kBeginBytes && bytes.size() != kEndBytes) return false;
    uint64_t head = 0;
    uint32_t tail = 0;
    std::memcpy(&head, bytes.data(), sizeof head);
    std::memcpy(&tail, bytes.data() + bytes.size() - sizeof tail, sizeof tail);    // 40 TT TT TT
    slice.begins = bytes.size() == kBeginBytes;
    const bool shaped =
        slice.begins ? (head & kBeginMask) == kBegin && (tail & 0xff) == 0x40 : (head & kEndMask) == kEnd;
    if (!shaped || !three_bytes(tail >> 8, slice.timestamp)) return false;
    slice.sequence = static_cast<uint32_t>(head >> 8 & 0x7f);
    slice.name = static_cast<uint32_t>(head >> 56);
    return true;
}

bool take_apart(std::string_view bytes, Packet& packet) {
    MessageReader in(bytes);
    while (in.next()) {
        switch (in.tag_value()) {
            case varint_tag(packet::kTimestamp):
                packet.timestamp = in.varint();
                packet.has_timestamp = true;
                break;
            case varint_tag(packet::kSequenceId):
                packet.sequence = static_cast<uint32_t>(in.varint());
                break;
            case bytes_tag(packet::kTrackEvent):
                packet.event = in.bytes();
                break;
            case varint_tag(packet::kTimestampClockId):
                packet.clock = in.varint();
                break;
            case bytes_tag(packet::kInternedData):
                packet.interned = in.bytes();
                break;
            case bytes_tag(packet::kDefaults):
                packet.defaults = in.bytes();
                break;
            case bytes_tag(packet::kClockSnapshot):
                packet.snapshot = in.bytes();
                break;
            case bytes_tag(packet::kLapwing):
                packet.own = in.bytes();
                break;
            case bytes_tag(packet::kCompressedPackets):
                packet.compressed = in.bytes();
                break;
            case bytes_tag(packet::kZstdCompressedPackets):
                packet.zstd = true;
                in.skip();
                break;
            default:
                in.skip();
        }
    }
    return in.ok();
}

}    // namespace lapwing::trace
