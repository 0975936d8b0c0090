// Times the bricks of a small engine, on the host and on a Vulkan queue, and writes both into one recording:
// bricks FILE. Then: lapwing report FILE --by brick
#include <cmath>
#include <cstdio>
#include <vector>

#include "bricks_engine.hpp"
#include "lapwing/brick_profiler.hpp"
#include "lapwing/brick_report.hpp"
#include "lapwing/perfetto.hpp"
#include "lapwing/this_process.hpp"

namespace {

// Stand-ins for an engine's ops on the CPU.
void rms_norm(std::vector<float>& x) {
    float squares = 0;
    for (const float value : x) squares += value * value;
    const float scale = 1.0f / std::sqrt(squares / static_cast<float>(x.size()) + 1e-5f);
    for (float& value : x) value *= scale;
}
void activation(std::vector<float>& x) {
    for (float& value : x) value /= 1.0f + std::exp(-value);
}

int run(const char* path) {
    auto file = lapwing::open_perfetto_writer(path);
    if (!file.ok()) return fail(file.error());
    // Host and device write one recording: they share its numbers, and its owner says what is of the whole.
    lapwing::SiteTable sites;
    lapwing::RecordingStats stats;
    if (const auto told = (*file)->process(lapwing::this_process()); !told.ok()) return fail(told.error());

    lapwing::BrickProfiler host({.enabled = true, .warmup_samples = 1});
    (void)host.set_sync_mode(lapwing::SyncMode::kNone);    // never refused: the work is the host's own

    std::vector<float> x(kWidth, 0.5f);
    if (const auto attached = host.attach(**file, {.sites = &sites, .first_track = 100, .whole_recording = false});
        !attached.ok())
        return fail(attached.error());
    // [bricks]
    for (int step = 0; step < kSteps; ++step) {
        decode(host, [&x](BrickId id) { id == BrickId::kActivation ? activation(x) : rms_norm(x); });
        if (const auto flushed = host.flush(); !flushed.ok()) return fail(flushed.error());
    }
    std::fputs(summary(host.snapshot()).c_str(), stdout);
    // [/bricks]
    if (const auto detached = host.detach(); !detached.ok()) return fail(detached.error());

    std::printf("%s\n", to_json(host.snapshot()).c_str());
#if LAPWING_EXAMPLE_ON_VULKAN
    lapwing::BrickProfiler device({.enabled = true, .warmup_samples = 1});
    if (const int failed = run_on_vulkan(**file, sites, device, stats); failed != 0) return failed;
    std::printf("%s%s\n", summary(device.snapshot()).c_str(), to_json(device.snapshot()).c_str());
#endif
    stats.final = true;
    if (const auto told = (*file)->stats(stats); !told.ok()) return fail(told.error());
    const auto closed = (*file)->close();
    return closed.ok() ? 0 : fail(closed.error());
}

}    // namespace

int main(int argc, char** argv) {
    if (argc == 2) return run(argv[1]);
    std::fprintf(stderr, "usage: bricks FILE\n");
    return 2;
}
