// Prints what telemetry exports: telemetry_dump (empty|streams|LEVEL) (prometheus|json|otlp). The server it exports has
// names that no format likes; with "streams" it is at level kernel and has lost spans.
#include <cstdio>
#include <cstring>
#include <string>

#include "lapwing/telemetry.hpp"
#include "lapwing/telemetry_export.hpp"

namespace lapwing {
namespace {

void must(const Status& status) {
    if (status.ok()) return;
    std::fprintf(stderr, "%s\n", status.error().message.c_str());
    std::exit(1);
}

void span(SpanSink& sink, SiteId site, int64_t ns, TrackId track) {
    const SpanRecord record{.begin_ns = 0, .duration_ns = ns, .site = site, .track = track};
    must(sink.spans({&record, 1}));
}

// Spans as collectors of two devices would send them.
void device_work(Telemetry& hub) {
    SpanSink& sink = hub.sink();
    must(sink.process({}));
    for (uint32_t device = 1; device <= 2; ++device) {
        must(sink.device({.id = device, .api = "", .name = "", .driver = "", .clock = {}}));
        must(sink.track(
            {.id = static_cast<TrackId>(device), .kind = TrackKind::kDeviceQueue, .device = device, .name = ""}));
    }
    Site decode;
    decode.lane = "decode";
    decode.container = true;
    Site odd;
    odd.lane = "pre\"fill\\\n";
    odd.container = true;
    Site gemm;
    gemm.kernel = "gemm";
    Site hostile;
    hostile.kernel = "void k<char const*>(\"a\\b\")\nnext\xff";
    must(sink.site(1, decode));
    must(sink.site(2, odd));
    must(sink.site(3, gemm));
    must(sink.site(4, hostile));
    for (int i = 0; i < 10; ++i) span(sink, 1, 2'000'000, 1);
    span(sink, 1, 1500, 2);
    span(sink, 2, (int64_t{1} << 36) + 1, 1);
    span(sink, 3, 1500, 1);
    span(sink, 4, 700, 2);
    for (int i = 0; i < 10; ++i) hub.kernels().launched(hub.kernels().kernel("", "gemm"));
    hub.kernels().record_handle(0x1f40, 900);
    const KernelId rope = hub.kernels().kernel("", "rope");
    for (int i = 0; i < 6; ++i) hub.kernels().launched(rope);
    for (const int64_t ns : {100, 200, 300}) hub.kernels().record(rope, ns);
}

void host_work(Telemetry& hub) {
    const std::string_view phases[] = {"tokenize", "sched\"ule"};
    must(hub.name_phases(phases));
    hub.record_phase(0, 1500);
    hub.record_phase(1, 1'500'000'000);
    hub.sched_tick({.running = 3, .batch_tokens = 64, .cache_used = 0.25});
    hub.tokens(TokenKind::kGenerated, 9'007'199'254'740'993);    // 2^53 + 1: not a double
    hub.record_stream_sync(1500);
    hub.record_blocking_copy(CopyDirection::kDeviceToHost, 4096, 3000);
    hub.record_graph_capture(5'000'000);
    hub.graph_replay(120);
    hub.spec_verified(4, 3);
    hub.record_phase(0, -1);
    hub.request_finished({.output_tokens = 11, .queue_ns = 1000, .first_token_ns = 5000, .total_ns = 105'000});
}

int dump(const std::string& level, const std::string& format) {
    static constinit Telemetry hub;
    if (level != "empty") {
        set_level(Level::kBasic);
        host_work(hub);
        device_work(hub);
        const auto config = TelemetryConfig::make({.level = level == "streams" ? "kernel" : std::string_view(level)});
        if (!config.ok()) return 2;
        hub.configure(config.value());
    }
    TelemetrySnapshot snapshot = hub.snapshot();
    if (level == "streams") {
        GpuSpanFigures& gpu = snapshot.gpu.emplace();
        gpu.begun = 10;
        gpu.recorded = 6;
        gpu.in_flight = 1;
        gpu.lost[LossReason::kRingFull] = 2;
        gpu.lost[LossReason::kDriverError] = 1;
        gpu.lanes.begun_twice = 3;
        gpu.unsupported.push_back("device 2, stream 1: no \"timestamps\"");
    }
    std::string text;
    if (format == "prometheus") text = to_prometheus(snapshot);
    if (format == "json") text = to_json_line(snapshot, level == "empty" ? std::nullopt : std::optional<int64_t>(1));
    if (format == "otlp")
        text = to_otlp_json(snapshot, {.start_unix_ns = 1, .time_unix_ns = 1'700'000'000'000'000'001});
    std::fwrite(text.data(), 1, text.size(), stdout);
    return 0;
}

}    // namespace
}    // namespace lapwing

int main(int argc, char** argv) {
    if (argc == 3) return lapwing::dump(argv[1], argv[2]);
    std::fprintf(stderr, "usage: telemetry_dump empty|streams|LEVEL prometheus|json|otlp\n");
    return 2;
}
