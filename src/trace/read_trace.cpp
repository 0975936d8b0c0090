#include "lapwing/read_trace.hpp"

#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "trace/byte_source.hpp"
#include "trace/chrome_reader.hpp"
#include "trace/chrome_source.hpp"
#include "trace/packet_source.hpp"
#include "trace/read_packets.hpp"
#include "trace/sniff.hpp"

namespace lapwing {

namespace {

using trace::ByteSource;
using trace::ChromeSource;

Error no_trace(const ChromeSource& source) {
    std::string text = "'" + source.name() + "' is no Chrome trace: it is JSON without \"traceEvents\"";
    if (source.root().has("benchmarks"))
        text += ", and looks like the results of a Google Benchmark run: give the trace instead";
    else
        text += "; give a trace, or a recording made by `lapwing run -o FILE.pftrace`";
    return {Errc::kBadFormat, 0, std::move(text)};
}

Error ends_before_events(const ChromeSource& source) {
    std::string text = "'" + source.name() + "' ends at byte " + std::to_string(source.bytes());
    if (source.bytes() == 0) return {Errc::kBadFormat, 0, "'" + source.name() + "' is empty (0 bytes): get it again"};
    text += ", before its first event: get it again from where it came from";
    return {Errc::kBadFormat, 0, std::move(text)};
}

Result<TraceSummary> read_chrome(ByteSource bytes, SpanSink& sink) {
    TraceSummary summary;
    summary.format = TraceFormat::kChrome;
    summary.packed = bytes.packed();
    ChromeSource source(std::move(bytes));
    trace::ChromeReader reader(sink);
    if (Status status = reader.start(); !status.ok()) return status.error();
    trace::ChromeEvent event;
    ChromeSource::Step step = ChromeSource::Step::kEnd;
    while ((step = source.next(event)) == ChromeSource::Step::kEvent) {
        if (Status status = reader.event(event, source.offset()); !status.ok()) {
            if (reader.sink_failed()) return status.error();
            Error error = status.error();
            error.message =
                "'" + source.name() + "', event at byte " + std::to_string(source.offset()) + ": " + error.message;
            return error;
        }
    }
    if (step == ChromeSource::Step::kFailed) return source.error();
    summary.read.bytes = source.bytes();
    if (step == ChromeSource::Step::kTorn) {
        if (source.events() == 0) return ends_before_events(source);
        summary.read.torn = true;
        summary.read.torn_at = source.offset();
    } else if (!source.has_events()) {
        return no_trace(source);
    }
    if (Status status = reader.finish(source.root(), summary); !status.ok()) return status.error();
    summary.chrome.open_array = source.open_array();
    return summary;
}

bool begins_like_json(std::string_view head) {
    if (head.starts_with("\xef\xbb\xbf")) head.remove_prefix(3);
    const std::size_t first = head.find_first_not_of(" \t\r\n");
    return first == std::string_view::npos ? !head.empty() : head[first] == '{' || head[first] == '[';
}

}    // namespace

Result<TraceSummary> read_chrome(const std::string& path, SpanSink& sink) {
    Result<ByteSource> source = ByteSource::open(path);
    if (!source) return source.error();
    return read_chrome(std::move(*source), sink);
}

Result<TraceSummary> read_trace(const std::string& path, SpanSink& sink) {
    Result<ByteSource> opened = ByteSource::open(path);
    if (!opened) return opened.error();
    ByteSource& source = *opened;
    const std::string_view head = source.head();
    if (source.packed() || begins_like_json(head)) return read_chrome(std::move(source), sink);
    Result<ReadSummary> read = ReadSummary{};
    if (path == "-") {
        // A pipe cannot be read again, and has no further parts beside it.
        const std::string begin(head);
        trace::PacketSource packets = trace::PacketSource::adopt(source.name(), source.release(), begin);
        read = trace::read_packets(packets, sink);
    } else {
        read = read_recording(path, sink);
    }
    if (!read) return read.error();
    TraceSummary summary;
    summary.read = *read;
    return summary;
}

}    // namespace lapwing
