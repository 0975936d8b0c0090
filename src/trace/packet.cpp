#include "trace/packet.hpp"

#include "trace/fields.hpp"
#include "trace/wire_reader.hpp"

namespace lapwing::trace {

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
