#include "unit/trace/trace_material.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>

namespace lapwing::test {

namespace {

// In memory where that is to be had: rewriting a file thousands of times makes a disk wait.
std::string folder() {
    return ::access("/dev/shm", W_OK) == 0 ? "/dev/shm/" : testing::TempDir();
}

}    // namespace

TemporaryFile::TemporaryFile() : path_(folder() + "lapwing-trace-XXXXXX") {
    const int fd = ::mkstemp(path_.data());
    if (fd >= 0) ::close(fd);
}

TemporaryFile::~TemporaryFile() {
    ::unlink(path_.c_str());
}

std::string TemporaryFile::content() const {
    std::ifstream in(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

void TemporaryFile::write(std::string_view bytes) const {
    std::ofstream out(path_, std::ios::binary | std::ios::trunc);
    out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

std::vector<SpanKey> keys(const std::vector<SpanRecord>& spans) {
    std::vector<SpanKey> out;
    for (const SpanRecord& s : spans) out.emplace_back(s.track, s.begin_ns, s.duration_ns, s.site, s.step);
    std::sort(out.begin(), out.end());
    return out;
}

SpanRecord span_of(TrackId track, int64_t begin_ns, int64_t duration_ns, SiteId site, uint32_t step) {
    SpanRecord span;
    span.begin_ns = begin_ns;
    span.duration_ns = duration_ns;
    span.site = site;
    span.step = step;
    span.track = track;
    return span;
}

Site site_of(const std::string& op) {
    Site site;
    site.op = op;
    return site;
}

Recording sample_recording() {
    Recording r;
    r.process = {4711, "llama-bench -m tiny.gguf", "0.1.0", "kernel", 4};
    r.devices = {
        {1, "vulkan", "llvmpipe (LLVM 15)", "lavapipe 22.3.6", {52.083, 36, true, 17, -12.5, -40, 2}, "6d657361"},
        {2, "sim", "second", "", {0, 0, false, std::nullopt}}};
    r.tracks = {{1, TrackKind::kDeviceQueue, 1, "queue 0"},
                {2, TrackKind::kDeviceQueue, 2, "queue 0"},
                {3, TrackKind::kHostThread, 0, "thread 4711"}};
    Site norm{"RMS_NORM+MUL norm-0",
              "RMS_NORM+MUL",
              "rms_norm_f32",
              0,
              SpanKind::kDispatch,
              {32, 1, 1},
              false,
              Validity::kMeasured,
              ""};
    Site first = norm;
    first.warmup = true;
    Site estimate{"", "", "", -1, SpanKind::kCopy, {}, false, Validity::kEstimated, "half of its submit"};
    Site submit{"vkQueueSubmit", "", "", -1, SpanKind::kHost, {}, false, Validity::kMeasured, ""};
    r.sites = {{1, norm}, {2, first}, {3, estimate}, {4, submit}};
    const int64_t t0 = 1'000'000'000'000;
    for (uint32_t step = 0; step < 4; ++step) {
        const int64_t begin = t0 + step * 1'000'000;
        r.spans.push_back(span_of(3, begin, 20'000, 4, step));
        for (int i = 0; i < 8; ++i) r.spans.push_back(span_of(1, begin + 30'000 + i * 1000, 900, i == 0 ? 2 : 1, step));
        r.spans.push_back(span_of(2, begin + 40'000, 123, 3, step));
        r.steps.push_back({step, begin, begin + 900'000, 8, step % 2 == 0});
    }
    FingerprintRecord whole{.name = "attn_norm", .layer = 7, .position = 3, .order = 9, .shape = {64, 3, 2, 1}};
    whole.fingerprint = {DType::kBf16, 384, 2, 1, -1.5, 1e30, 2.5, -1e300, 5e-324, 77, {}, 0xfedcba9876543210};
    for (std::size_t k = 0; k < kProjections; ++k) whole.fingerprint.projections[k] = 0.1 * static_cast<double>(k) - 1;
    whole.isolated_ns = 12'345;
    r.fingerprints = {whole, {.name = "bare"}};
    r.stats.begun = 40;
    r.stats.recorded = 32;
    r.stats.estimated = 4;
    r.stats.lost[LossReason::kRingFull] = 3;
    r.stats.lost[LossReason::kDriverError] = 1;
    r.stats.stamps = 80;
    r.stats.result_reads = 7;
    r.stats.own_submits = 2;
    r.stats.hook_ns = 12345;
    r.stats.start_ns = 1'234'567;
    r.stats.faults = 1;
    r.stats.window_begin_ns = t0;
    r.stats.window_end_ns = t0 + 4'000'000;
    r.stats.final = true;
    r.stats.executed_dispatches = 32;
    r.stats.fingerprints_dropped = 5;
    r.stats.names_dropped = 5;
    return r;
}

Status feed(const Recording& recording, SpanSink& sink, std::size_t batch) {
    Status status = sink.process(recording.process);
    for (const auto& device : recording.devices)
        if (status.ok()) status = sink.device(device);
    for (const auto& track : recording.tracks)
        if (status.ok()) status = sink.track(track);
    for (const auto& [id, site] : recording.sites)
        if (status.ok()) status = sink.site(id, site);
    std::span<const SpanRecord> rest(recording.spans);
    while (!rest.empty() && status.ok()) {
        const std::size_t count = std::min(batch, rest.size());
        status = sink.spans(rest.first(count));
        rest = rest.subspan(count);
    }
    for (const auto& step : recording.steps)
        if (status.ok()) status = sink.step(step);
    for (const auto& record : recording.fingerprints)
        if (status.ok()) status = sink.fingerprint(record);
    if (status.ok()) status = sink.stats(recording.stats);
    return status.ok() ? sink.close() : status;
}

ReadSummary round_trip(const Recording& recording, const std::string& path, SpanSink& sink,
                       const PerfettoWriterOptions& options) {
    auto writer = open_perfetto_writer(path, options);
    EXPECT_TRUE(writer.ok()) << (writer.ok() ? "" : writer.error().message);
    if (!writer.ok()) return {};
    const Status fed = feed(recording, **writer);
    EXPECT_TRUE(fed.ok()) << fed.error().message;
    auto summary = read_perfetto(path, sink);
    EXPECT_TRUE(summary.ok()) << (summary.ok() ? "" : summary.error().message);
    return summary.ok() ? *summary : ReadSummary{};
}

}    // namespace lapwing::test
