// write_chrome CASE OUT [NUMBER...]: writes a Chrome trace that chrome_trace_test.py checks, and prints what must be in
// it, a line a span:
//   span HEX_TRACK HEX_NAME BEGIN_NS DURATION_NS
#include <signal.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "lapwing/chrome.hpp"
#include "trace/descriptor.hpp"
#include "unit/trace/random_recording.hpp"

namespace {

using namespace lapwing;
using test::Recording;
using test::site_of;
using test::span_of;

// Write number `call` to the file stops after `part` quarters of its bytes and kills the process.
struct Fault {
    long call = 0;    // 0 = none
    long part = 0;
};
Fault g_fault;
long g_writes = 0;

extern "C" ssize_t __real_pwrite(int fd, const void* bytes, size_t size, off_t at);
extern "C" ssize_t __wrap_pwrite(int fd, const void* bytes, size_t size, off_t at) {
    if (g_fault.call == 0 || ++g_writes != g_fault.call) return __real_pwrite(fd, bytes, size, at);
    const size_t part = g_fault.part == 0   ? 1
                        : g_fault.part >= 4 ? size - 1
                                            : size * static_cast<size_t>(g_fault.part) / 4;
    [[maybe_unused]] const ssize_t written = __real_pwrite(fd, bytes, part, at);
    ::raise(SIGKILL);
    return -1;
}

std::string hex(std::string_view bytes) {
    std::string out;
    for (const char c : bytes) {
        char digits[3];
        std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned>(static_cast<unsigned char>(c)));
        out += digits;
    }
    return out;
}

void print(const Recording& recording) {
    std::map<SiteId, std::string> names{{0, "unknown"}};
    std::map<TrackId, std::string> tracks;
    for (const auto& [id, site] : recording.sites) names[id] = trace::display_name(site);
    for (const TrackInfo& track : recording.tracks) tracks[track.id] = track.name;
    for (const SpanRecord& span : recording.spans)
        std::printf("span %s %s %" PRId64 " %" PRId64 "\n", hex(tracks[span.track]).c_str(),
                    hex(names[span.site]).c_str(), span.begin_ns, span.duration_ns);
}

Recording one_queue(std::vector<SpanRecord> spans) {
    Recording out;
    out.process = {4711, "engine", "v", "kernel"};
    out.devices = {{1, "sim", "Device", "driver 1", {}}};
    out.tracks = {{1, TrackKind::kDeviceQueue, 1, "queue 0"}};
    out.sites = {{1, site_of("op")}};
    out.spans = std::move(spans);
    return out;
}

// pytorch#146900, #136040, #33961, #189982; kineto#988; uftrace#183; perfetto#598; kineto output_json.
Recording names() {
    const std::vector<std::string> nasty{"{\"device\": \"cpu\"}(12): run",
                                         "torch\\cuda",
                                         "two\nlines\r\tand a tab",
                                         "\xff\xfe",
                                         "lone \x80 continuation",
                                         "cut \xf0\x9f\x98",
                                         "two \xe2\x82\xe2\x82\xac",
                                         "overlong \xc0\xaf",
                                         "surrogate \xed\xa0\x80",
                                         std::string("|||S\x01(1): <module>"),
                                         std::string("nul\0inside", 10),
                                         "\x7f",
                                         "attention_\xe9\x9d\x9e"
                                         "ASCII",
                                         "\xf0\x9f\x98\x80",
                                         "</script>"};
    std::string controls;
    for (char c = 1; c < 0x20; ++c) controls += c;
    Recording out = one_queue({});
    out.process.command = "./run --prompt='print(\"hello\")' \\ \xff";
    out.devices[0].name = "GPU \"A\" \\ \x80";
    out.tracks[0].name = "queue \"0\"\n";
    out.sites.clear();
    int64_t at = 1'000'000;
    for (SiteId id = 1; id <= nasty.size() + 1; ++id) {
        Site site;
        site.label = id <= nasty.size() ? nasty[id - 1] : controls;
        site.op = site.label + "op";
        site.kernel = site.label + "kernel";
        out.sites.emplace_back(id, site);
        out.spans.push_back(span_of(1, at += 1000, 500, id));
    }
    return out;
}

