// A small scheduler that times its lanes over two queues and writes a recording: lanes FILE [cpu|sim].
// It prints a lane's own figures ("decode 24 spans 123456 ns"); lapwing report FILE --by lane prints the same.
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>

#include "lapwing/cpu_backend.hpp"
#include "lapwing/device_spans.hpp"
#include "lapwing/perfetto.hpp"
#include "lapwing/sim_backend.hpp"
#include "lapwing/span_tee.hpp"
#include "lapwing/telemetry.hpp"
#include "lapwing/telemetry_stream.hpp"

namespace {

using lapwing::Telemetry;

constexpr int kSteps = 24;

int fail(const lapwing::Error& error) {
    std::fprintf(stderr, "%s\n", error.message.c_str());
    return 1;
}

// One step: requests come in and their prompts are worked on now and then, tokens are made always. Prefill and decode
// have a stream each. `work` keeps a queue busy.
template <class Work>
void serve_step(Telemetry& hub, int step, lapwing::KernelId gemm, const std::array<uint32_t, 2>& streams, Work&& work) {
    hub.step_begin();
    if (step % 4 == 0) {
        hub.lane_begin(lapwing::kAdmit, streams[0]);
        work(streams[0], 1);
        hub.lane_end(lapwing::kAdmit, streams[0]);
        hub.lane_begin(lapwing::kPrefill, streams[0]);
        for (int layer = 0; layer < 4; ++layer) {
            const lapwing::KernelSpan span = hub.kernel_begin(gemm, streams[0]);
            work(streams[0], 20);
            hub.kernel_end(span);
        }
        hub.lane_end(lapwing::kPrefill, streams[0]);
        hub.tokens(lapwing::TokenKind::kPrompt, 128);
    }
    hub.lane_begin(lapwing::kDecode, streams[1]);
    const lapwing::KernelSpan span = hub.kernel_begin(gemm, streams[1]);
    work(streams[1], 5);
    hub.kernel_end(span);
    hub.lane_end(lapwing::kDecode, streams[1]);
    hub.tokens(lapwing::TokenKind::kGenerated, 8);
}

void print_lanes(const Telemetry& hub) {
    std::map<std::string, std::pair<uint64_t, uint64_t>> lanes;    // over all devices
    for (const lapwing::LaneFigures& lane : hub.snapshot().lanes) {
        if (!lane.time_ns) continue;
        lanes[lane.lane].first += lane.time_ns->count();
        lanes[lane.lane].second += lane.time_ns->sum;
    }
    for (const auto& [lane, figures] : lanes)
        std::printf("%s %llu spans %llu ns\n", lane.c_str(), static_cast<unsigned long long>(figures.first),
                    static_cast<unsigned long long>(figures.second));
}

// `queues`: the device's two queues; each is in the ring twice, for its kernels and for its lanes.
template <lapwing::Backend B, class Work>
int serve(const char* path, B& backend, const std::array<typename B::Queue, 2>& queues,
          const lapwing::DeviceRingOptions& options, const char* api, Work&& work) {
    auto file = lapwing::open_perfetto_writer(path);
    if (!file.ok()) return fail(file.error());
    Telemetry& hub = lapwing::telemetry();
    lapwing::SpanTee recording_and_hub({file.value().get(), &hub.sink()});
    lapwing::DeviceRing<B> ring(backend, options);
    const lapwing::DeviceInfo device{.id = 1, .api = api, .name = "example", .driver = "", .clock = {}};
    lapwing::DeviceSpanCollector<B> collector(ring, recording_and_hub, device);
    lapwing::Status closed;
    {
        std::array<lapwing::StreamQueues, 2> numbers;
        for (std::size_t i = 0; i < queues.size(); ++i) {
            const std::string name = "queue " + std::to_string(i);
            const auto kernels = collector.add_queue(queues[i], name);
            if (!kernels.ok()) return fail(kernels.error());
            const auto lanes = collector.add_queue(queues[i], name + " lanes");
            if (!lanes.ok()) return fail(lanes.error());
            numbers[i] = {kernels.value(), lanes.value()};
        }
        const lapwing::TelemetryStream<B> prompts(hub, ring, collector, device, numbers[0]);
        const lapwing::TelemetryStream<B> tokens(hub, ring, collector, device, numbers[1]);
        const auto config = lapwing::TelemetryConfig::make({.level = "kernel", .kernel_span_every = 8});
        if (!config.ok()) return fail(config.error());
        hub.configure(config.value());
        const lapwing::KernelId gemm = hub.kernels().kernel("example", "gemm");
        for (int step = 0; step < kSteps; ++step)
            serve_step(hub, step, gemm, {prompts.number(), tokens.number()}, work);
        lapwing::set_level(lapwing::Level::kOff);
        hub.step_begin();    // ends the last step
        closed = collector.close();
    }
    if (!closed.ok()) return fail(closed.error());
    print_lanes(hub);
    return 0;
}

int serve_cpu(const char* path) {
    lapwing::CpuBackend cpu;
    double sum = 0;
    const int result =
        serve(path, cpu, {}, {.initial_spans = 64, .max_spans = 4096}, "cpu", [&sum](uint32_t, int amount) {
            for (int i = 0; i < amount * 1000; ++i) sum += std::sqrt(static_cast<double>(i));
        });
    return sum > 0 ? result : 1;
}

int serve_sim(const char* path) {
    lapwing::SimBackend sim;
    return serve(path, sim, {lapwing::SimBackend::Queue{0}, lapwing::SimBackend::Queue{1}},
                 {.max_spans = 4096, .now = lapwing::SimBackend::host_clock, .now_context = &sim}, "sim",
                 [&sim](uint32_t, int amount) { sim.advance(static_cast<uint64_t>(amount) * 1000); });
}

}    // namespace

int main(int argc, char** argv) {
    const char* const backend = argc == 3 ? argv[2] : "cpu";
    if (argc >= 2 && std::strcmp(backend, "cpu") == 0) return serve_cpu(argv[1]);
    if (argc >= 2 && std::strcmp(backend, "sim") == 0) return serve_sim(argv[1]);
    std::fprintf(stderr, "usage: lanes FILE [cpu|sim]\n");
    return 2;
}
