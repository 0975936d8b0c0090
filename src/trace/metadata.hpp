// Lapwing's own message in a trace packet: what viewers ignore and reports need.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "lapwing/sink.hpp"
#include "trace/fields.hpp"

namespace lapwing::trace {

/// The first thing in a file.
struct RecordingInfo {
    std::string magic;
    uint32_t version = 0;
    uint64_t id = 0;      ///< of this recording: its parts share it
    uint64_t run = 0;     ///< of the `lapwing run` that asked for it; 0 = none did
    uint32_t part = 1;    ///< counts the files of this recording
};

/// Says that a packet sequence carries the spans of a track.
struct LaneInfo {
    TrackId track = 0;
    uint32_t number = 1;    ///< 1 = the track itself, 2.. = overflow lanes
};

/// A site and its number.
struct SiteInfo {
    SiteId id = 0;
    Site site;
};

/// The body of the message that the field of that name in fields.hpp (`own`) holds. Defaults are left out.
[[nodiscard]] std::string encode(const RecordingInfo& recording);
[[nodiscard]] std::string encode(const ProcessInfo& process);
[[nodiscard]] std::string encode(const DeviceInfo& device);
[[nodiscard]] std::string encode(const TrackInfo& track);
[[nodiscard]] std::string encode(const LaneInfo& lane);
[[nodiscard]] std::string encode(const SiteInfo& site);
[[nodiscard]] std::string encode(const StepRecord& step);
[[nodiscard]] std::string encode(const RecordingStats& stats);
[[nodiscard]] std::string encode(const SpanRecord& loose);
[[nodiscard]] std::string encode(const FingerprintRecord& record);

/// Reads a body into a default-constructed struct; unknown fields are passed over.
/// Errors:  false where the bytes are malformed or a value does not fit its field.
[[nodiscard]] bool decode(std::string_view body, RecordingInfo& recording);
[[nodiscard]] bool decode(std::string_view body, ProcessInfo& process);
[[nodiscard]] bool decode(std::string_view body, DeviceInfo& device);
[[nodiscard]] bool decode(std::string_view body, TrackInfo& track);
[[nodiscard]] bool decode(std::string_view body, LaneInfo& lane);
[[nodiscard]] bool decode(std::string_view body, SiteInfo& site);
[[nodiscard]] bool decode(std::string_view body, StepRecord& step);
[[nodiscard]] bool decode(std::string_view body, RecordingStats& stats);
[[nodiscard]] bool decode(std::string_view body, SpanRecord& loose);
[[nodiscard]] bool decode(std::string_view body, FingerprintRecord& record);

}    // namespace lapwing::trace