// perfetto#4280, #432, #438, janestreet/perfetto#35 (PDL kernels), and chains of overlaps.
Recording overlaps() {
    std::vector<SpanRecord> spans{span_of(1, 3000, 3776, 1),       span_of(1, 5000, 2000, 1),
                                  span_of(1, 200'000, 100'000, 1), span_of(1, 280'000, 70'000, 1),
                                  span_of(1, 400'000, 3744, 1),    span_of(1, 403'000, 3744, 1),
                                  span_of(1, 406'000, 3744, 1)};
    for (int i = 0; i < 10; ++i) spans.push_back(span_of(1, 1'000'000 + i * 10, 1000, 1));
    for (int i = 0; i < 4; ++i) spans.push_back(span_of(1, 2'000'000, 400 - i * 100, 1));    // begin together
    for (int i = 0; i < 3; ++i) spans.push_back(span_of(1, 3'000'000, 0, 1));
    return one_queue(std::move(spans));
}

// perfetto#935, #738, #886, #522; csmoe/tracing-perfetto#2; tracing-chrome#32.
Recording ids() {
    Recording out = one_queue(
        {span_of(1, 1000, 10, 1), span_of(2, 1000, 10, 1), span_of(3, 1000, 10, 1), span_of(65535, 1000, 10, 1)});
    out.process.pid = 7'168'000'000;
    out.tracks.push_back({2, TrackKind::kHostThread, 0, "thread 140589156634432"});
    out.tracks.push_back({3, TrackKind::kHostThread, 0, "thread -136712896"});
    out.tracks.push_back({65535, TrackKind::kDeviceQueue, 1, "queue 0"});    // two tracks of one name
    return out;
}

// kineto#853, #919, #928; perfetto#5012: 1.7e18 ns and single nanoseconds.
Recording times() {
    constexpr int64_t kEpoch = 1'700'000'000'123'456'789;
    return one_queue({span_of(1, kEpoch, 1, 1), span_of(1, kEpoch + 1, 999, 1),
                      span_of(1, kEpoch + 1000, 156'235'890, 1), span_of(1, kEpoch + 156'236'890, 3, 1),
                      span_of(1, kEpoch + 3'600'000'000'000, 7, 1)});
}

Recording damaged() {
    Recording out = one_queue(
        {span_of(1, -5, 10, 1), span_of(1, 1000, 10, 1), span_of(1, 1000, -1, 1), span_of(1, INT64_MAX, 10, 1)});
    return out;
}

Recording random(uint64_t seed) {
    test::RandomShape shape;
    shape.seed = seed;
    return random_recording(shape);
}

bool announce(const Recording& recording, SpanSink& sink) {
    bool ok = sink.process(recording.process).ok();
    for (const auto& device : recording.devices) ok = ok && sink.device(device).ok();
    for (const auto& track : recording.tracks) ok = ok && sink.track(track).ok();
    for (const auto& [id, site] : recording.sites) ok = ok && sink.site(id, site).ok();
    return ok;
}

int feed_in_parts(const Recording& recording, SpanSink& sink, std::size_t parts) {
    if (!announce(recording, sink)) return 1;
    const std::span<const SpanRecord> spans(recording.spans);
    const std::size_t each = spans.size() / parts + 1;
    for (std::size_t from = 0; from < spans.size(); from += each) {
        if (!sink.spans(spans.subspan(from, std::min(each, spans.size() - from))).ok()) return 1;
        if (!sink.flush().ok()) return 1;
    }
    for (const StepRecord& step : recording.steps)
        if (!sink.step(step).ok()) return 1;
    return 0;
}

Recording recording_of(const std::string& name, long number) {
    if (name == "names") return names();
    if (name == "overlaps" || name == "lanes") return overlaps();
    if (name == "ids") return ids();
    if (name == "times") return times();
    if (name == "damaged") return damaged();
    if (name == "empty") return one_queue({});
    return random(static_cast<uint64_t>(number));
}

}    // namespace

int main(int argc, char** argv) {
    if (argc < 3) return 2;
    const std::string name = argv[1];
    std::vector<long> numbers{1, 1, 0, 0};
    for (int i = 3; i < argc && i < 7; ++i) numbers[static_cast<std::size_t>(i - 3)] = std::atol(argv[i]);
    const Recording recording = recording_of(name, numbers[0]);
    ChromeWriterOptions options;
    options.object = name == "object";
    if (name == "lanes") options.max_lanes = 2;
    if (name == "full") options.max_bytes = 200'000;
    if (name == "small_buffer") options.max_buffered_spans = 7;
    g_fault = {numbers[2], numbers[3]};
    auto writer = open_chrome_writer(argv[2], options);
    if (!writer.ok()) {
        std::fprintf(stderr, "%s\n", writer.error().message.c_str());
        return 1;
    }
    print(recording);
    std::fflush(stdout);
    if (feed_in_parts(recording, **writer, static_cast<std::size_t>(numbers[1])) != 0) return 1;
    if (name == "two_processes") {
        Recording second = recording;
        second.process.command = "second";
        if (feed_in_parts(second, **writer, 1) != 0) return 1;
    }
    if (!(*writer)->stats(recording.stats).ok()) return 1;
    return (*writer)->close().ok() ? 0 : 1;
}
