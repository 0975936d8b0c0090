// The hot path beside its floors, by Google Benchmark; ends with the table of ratios, which is what counts: its rounds
// are interleaved, and single figures drift with the machine.
#include <benchmark/benchmark.h>

#include "interleaved.hpp"
#include "lapwing/level.hpp"
#include "loops.hpp"
#include "scale.hpp"
#include "threads.hpp"

namespace lapwing::bench {
namespace {

constexpr int kBlockOps = 1000;
constexpr int kBlocksPerDrain = 200;    // a ring holds 253 of them
constexpr int kRounds = 12;

void run_loop(benchmark::State& state, const Row& row) {
    set_level_for(row);
    uint64_t dropped = 0;
    int blocks = 0;
    for (auto _ : state) {
        row.loop(kBlockOps);
        if (row.enabled && ++blocks % kBlocksPerDrain == 0) {
            state.PauseTiming();
            dropped += discard_spans();
            state.ResumeTiming();
        }
    }
    dropped += discard_spans();
    set_level(Level::kOff);
    state.SetItemsProcessed(state.iterations() * kBlockOps);
    if (row.enabled) state.counters["dropped"] = static_cast<double>(dropped);
}

// Only the harvest is timed: a block of 1000 spans that are there to be taken.
void run_harvest(benchmark::State& state) {
    SimSpans sim;
    set_level(Level::kKernel);
    for (auto _ : state) {
        sim.begin_end(kBlockOps);
        const uint64_t begin = counter();
        const std::size_t got = sim.harvest(kBlockOps);
        state.SetIterationTime(static_cast<double>(counter() - begin) * counter_ns() * 1e-9);
        if (got != kBlockOps) {
            state.SkipWithError("harvest did not return every span");
            break;
        }
    }
    set_level(Level::kOff);
    state.SetItemsProcessed(state.iterations() * kBlockOps);
}

}    // namespace
}    // namespace lapwing::bench

int main(int argc, char** argv) {
    using namespace lapwing::bench;
    for (const Row& row : rows())
        benchmark::RegisterBenchmark(row.name, [&row](benchmark::State& state) { run_loop(state, row); });
    benchmark::RegisterBenchmark("harvest/sim", run_harvest)->UseManualTime();
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
    benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();
    print_ratios(kRounds);
    print_threads(kRounds);
    print_scale();
    return 0;
}
