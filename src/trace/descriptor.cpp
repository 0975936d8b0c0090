#include "trace/descriptor.hpp"

#include <charconv>
#include <limits>

#include "trace/fields.hpp"
#include "trace/utf8.hpp"
#include "trace/wire_writer.hpp"

namespace lapwing::trace {

namespace {

// Fields of Perfetto's messages that are used in one place each, under their public names.
namespace snapshot {
constexpr uint32_t kClocks = 1, kPrimaryTraceClock = 2;
constexpr uint32_t kClockId = 1, kClockTimestamp = 2, kClockIsIncremental = 3;
}    // namespace snapshot
namespace descriptor {
constexpr uint32_t kUuid = 1, kName = 2, kProcess = 3, kThread = 4, kParentUuid = 5;
constexpr uint32_t kProcessPid = 1, kProcessName = 6;
constexpr uint32_t kThreadPid = 1, kThreadTid = 2, kThreadName = 5;
}    // namespace descriptor
namespace defaults {
constexpr uint32_t kTrackEventDefaults = 11, kTrackUuid = 11;
}    // namespace defaults
namespace interned {
constexpr uint32_t kEventNames = 2, kIid = 1, kName = 2;
}    // namespace interned

std::string wrap(const MessageWriter& body) {
    MessageWriter out;
    out.bytes(1, body.str());
    return out.str();
}

MessageWriter clock(uint64_t id, int64_t at_ns, bool incremental) {
    MessageWriter out;
    out.varint(snapshot::kClockId, id).varint(snapshot::kClockTimestamp, static_cast<uint64_t>(at_ns));
    if (incremental) out.varint(snapshot::kClockIsIncremental, 1);
    return out;
}

std::string descriptor_packet(const MessageWriter& body) {
    MessageWriter out;
    out.varint(packet::kSequenceId, kMetaSequence).bytes(packet::kTrackDescriptor, body.str());
    return wrap(out);
}

}    // namespace

std::string own_packet(uint32_t sequence, uint32_t own_field, std::string_view body) {
    MessageWriter own;
    own.bytes(own_field, body);
    // Own data first, so that a recording is known by its first bytes.
    MessageWriter out;
    out.bytes(packet::kLapwing, own.str()).varint(packet::kSequenceId, sequence);
    return wrap(out);
}

std::string step_mark_packet(uint32_t sequence, uint32_t step) {
    MessageWriter own;
    own.varint(own::kStepMark, step);
    MessageWriter out;
    out.bytes(packet::kLapwing, own.str()).varint(packet::kSequenceId, sequence);
    return wrap(out);
}

std::string meta_head_packet(int64_t now_ns) {
    MessageWriter clocks;
    clocks.bytes(snapshot::kClocks, clock(kMonotonicClock, now_ns, false).str())
        .varint(snapshot::kPrimaryTraceClock, kMonotonicClock);
    MessageWriter packet_defaults;
    packet_defaults.varint(packet::kTimestampClockId, kMonotonicClock);
    MessageWriter out;
    out.varint(packet::kSequenceId, kMetaSequence)
        .varint(packet::kSequenceFlags, kIncrementalStateCleared)
        .bytes(packet::kDefaults, packet_defaults.str())
        .varint(packet::kFirstOnSequence, 1)
        .bytes(packet::kClockSnapshot, clocks.str());
    return wrap(out);
}

std::string lane_head_packet(uint32_t sequence, uint64_t uuid, int64_t first_ns) {
    MessageWriter event_defaults;
    event_defaults.varint(defaults::kTrackUuid, uuid);
    MessageWriter packet_defaults;
    packet_defaults.varint(packet::kTimestampClockId, kSequenceClock)
        .bytes(defaults::kTrackEventDefaults, event_defaults.str());
    MessageWriter clocks;
    clocks.bytes(snapshot::kClocks, clock(kMonotonicClock, first_ns, false).str())
        .bytes(snapshot::kClocks, clock(kSequenceClock, first_ns, true).str())
        .varint(snapshot::kPrimaryTraceClock, kMonotonicClock);
    MessageWriter out;
    out.varint(packet::kSequenceId, sequence)
        .varint(packet::kSequenceFlags, kIncrementalStateCleared)
        .bytes(packet::kDefaults, packet_defaults.str())
        .varint(packet::kFirstOnSequence, 1)
        .bytes(packet::kClockSnapshot, clocks.str());
    return wrap(out);
}

std::string name_packet(uint32_t sequence, uint32_t iid, std::string_view name) {
    MessageWriter entry;
    entry.varint(interned::kIid, iid).bytes(interned::kName, to_valid_utf8(name));
    MessageWriter names;
    names.bytes(interned::kEventNames, entry.str());
    MessageWriter out;
    out.varint(packet::kSequenceId, sequence).bytes(packet::kInternedData, names.str());
    return wrap(out);
}

std::string process_packet(uint64_t uuid, int32_t pid, std::string_view name) {
    MessageWriter process;
    process.varint(descriptor::kProcessPid, static_cast<uint64_t>(pid))
        .bytes(descriptor::kProcessName, to_valid_utf8(name));
    MessageWriter body;
    body.varint(descriptor::kUuid, uuid).bytes(descriptor::kProcess, process.str());
    return descriptor_packet(body);
}

std::string track_packet(uint64_t uuid, uint64_t parent, std::string_view name) {
    MessageWriter body;
    body.varint(descriptor::kUuid, uuid).bytes(descriptor::kName, to_valid_utf8(name));
    if (parent != 0) body.varint(descriptor::kParentUuid, parent);
    return descriptor_packet(body);
}

std::string thread_packet(uint64_t uuid, int32_t pid, int32_t tid, std::string_view name) {
    const std::string text = to_valid_utf8(name);
    MessageWriter thread;
    thread.varint(descriptor::kThreadPid, static_cast<uint64_t>(pid))
        .varint(descriptor::kThreadTid, static_cast<uint64_t>(tid))
        .bytes(descriptor::kThreadName, text);
    MessageWriter body;
    body.varint(descriptor::kUuid, uuid).bytes(descriptor::kName, text).bytes(descriptor::kThread, thread.str());
    return descriptor_packet(body);
}

std::string step_slice_packets(uint64_t track_uuid, const StepRecord& step) {
    MessageWriter begin;
    begin.varint(event::kType, event::kSliceBegin)
        .varint(event::kTrackUuid, track_uuid)
        .bytes(event::kName, "step " + std::to_string(step.index));
    MessageWriter begin_packet;
    begin_packet.varint(packet::kTimestamp, static_cast<uint64_t>(step.begin_ns))
        .varint(packet::kSequenceId, kMetaSequence)
        .bytes(packet::kTrackEvent, begin.str());
    MessageWriter end;
    end.varint(event::kType, event::kSliceEnd).varint(event::kTrackUuid, track_uuid);
    MessageWriter end_packet;
    end_packet.varint(packet::kTimestamp, static_cast<uint64_t>(step.end_ns))
        .varint(packet::kSequenceId, kMetaSequence)
        .bytes(packet::kTrackEvent, end.str());
    return wrap(begin_packet) + wrap(end_packet);
}

std::string_view display_name(const Site& site) {
    if (!site.label.empty()) return site.label;
    if (!site.op.empty()) return site.op;
    if (!site.kernel.empty()) return site.kernel;
    return to_text(site.kind);
}

int32_t thread_id_in(std::string_view track_name) {
    static constexpr std::string_view kPrefix = "thread ";
    if (!track_name.starts_with(kPrefix)) return 0;
    const char* const begin = track_name.data() + kPrefix.size();
    const char* const end = track_name.data() + track_name.size();
    int32_t id = 0;
    const auto [stop, error] = std::from_chars(begin, end, id);
    return error == std::errc() && stop == end && id > 0 ? id : 0;
}

int32_t viewer_pid(int64_t id) {
    return id > 0 && id <= std::numeric_limits<int32_t>::max() ? static_cast<int32_t>(id) : 1;
}

}    // namespace lapwing::trace
