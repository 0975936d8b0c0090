#include "lapwing/perfetto.hpp"
#include "trace/perfetto_writer.hpp"
#include "trace/rotating_writer.hpp"

namespace lapwing {

Result<std::unique_ptr<SpanSink>> open_perfetto_writer(const std::string& path, const PerfettoWriterOptions& options) {
    if (options.buffer_bytes < 4096)
        return Error{Errc::kInvalidArgument, 0,
                     "buffer_bytes is " + std::to_string(options.buffer_bytes) + ": give at least 4096"};
    if (options.max_lanes < 1 || options.max_lanes > 255)
        return Error{Errc::kInvalidArgument, 0,
                     "max_lanes is " + std::to_string(options.max_lanes) + ": give 1 to 255"};
    if (options.max_part_bytes != 0 && options.max_part_bytes < 1u << 20)
        return Error{Errc::kInvalidArgument, 0,
                     "max_part_bytes is " + std::to_string(options.max_part_bytes) + ": give 0 or at least 1048576"};
    if (options.keep_ns != 0 && options.keep_ns < 1'000'000'000)
        return Error{Errc::kInvalidArgument, 0,
                     "keep_ns is " + std::to_string(options.keep_ns) + ": give 0 or at least 1000000000"};
    const uint64_t id = trace::random_id();
    if (options.max_part_bytes != 0 || options.keep_ns != 0) return trace::RotatingWriter::open(path, options, id);
    Result<trace::TraceFile> file = trace::TraceFile::create(path);
    if (!file.ok()) return file.error();
    trace::RecordingInfo identity;
    identity.id = id;
    identity.run = options.run_id;
    auto writer = std::make_unique<trace::PerfettoWriter>(std::move(file).value(), options, identity);
    if (const Status started = writer->start(); !started.ok()) return started.error();
    return std::unique_ptr<SpanSink>(std::move(writer));
}

}    // namespace lapwing
