#include "lapwing/chrome.hpp"
#include "trace/chrome_writer.hpp"

namespace lapwing {

Result<std::unique_ptr<SpanSink>> open_chrome_writer(const std::string& path, const ChromeWriterOptions& options) {
    if (options.max_buffered_spans < 1 || options.max_buffered_spans > 1u << 20)
        return Error{Errc::kInvalidArgument, 0,
                     "max_buffered_spans is " + std::to_string(options.max_buffered_spans) + ": give 1 to 1048576"};
    if (options.max_lanes < 1 || options.max_lanes > 1000)
        return Error{Errc::kInvalidArgument, 0,
                     "max_lanes is " + std::to_string(options.max_lanes) + ": give 1 to 1000"};
    if (options.max_bytes != 0 && options.max_bytes < 64 * 1024)
        return Error{Errc::kInvalidArgument, 0,
                     "max_bytes is " + std::to_string(options.max_bytes) + ": give 0 or at least 65536"};
    Result<trace::TraceFile> file = trace::TraceFile::create(path);
    if (!file.ok()) return file.error();
    auto writer = std::make_unique<trace::ChromeWriter>(std::move(file).value(), options);
    if (const Status started = writer->start(); !started.ok()) return started.error();
    return std::unique_ptr<SpanSink>(std::move(writer));
}

}    // namespace lapwing
