// Recordings written and read: spans a second on one core, beside the bare write() of the same bytes, libdeflate over
// them and the bare read().
//   bench_io [FOLDER]    files go to FOLDER, by default /dev/shm, so that no disk is measured
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <libdeflate.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "lapwing/perfetto.hpp"
#include "lapwing/report.hpp"

namespace {

using namespace lapwing;

constexpr int kTracks = 4;
constexpr SiteId kSites = 60;
constexpr std::size_t kSpans = 1'000'000;
constexpr std::size_t kHarvest = 49'152;    // spans between two harvests of all queues
constexpr std::size_t kChunkBytes = 256 * 1024;

std::string g_folder = "/dev/shm";

std::string file_path() {
    return g_folder + "/lapwing-bench-" + std::to_string(::getpid()) + ".pftrace";
}

// Names by Zipf's law, exponential gaps, log-normal durations: what a decode loop with 60 kernels looks like.
std::vector<SpanRecord> make_spans(bool by_track) {
    std::mt19937_64 random(7);
    std::vector<double> weights;
    for (SiteId i = 1; i <= kSites; ++i) weights.push_back(1.0 / i);
    std::discrete_distribution<SiteId> pick(weights.begin(), weights.end());
    std::exponential_distribution<double> gap(1 / 2000.0);
    std::normal_distribution<double> spread;
    std::vector<int64_t> now(kTracks, 1'000'000'000'000);
    std::vector<SpanRecord> spans(kSpans);
    for (SpanRecord& span : spans) {
        const SiteId site = pick(random);
        const auto track = static_cast<std::size_t>(random() % kTracks);
        span.site = site + 1;
        span.track = static_cast<TrackId>(track + 1);
        span.begin_ns = now[track] += 200 + static_cast<int64_t>(gap(random));
        span.duration_ns = static_cast<int64_t>(std::exp(2 + site % 7 * 0.4 + 0.8 * spread(random)) * 1000);
        now[track] += span.duration_ns;
    }
    for (std::size_t i = 0; by_track && i < kSpans; i += kHarvest)
        std::stable_sort(spans.begin() + static_cast<std::ptrdiff_t>(i),
                         spans.begin() + static_cast<std::ptrdiff_t>(std::min(kSpans, i + kHarvest)),
                         [](const SpanRecord& a, const SpanRecord& b) { return a.track < b.track; });
    return spans;
}

uint64_t write_recording(std::span<const SpanRecord> spans, bool compress) {
    auto writer = open_perfetto_writer(file_path(), {.compress = compress});
    if (!writer.ok()) return 0;
    SpanSink& sink = **writer;
    bool ok = sink.process({1, "bench_io", "", "kernel", 1}).ok();
    for (TrackId track = 1; track <= kTracks; ++track)
        ok = ok && sink.track({track, TrackKind::kDeviceQueue, 0, "queue " + std::to_string(track)}).ok();
    for (SiteId id = 1; id <= kSites; ++id) {
        Site site;
        site.op = "op_" + std::to_string(id);
        ok = ok && sink.site(id, site).ok();
    }
    for (; ok && !spans.empty(); spans = spans.subspan(std::min(kHarvest, spans.size())))
        ok = sink.spans(spans.first(std::min(kHarvest, spans.size()))).ok();
    if (!ok || !sink.close().ok()) return 0;
    const int fd = ::open(file_path().c_str(), O_RDONLY);
    const off_t size = ::lseek(fd, 0, SEEK_END);
    ::close(fd);
    return static_cast<uint64_t>(size);
}

void report(benchmark::State& state, uint64_t bytes) {
    state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(kSpans));
    state.counters["bytes_per_span"] = static_cast<double>(bytes) / static_cast<double>(kSpans);
}

void write_perfetto(benchmark::State& state, bool by_track, bool compress) {
    const std::vector<SpanRecord> spans = make_spans(by_track);
    uint64_t bytes = 0;
    for (auto _ : state) {
        bytes = write_recording(spans, compress);
        if (bytes == 0) state.SkipWithError("the recording could not be written");
    }
    report(state, bytes);
    ::unlink(file_path().c_str());
}

