// A program under test: writes a small recording, as a program with the layer inside would. With no FILE it writes to
// $LAPWING_OUT, for the run $LAPWING_RUN. Usage: write_recording [--spans N] [--steps N] [--lost N] [--executed N]
// [--max-bytes N] [--step-ns N] [--flops N] [--bytes N] [--unfinished] [FILE]
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "lapwing/perfetto.hpp"
#include "lapwing/sink.hpp"

namespace {

struct Contents {
    uint64_t spans = 0;
    uint64_t steps = 0;
    uint64_t lost = 0;
    uint64_t executed = 0;     // beside those begun
    uint64_t max_bytes = 0;    // of one file
    uint64_t step_ns = 0;      // of a span and its own step, 60 % of it on the device; 0 = 100 ns, all in step 0
    uint64_t flops = 0;        // of each span; 0 = not known
    uint64_t bytes = 0;
    bool finished = true;
};

lapwing::Status write(lapwing::SpanSink& sink, const Contents& contents) {
    using namespace lapwing;
    constexpr TrackId kQueue = 1;
    DeviceInfo device;
    device.id = 1;
    device.api = "sim";
    device.name = "Scripted device";
    device.clock.resolution_ns = 1;
    device.clock.valid_bits = 64;
    Site site;
    site.op = "MUL_MAT";
    site.kernel = "mul_mat";
    site.layer = 0;
    if (contents.flops != 0) site.flops = contents.flops;
    if (contents.bytes != 0) site.bytes = contents.bytes;
    ProcessInfo process{.pid = 42, .command = "write_recording", .lapwing_version = "0", .level = "kernel"};
    if (const char* step = std::getenv("LAPWING_STEP")) process.step = step;
    if (const char* skip = std::getenv("LAPWING_SKIP")) process.skip = std::strtoull(skip, nullptr, 10);
    if (Status s = sink.process(process); !s) return s;
    if (Status s = sink.device(device); !s) return s;
    if (Status s = sink.track({.id = kQueue, .kind = TrackKind::kDeviceQueue, .device = 1, .name = "queue 0"}); !s)
        return s;
    if (Status s = sink.site(1, site); !s) return s;
    const uint64_t every = contents.step_ns == 0 ? 100 : contents.step_ns;
    for (uint64_t i = 0; i < contents.spans; ++i) {
        const SpanRecord span{.begin_ns = int64_t(1000 + i * every),
                              .duration_ns = int64_t(every * 6 / 10),
                              .site = 1,
                              .step = contents.step_ns == 0 ? 0 : uint32_t(i),
                              .track = kQueue};
        if (Status s = sink.spans({&span, 1}); !s) break;    // a full disk: the statistics still come
    }
    for (uint64_t i = 0; i < contents.steps; ++i) {
        const auto begin = int64_t(1000 + i * every);
        const StepRecord step{
            .index = uint32_t(i), .begin_ns = begin, .end_ns = begin + int64_t(every), .dispatches = 1};
        if (Status s = sink.step(step); !s) break;
    }
    RecordingStats stats;
    stats.begun = contents.spans + contents.lost;
    stats.recorded = contents.spans;
    stats.lost[LossReason::kRingFull] = contents.lost;
    stats.executed_dispatches = stats.begun + contents.executed;
    stats.window_begin_ns = 1000;
    stats.window_end_ns = int64_t(1000 + contents.spans * every);
    stats.final = contents.finished;
    const Status told = sink.stats(stats);
    const Status closed = sink.close();
    return told ? closed : told;
}

}    // namespace

int main(int argc, char** argv) {
    Contents contents;
    const char* path = std::getenv("LAPWING_OUT");
    for (int i = 1; i < argc; ++i) {
        const std::string argument = argv[i];
        uint64_t* number = argument == "--spans"       ? &contents.spans
                           : argument == "--steps"     ? &contents.steps
                           : argument == "--lost"      ? &contents.lost
                           : argument == "--executed"  ? &contents.executed
                           : argument == "--max-bytes" ? &contents.max_bytes
                           : argument == "--step-ns"   ? &contents.step_ns
                           : argument == "--flops"     ? &contents.flops
                           : argument == "--bytes"     ? &contents.bytes
                                                       : nullptr;
        if (number != nullptr && i + 1 < argc) {
            ++i;
            std::from_chars(argv[i], argv[i] + std::strlen(argv[i]), *number);
        } else if (argument == "--unfinished") {
            contents.finished = false;
        } else {
            path = argv[i];
        }
    }
    if (path == nullptr) return 64;
    lapwing::PerfettoWriterOptions options;
    options.max_part_bytes = contents.max_bytes;
    if (const char* run = std::getenv("LAPWING_RUN")) options.run_id = std::strtoull(run, nullptr, 10);
    auto sink = lapwing::open_perfetto_writer(path, options);
    if (!sink) {
        std::fprintf(stderr, "write_recording: %s\n", sink.error().message.c_str());
        return 1;
    }
    if (const lapwing::Status written = write(*sink.value(), contents); !written) {
        std::fprintf(stderr, "write_recording: %s\n", written.error().message.c_str());
        return 1;
    }
    return 0;
}
