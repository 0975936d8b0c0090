#include "run_join.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <limits>
#include <memory>

#include "lapwing/perfetto.hpp"
#include "run_output.hpp"
#include "trace/join.hpp"
#include "trace/recording_set.hpp"

namespace lapwing::cli {
namespace {

Status write_joined(const std::string& path, const std::vector<std::string>& sources, std::optional<int64_t> from_ns,
                    bool compress) {
    Result<std::unique_ptr<SpanSink>> writer =
        open_perfetto_writer(path, {.compress = compress, .run_id = trace::identify(sources.front())->run});
    if (!writer) return writer.error();
    trace::JoinSink join(**writer, from_ns);
    for (const std::string& source : sources) {
        join.next();
        if (const Result<ReadSummary> read = read_recording(source, join); !read) return read.error();
    }
    if (Status finished = join.finish(); !finished) return finished;
    return (*writer)->close();
}

}    // namespace

Status join_recordings(const std::string& main, const std::vector<std::string>& children,
                       std::optional<int64_t> last_ns, bool compress) {
    std::vector<std::string> sources{main};
    sources.insert(sources.end(), children.begin(), children.end());
    std::vector<std::string> files;    // all but `main` itself
    std::optional<int64_t> from_ns;
    int64_t end_ns = std::numeric_limits<int64_t>::min();
    for (const std::string& source : sources) {
        if (source != main) files.push_back(source);
        for (const std::string& part : trace::parts_behind(source)) files.push_back(part);
        // Read once before anything is written: what cannot be read is found while all is still as it was.
        const Result<RecordingTotals> totals = read_totals(source);
        if (!totals) return totals.error();
        end_ns = std::max(end_ns, totals.value().end_ns);
    }
    if (last_ns) from_ns = end_ns - *last_ns;

    const std::string joined = main + ".joining-" + std::to_string(::getpid());
    Status written = write_joined(joined, sources, from_ns, compress);
    if (written && std::rename(joined.c_str(), main.c_str()) != 0)
        written =
            Error{Errc::kUnwritable, errno,
                  "cannot replace " + main + ": " + std::strerror(errno) + "; lapwing report reads each by itself"};
    if (!written) {
        ::unlink(joined.c_str());
        return written;
    }
    for (const std::string& file : files) ::unlink(file.c_str());
    return {};
}

}    // namespace lapwing::cli
