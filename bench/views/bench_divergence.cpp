// The fingerprint of a tensor of a million elements, beside what only reads it.
#include <benchmark/benchmark.h>

#include <cstring>
#include <random>
#include <vector>

#include "lapwing/fingerprint.hpp"

namespace {

using namespace lapwing;

constexpr std::size_t kElements = 1'000'000;

const std::vector<float>& values() {
    static const std::vector<float> made = [] {
        std::mt19937 random(1);
        std::normal_distribution<float> draw;
        std::vector<float> out(kElements);
        for (float& value : out) value = draw(random);
        return out;
    }();
    return made;
}

void report(benchmark::State& state) {
    state.SetItemsProcessed(static_cast<int64_t>(state.iterations() * kElements));
}

// One sum in doubles, in order: what a fingerprint does once for each of its nineteen.
void floor_sum(benchmark::State& state) {
    const std::vector<float>& data = values();
    for (auto _ : state) {
        double sum = 0;
        for (const float value : data) sum += static_cast<double>(value);
        benchmark::DoNotOptimize(sum);
    }
    report(state);
}
BENCHMARK(floor_sum)->Name("divergence/floor_sum_1M")->Unit(benchmark::kMillisecond);

void floor_copy(benchmark::State& state) {
    std::vector<float> copy(kElements);
    for (auto _ : state) {
        std::memcpy(copy.data(), values().data(), kElements * sizeof(float));
        benchmark::DoNotOptimize(copy.data());
        benchmark::ClobberMemory();
    }
    report(state);
}
BENCHMARK(floor_copy)->Name("divergence/floor_memcpy_1M")->Unit(benchmark::kMillisecond);

void fingerprint_1m(benchmark::State& state) {
    for (auto _ : state) {
        const Result<Fingerprint> print = fingerprint_of({values().data(), kElements, DType::kF32});
        benchmark::DoNotOptimize(print.value().sum);
    }
    report(state);
}
BENCHMARK(fingerprint_1m)->Name("divergence/fingerprint_1M")->Unit(benchmark::kMillisecond);

}    // namespace

BENCHMARK_MAIN();
