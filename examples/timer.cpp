// Times an engine's ops with probes: timer [TRACE [PROFILE]]
// Prints what each op took; TRACE is a Chrome trace (open it in https://ui.perfetto.dev), PROFILE gets a line of JSON.
// Host time here; timer_vulkan.cpp does the same with a GPU's stamps.
#include <cmath>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "lapwing/cpu_timer.hpp"
#include "lapwing/global_trace.hpp"
#include "lapwing/probe_timer.hpp"
#include "lapwing/profile_events.hpp"
#include "lapwing/statistics.hpp"

namespace {

constexpr int kSteps = 20;
constexpr uint32_t kLayers = 3;

// Stand-ins for an engine's ops.
void attention(std::vector<float>& x) {
    for (float& value : x) value = std::tanh(value + 0.1f);
}
void experts(std::vector<float>& x) {
    for (int expert = 0; expert < 4; ++expert)
        for (float& value : x) value /= 1.0f + std::exp(-value);
}

using Samples = std::map<std::string, std::vector<double>>;    // us by op

Samples decode(bool probes_on) {
    lapwing::TimerPool<lapwing::CpuBackend>& pool = lapwing::cpu_timer_pool();
    Samples samples;
    std::vector<float> x(8192, 0.5f);
    for (int step = 0; step < kSteps; ++step) {
        for (uint32_t layer = 1; layer <= kLayers; ++layer) {
            auto timer = lapwing::start_probe_timer_if(probes_on, pool);
            attention(x);
            const auto reading =
                lapwing::finish_probe_timer_traced(timer, lapwing::global_trace(), "attn", "attention", layer);
            if (reading && reading->ready()) samples["attn"].push_back(*reading->us());

            lapwing::ProbeScope scope(probes_on, pool, lapwing::global_trace(), "moe", "moe", layer);
            experts(x);    // and whatever returns early: the scope ends the probe
        }
    }
    return samples;
}

void print(const Samples& samples) {
    for (const auto& [op, us] : samples) {
        const lapwing::SampleStatistics all = lapwing::sample_statistics(us);
        const auto tail = lapwing::percentile(us, 99);
        if (!all.ci95_half_width || !tail.ok()) continue;
        std::printf("%s: %zu times, mean %.3f us +- %.3f (95 %%), p99 %.3f us\n", op.c_str(), us.size(), *all.mean,
                    *all.ci95_half_width, *tail);
    }
}

int fail(const lapwing::Error& error) {
    std::fprintf(stderr, "%s\n", error.message.c_str());
    return 1;
}

int run(const char* trace, const char* profile) {
    lapwing::GlobalTraceConfig config = lapwing::trace_config_from_env();    // LAPWING_TRACE_OUT, unless there is TRACE
    if (trace != nullptr) config.path = trace;
    if (const lapwing::Status opened = lapwing::open_global_trace(config); !opened.ok()) return fail(opened.error());

    const Samples samples = decode(true);
    print(samples);
    if (!decode(false).empty()) return 1;    // off: no timer, no time

    if (profile != nullptr) {
        auto writer = lapwing::ProfileWriter::open({profile, {}});
        if (!writer.ok()) return fail(writer.error());
        const double mean = *lapwing::sample_statistics(samples.at("attn")).mean;
        const lapwing::Status pushed =
            (*writer)->push("decode_prof", {{"layers", int64_t{kLayers}}}, {{"attn", mean}}, false);
        if (!pushed.ok()) return fail(pushed.error());
    }
    if (const lapwing::ProbeTrace* const open = lapwing::global_trace())
        std::printf("%llu probes traced\n", static_cast<unsigned long long>(open->recorded()));
    const lapwing::Status closed = lapwing::close_global_trace();
    return closed.ok() ? 0 : fail(closed.error());
}

}    // namespace

int main(int argc, char** argv) {
    if (argc <= 3) return run(argc > 1 ? argv[1] : nullptr, argc > 2 ? argv[2] : nullptr);
    std::fprintf(stderr, "usage: timer [TRACE [PROFILE]]\n");
    return 2;
}
