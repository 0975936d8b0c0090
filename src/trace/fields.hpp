// Field numbers of the trace packets we write and read: Perfetto's public ones and Lapwing's own message.
// `lapwing_trace.proto` beside this file describes the same, with the meaning of each.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lapwing::trace {

enum class Wire : uint32_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

/// The tag that precedes a field on the wire.
constexpr uint32_t tag(uint32_t field, Wire wire) noexcept {
    return field << 3 | static_cast<uint32_t>(wire);
}

constexpr uint32_t varint_tag(uint32_t field) noexcept {
    return tag(field, Wire::kVarint);
}
constexpr uint32_t bytes_tag(uint32_t field) noexcept {
    return tag(field, Wire::kBytes);
}

/// Perfetto's `Trace.packet`: the only field at the top of a file.
inline constexpr uint8_t kPacketTag = 0x0a;

namespace packet {
inline constexpr uint32_t kClockSnapshot = 6;
inline constexpr uint32_t kTimestamp = 8;
inline constexpr uint32_t kSequenceId = 10;
inline constexpr uint32_t kTrackEvent = 11;
inline constexpr uint32_t kInternedData = 12;
inline constexpr uint32_t kSequenceFlags = 13;
inline constexpr uint32_t kCompressedPackets = 50;
inline constexpr uint32_t kTimestampClockId = 58;
inline constexpr uint32_t kDefaults = 59;
inline constexpr uint32_t kTrackDescriptor = 60;
inline constexpr uint32_t kFirstOnSequence = 87;
inline constexpr uint32_t kZstdCompressedPackets = 133;
/// Lapwing's own message. Perfetto keeps 1000 to 1999 for registered extensions and its importer ignores what is
/// beyond.
inline constexpr uint32_t kLapwing = 2000;
}    // namespace packet

namespace event {
inline constexpr uint32_t kType = 9;
inline constexpr uint32_t kNameIid = 10;
inline constexpr uint32_t kTrackUuid = 11;
inline constexpr uint32_t kName = 23;
inline constexpr uint64_t kSliceBegin = 1;
inline constexpr uint64_t kSliceEnd = 2;
}    // namespace event

/// Clock ids of Perfetto: CLOCK_MONOTONIC, and the first id that is private to a sequence.
inline constexpr uint64_t kMonotonicClock = 3;
inline constexpr uint64_t kSequenceClock = 64;
inline constexpr uint64_t kIncrementalStateCleared = 1;

/// Fields of Lapwing's own message; each holds one message, `kStepMark` excepted.
namespace own {
inline constexpr uint32_t kRecording = 1;
inline constexpr uint32_t kProcess = 2;
inline constexpr uint32_t kDevice = 3;
inline constexpr uint32_t kTrack = 4;
inline constexpr uint32_t kLane = 5;
inline constexpr uint32_t kSite = 6;
inline constexpr uint32_t kStepMark = 7;
inline constexpr uint32_t kStep = 8;
inline constexpr uint32_t kStats = 9;
inline constexpr uint32_t kLooseSpan = 10;
inline constexpr uint32_t kFingerprint = 11;
}    // namespace own

/// `Recording.version`: raised when an older reader would misread a newer file.
inline constexpr uint32_t kFormatVersion = 1;
/// `Recording.magic`: the first string in every recording.
inline constexpr char kMagic[] = "lapwing";

/// Site numbers and nesting depths beyond these are refused by the reader and never written as slices.
inline constexpr std::size_t kMaxNesting = 256;

}    // namespace lapwing::trace