void floor_write(benchmark::State& state) {
    constexpr std::size_t kBytes = kSpans * 26;
    const std::vector<char> chunk(kChunkBytes, 'x');
    for (auto _ : state) {
        const int fd = ::open(file_path().c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
        for (std::size_t left = kBytes; left > 0;) {
            const ssize_t written = ::write(fd, chunk.data(), std::min(left, chunk.size()));
            if (written <= 0) {
                state.SkipWithError("the file could not be written");
                break;
            }
            left -= static_cast<std::size_t>(written);
        }
        ::close(fd);
    }
    report(state, kBytes);
    ::unlink(file_path().c_str());
}

class CountingSink final : public SpanSink {
public:
    Status process(const ProcessInfo&) override { return {}; }
    Status device(const DeviceInfo&) override { return {}; }
    Status track(const TrackInfo&) override { return {}; }
    Status site(SiteId, const Site&) override { return {}; }
    Status spans(std::span<const SpanRecord> spans) override {
        for (const SpanRecord& span : spans) total_ns += span.duration_ns;
        return {};
    }
    Status step(const StepRecord&) override { return {}; }
    Status stats(const RecordingStats&) override { return {}; }
    Status close() override { return {}; }
    int64_t total_ns = 0;
};

// libdeflate, level 1, over the same bytes in pieces of a lane's buffer.
void floor_libdeflate(benchmark::State& state) {
    static_cast<void>(write_recording(make_spans(true), false));
    std::ifstream in(file_path(), std::ios::binary);
    const std::string plain{std::istreambuf_iterator<char>(in), {}};
    libdeflate_compressor* const compressor = ::libdeflate_alloc_compressor(1);
    std::vector<char> out(kChunkBytes);
    std::size_t bytes = 0;
    for (auto _ : state) {
        bytes = 0;
        for (std::size_t at = 0; at < plain.size(); at += kChunkBytes)
            bytes += ::libdeflate_zlib_compress(compressor, plain.data() + at, std::min(kChunkBytes, plain.size() - at),
                                                out.data(), out.size());
    }
    ::libdeflate_free_compressor(compressor);
    report(state, bytes);
    ::unlink(file_path().c_str());
}

// The bytes of a recording through read(), in pieces of the reader's buffer.
void floor_read(benchmark::State& state) {
    const uint64_t bytes = write_recording(make_spans(true), false);
    std::vector<char> chunk(kChunkBytes);
    for (auto _ : state) {
        const int fd = ::open(file_path().c_str(), O_RDONLY | O_CLOEXEC);
        while (::read(fd, chunk.data(), chunk.size()) > 0) benchmark::DoNotOptimize(chunk.data());
        ::close(fd);
    }
    report(state, bytes);
    ::unlink(file_path().c_str());
}

void read_back(benchmark::State& state, bool compress) {
    const uint64_t bytes = write_recording(make_spans(true), compress);
    for (auto _ : state) {
        CountingSink sink;
        const auto summary = read_perfetto(file_path(), sink);
        if (!summary.ok() || summary->spans != kSpans) state.SkipWithError("the recording could not be read");
        benchmark::DoNotOptimize(sink.total_ns);
    }
    report(state, bytes);
    ::unlink(file_path().c_str());
}

// What `lapwing report` does with it, exact percentiles included.
void read_report(benchmark::State& state, bool compress) {
    const uint64_t bytes = write_recording(make_spans(true), compress);
    for (auto _ : state) {
        const std::unique_ptr<ReportBuilder> builder = make_report_builder();
        if (!read_perfetto(file_path(), *builder).ok()) state.SkipWithError("the recording could not be read");
        const Report done = builder->build(GroupBy::kOp);
        if (done.spans != kSpans) state.SkipWithError("spans are missing in the report");
        benchmark::DoNotOptimize(done.total_ns);
    }
    report(state, bytes);
    ::unlink(file_path().c_str());
}

}    // namespace

int main(int argc, char** argv) {
    benchmark::Initialize(&argc, argv);
    if (argc > 1) g_folder = argv[1];
    const auto add = [](const char* name, auto function) {
        benchmark::RegisterBenchmark(name, function)->Unit(benchmark::kMillisecond)->UseRealTime();
    };
    add("floor/write", floor_write);
    add("write/perfetto", [](benchmark::State& state) { write_perfetto(state, true, false); });
    add("write/perfetto_mixed", [](benchmark::State& state) { write_perfetto(state, false, false); });
    add("floor/libdeflate", floor_libdeflate);
    add("write/compressed", [](benchmark::State& state) { write_perfetto(state, true, true); });
    add("floor/read", floor_read);
    add("read/perfetto", [](benchmark::State& state) { read_back(state, false); });
    add("read/compressed", [](benchmark::State& state) { read_back(state, true); });
    add("report/perfetto", [](benchmark::State& state) { read_report(state, false); });
    add("report/compressed", [](benchmark::State& state) { read_report(state, true); });
    benchmark::RunSpecifiedBenchmarks();
    return 0;
}
