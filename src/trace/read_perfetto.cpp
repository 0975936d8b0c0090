#include "lapwing/perfetto.hpp"
#include "trace/packet_source.hpp"
#include "trace/perfetto_reader.hpp"
#include "trace/read_packets.hpp"
#include "trace/sniff.hpp"

namespace lapwing {

namespace {

using trace::PacketSource;

Error not_a_recording(const std::string& path, std::string_view head) {
    if (head.empty())
        return {Errc::kBadFormat, 0,
                "'" + path + "' is empty (0 bytes): the program that recorded it wrote nothing; record again"};
    return {Errc::kBadFormat, 0, "'" + path + "' is not a Lapwing recording: " + trace::describe_foreign(head)};
}

}    // namespace

Result<ReadSummary> trace::read_packets(PacketSource& source, SpanSink& sink) {
    const std::string& path = source.path();
    const std::string_view head = source.peek();
    if (source.error().code != Errc::kOk) return source.error();
    if (!trace::begins_like_recording(head)) return not_a_recording(path, head);

    trace::RecordingReader reader(sink);
    ReadSummary summary;
    std::string_view packet;
    PacketSource::Step step = PacketSource::Step::kEnd;
    while ((step = source.next(packet)) == PacketSource::Step::kPacket) {
        if (Status status = reader.packet(packet); !status.ok()) {
            if (reader.sink_failed()) return status.error();
            Error error = status.error();
            error.message =
                "'" + path + "', packet at byte " + std::to_string(source.packet_offset()) + ": " + error.message;
            if (error.code == Errc::kBadFormat)
                error.message += "; the file is damaged: record again, or cut it off there to read what comes before";
            return error;
        }
        ++summary.packets;
    }
    if (step == PacketSource::Step::kFailed) return source.error();
    if (step == PacketSource::Step::kTorn) {
        summary.torn = true;
        summary.torn_at = source.packet_offset();
    }
    summary.bytes = source.bytes();
    if (Status status = reader.finish(summary); !status.ok()) return status.error();
    return summary;
}

Result<ReadSummary> read_perfetto(const std::string& path, SpanSink& sink) {
    Result<PacketSource> opened = PacketSource::open(path);
    if (!opened.ok()) return opened.error();
    return trace::read_packets(*opened, sink);
}

}    // namespace lapwing
