// lapwing bench: what Lapwing costs the thread that calls it, and what its writer does.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <functional>
#include <map>

#include "bench_figures.hpp"
#include "hot_path/loops.hpp"
#include "lapwing/level.hpp"
#include "lapwing/perfetto.hpp"

namespace lapwing::cli {
namespace {

// A round gives each loop its slices in turn, so that all of them see what the machine does meanwhile.
constexpr int kBlockOps = 1000;
constexpr int kSlices = 10;
constexpr int kBlocksPerSlice = 20;

struct Series {
    std::string name;
    std::function<double()> block;    // ns an operation
    std::function<void()> before;
    std::vector<double> blocks{};    // of this round
    std::vector<double> rounds{};
};

double timed_ns(const std::function<void()>& body) {
    const uint64_t begin = bench::counter();
    body();
    return static_cast<double>(bench::counter() - begin) * bench::counter_ns() / kBlockOps;
}

std::vector<Series> make_series(bench::SimSpans& sim) {
    std::vector<Series> all;
    for (const bench::Row& row : bench::rows())
        all.push_back({row.name, [loop = row.loop] { return timed_ns([loop] { loop(kBlockOps); }); },
                       [&row] {
                           bench::discard_spans();
                           bench::set_level_for(row);
                       }});
    const auto on = [] { set_level(Level::kKernel); };
    all.push_back({"marks", [&sim] { return timed_ns([&sim] { sim.mark(kBlockOps); }); }, on});
    all.push_back({"ring",
                   [&sim] {
                       const double ns = timed_ns([&sim] { sim.begin_end(kBlockOps); });
                       sim.harvest(kBlockOps);
                       return ns;
                   },
                   on});
    all.push_back({"harvest",
                   [&sim] {
                       sim.begin_end(kBlockOps);
                       return timed_ns([&sim] { sim.harvest(kBlockOps); });
                   },
                   on});
    return all;
}

BenchRow row_of(const std::map<std::string, const Series*>& all, const std::string& what, const std::string& ours,
                const std::string& floor_text, const std::string& floor) {
    BenchRow row{.what = what, .floor = floor_text, .unit = "ns", .value = median(all.at(ours)->rounds)};
    if (floor.empty()) return row;
    row.floor_value = median(all.at(floor)->rounds);
    std::vector<double> ratios;
    for (std::size_t i = 0; i < all.at(ours)->rounds.size(); ++i)
        ratios.push_back(all.at(ours)->rounds[i] / all.at(floor)->rounds[i]);
    row.ratio = median(ratios);
    return row;
}

// A recording as a decode loop makes it: 60 sites, 4 queues, spans of some microseconds.
std::vector<SpanRecord> make_spans(std::size_t count) {
    std::vector<SpanRecord> spans(count);
    std::array<int64_t, 4> now{};
    uint32_t random = 7;
    for (std::size_t i = 0; i < count; ++i) {
        random = random * 1664525 + 1013904223;
        const std::size_t track = i / 4096 % now.size();
        SpanRecord& span = spans[i];
        span.site = 1 + random % 60;
        span.track = static_cast<TrackId>(track + 1);
        span.begin_ns = now[track] += 200 + (random >> 8) % 4000;
        span.duration_ns = 500 + (random >> 12) % 60000;
        now[track] += span.duration_ns;
    }
    return spans;
}

// Seconds and bytes of one recording; 0 bytes where it could not be written.
struct Written {
    double seconds = 0;
    double bytes = 0;
    std::string reason{};
};

// Units: seconds. Of this thread alone: the writer has no other, and a busy machine does not slow it.
double processor_seconds() {
    timespec now{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

Written write_recording(const std::string& path, std::span<const SpanRecord> spans) {
    const double begin = processor_seconds();
    auto writer = open_perfetto_writer(path);
    if (!writer.ok()) return {.reason = writer.error().message};
    SpanSink& sink = **writer;
    ProcessInfo process;
    process.pid = ::getpid();
    process.command = "lapwing bench";
    process.level = "kernel";
    Status status = sink.process(process);
    for (TrackId track = 1; status.ok() && track <= 4; ++track)
        status = sink.track({track, TrackKind::kDeviceQueue, 0, "queue"});
    for (SiteId id = 1; status.ok() && id <= 60; ++id) {
        Site site;
        site.op = "op_";
        site.op += std::to_string(id);
        status = sink.site(id, site);
    }
    for (std::size_t i = 0; status.ok() && i < spans.size(); i += 16384)
        status = sink.spans(spans.subspan(i, std::min<std::size_t>(16384, spans.size() - i)));
    if (const Status closed = sink.close(); status.ok()) status = closed;
    if (!status.ok()) return {.reason = status.error().message};
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    const auto bytes = static_cast<double>(::lseek(fd, 0, SEEK_END));
    ::close(fd);
    return {processor_seconds() - begin, bytes};
}

Written write_bare(const std::string& path, double bytes) {
    const std::vector<char> chunk(256 * 1024, 'x');
    const double begin = processor_seconds();
    const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    double left = bytes;
    while (fd >= 0 && left > 0) {
        const ssize_t written = ::write(fd, chunk.data(), std::min(chunk.size(), static_cast<std::size_t>(left)));
        if (written <= 0) break;
        left -= static_cast<double>(written);
    }
    if (fd >= 0) ::close(fd);
    if (left > 0) return {.reason = path + " cannot be written"};
    return {processor_seconds() - begin, bytes};
}

}    // namespace

std::vector<BenchRow> bench_host(const BenchEffort& effort) {
    const Level before = level();
    bench::SimSpans sim;
    std::vector<Series> all = make_series(sim);
    for (Series& series : all) {
        series.before();
        series.block();    // first touch
    }
    for (int round = 0; round < effort.rounds; ++round) {
        for (int slice = 0; slice < kSlices; ++slice) {
            for (Series& series : all) {
                series.before();
                for (int block = 0; block < kBlocksPerSlice; ++block) series.blocks.push_back(series.block());
            }
        }
        for (Series& series : all) {
            series.rounds.push_back(median(series.blocks));
            series.blocks.clear();
        }
        if (effort.progress != nullptr) effort.progress(round + 1, effort.rounds);
    }
    set_level(before);
    bench::discard_spans();
    std::map<std::string, const Series*> named;
    for (const Series& series : all) named[series.name] = &series;
    return {row_of(named, "host span, begin + end", "span/enabled", "two counter reads", "floor/two_ticks"),
            row_of(named, "`lap()` an op", "lap/enabled", "one counter read", "floor/one_tick"),
            row_of(named, "span while off", "span/off", "a load and a branch", "floor/load_branch"),
            row_of(named, "device span on `sim`, begin + end", "ring", "two marks", "marks"),
            row_of(named, "harvest on `sim`, a span", "harvest", "", "")};
}

std::vector<BenchRow> bench_writer(const BenchEffort& effort, const std::string& folder) {
    constexpr std::size_t kSpans = 500'000;
    const std::string path = folder + "/lapwing-bench-" + std::to_string(::getpid()) + ".pftrace";
    BenchRow speed{.what = "writing a recording", .floor = "`write()` of the same bytes", .unit = "M spans/s"};
    BenchRow size{.what = "a recorded span", .unit = "bytes"};
    const std::vector<SpanRecord> spans = make_spans(kSpans);
    std::vector<double> ours;
    std::vector<double> bare;
    std::vector<double> ratios;
    for (int round = 0; round < effort.rounds; ++round) {
        const Written recording = write_recording(path, spans);
        const Written floor = recording.bytes > 0 ? write_bare(path, recording.bytes) : Written{};
        ::unlink(path.c_str());
        if (recording.bytes <= 0 || floor.bytes <= 0) {
            speed.reason = size.reason = recording.bytes <= 0 ? recording.reason : floor.reason;
            return {speed, size};
        }
        size.value = recording.bytes / kSpans;
        ours.push_back(kSpans / recording.seconds * 1e-6);
        bare.push_back(kSpans / floor.seconds * 1e-6);
        ratios.push_back(ours.back() / bare.back());
    }
    speed.value = median(ours);
    speed.floor_value = median(bare);
    speed.ratio = median(ratios);
    return {speed, size};
}

}    // namespace lapwing::cli
