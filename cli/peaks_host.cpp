// lapwing bench --peaks: the processor's arithmetic and its memory.
#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <barrier>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <thread>

#include "lapwing/clock.hpp"
#include "peaks.hpp"

namespace lapwing::cli {
namespace {

constexpr int kAccumulators = 12;              // hides 4 to 5 cycles of latency on two units
constexpr int64_t kFmaIterations = 500'000;    // about 1 ms: short rounds find a machine's quiet moments
constexpr int kFmaRounds = 10;                 // for each round of the effort

using Vector128 = float __attribute__((vector_size(16)));
using Vector256 = float __attribute__((vector_size(32)));
using Vector512 = float __attribute__((vector_size(64)));

// `iterations` rounds of kAccumulators multiply-adds on vectors. Inlined into functions that say for which
// processor they are: the compiler fuses the multiply and the add where that one can.
template <class Vector>
[[gnu::always_inline]] inline float multiply_add(int64_t iterations, float factor, float addend) {
    constexpr std::size_t kLanes = sizeof(Vector) / sizeof(float);
    Vector accumulators[kAccumulators];
    Vector factors{};
    Vector addends{};
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
        factors[lane] = factor;
        addends[lane] = addend;
    }
    for (int i = 0; i < kAccumulators; ++i) accumulators[i] = factors + static_cast<float>(i);
    for (int64_t round = 0; round < iterations; ++round) {
#pragma GCC unroll 12
        for (int i = 0; i < kAccumulators; ++i) accumulators[i] = accumulators[i] * factors + addends;
    }
    float sum = 0;
    for (const Vector& vector : accumulators)
        for (std::size_t lane = 0; lane < kLanes; ++lane) sum += vector[lane];
    return sum;
}

struct Kernel {
    float (*run)(int64_t, float, float);
    std::size_t bytes;
    const char* name;
};

#if defined(__x86_64__)
[[gnu::target("avx512f,fma")]] float run_avx512(int64_t n, float f, float a) {
    return multiply_add<Vector512>(n, f, a);
}
[[gnu::target("avx2,fma")]] float run_avx2(int64_t n, float f, float a) {
    return multiply_add<Vector256>(n, f, a);
}
#endif
float run_plain(int64_t n, float f, float a) {
    return multiply_add<Vector128>(n, f, a);
}

Kernel best_kernel() {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f")) return {run_avx512, 64, "AVX-512 multiply-adds"};
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return {run_avx2, 32, "AVX2 multiply-adds"};
#endif
    return {run_plain, 16, "128-bit multiplies and adds"};
}

unsigned usable_processors() {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) == 0) return static_cast<unsigned>(std::max(1, CPU_COUNT(&set)));
    return std::max(1u, std::thread::hardware_concurrency());
}

// Runs `work(thread)` on all processors at once, `rounds` times after one to warm up. Units: ns a round, from the last
// thread ready to the last one done.
template <class Work>
std::vector<double> on_all(unsigned threads, int rounds, Work&& work) {
    std::vector<double> out;
    int64_t begin = 0;
    int finished = -1;    // the warm-up
    bool running = false;
    std::barrier gate(static_cast<std::ptrdiff_t>(threads), [&]() noexcept {
        const int64_t now = host_now().value;
        if (running && finished++ >= 0) out.push_back(static_cast<double>(now - begin));
        running = !running;
        begin = now;
    });
    out.reserve(static_cast<std::size_t>(rounds));
    {
        std::vector<std::jthread> pool;
        for (unsigned thread = 0; thread < threads; ++thread)
            pool.emplace_back([&, thread] {
                for (int round = 0; round <= rounds; ++round) {
                    gate.arrive_and_wait();
                    work(thread);
                    gate.arrive_and_wait();
                }
            });
    }
    return out;
}

std::vector<double> measure_arithmetic(unsigned threads, int rounds, const Kernel& kernel) {
    std::vector<float> sinks(std::size_t{threads} * 16);    // a cache line each
    // Values that stay near 1: denormals would be slow.
    volatile float factor = 0.999F;
    volatile float addend = 0.001F;
    const double flops = 2.0 * kAccumulators * static_cast<double>(kernel.bytes / sizeof(float)) *
                         static_cast<double>(kFmaIterations) * threads;
    std::vector<double> out;
    for (const double ns : on_all(threads, rounds * kFmaRounds, [&](unsigned thread) {
             sinks[std::size_t{thread} * 16] = kernel.run(kFmaIterations, factor, addend);
         }))
        out.push_back(flops / ns * 1e9);
    return out;
}

// Elements of an array of doubles, so that three of them do not fit the last cache, nor take more than a quarter of the
// free memory.
std::size_t triad_elements(std::vector<std::string>& notes) {
    const long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
    const auto pages = static_cast<std::size_t>(std::max(1L, sysconf(_SC_AVPHYS_PAGES)));
    const std::size_t free_bytes = pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    constexpr std::size_t kLeast = std::size_t{32} << 20;
    constexpr std::size_t kMost = std::size_t{256} << 20;
    const std::size_t cached = cache > 0 ? static_cast<std::size_t>(cache) : 0;
    const std::size_t wanted = std::clamp(cached * 4 / 3, kLeast, kMost);
    const std::size_t bytes = std::min(wanted, free_bytes / 12);
    if (3 * bytes < 2 * cached)
        notes.push_back(fmt::format("bytes_per_s: the three arrays of {} MiB partly fit the cache of {} MiB",
                                    bytes >> 20, cached >> 20));
    return std::max<std::size_t>(bytes / sizeof(double), std::size_t{1} << 20);
}

// STREAM's triad: 24 bytes an element. The read of a line before it is written is not counted, as there. A round takes
// the next slice of the arrays, so that rounds are short and a slice has left the caches when its turn comes again.
constexpr std::size_t kSlices = 16;
std::vector<double> measure_memory(unsigned threads, int rounds, std::vector<std::string>& notes) {
    const std::size_t slice = triad_elements(notes) / threads / kSlices;
    const std::size_t share = slice * kSlices;
    const auto a = std::make_unique_for_overwrite<double[]>(share * threads);
    const auto b = std::make_unique_for_overwrite<double[]>(share * threads);
    const auto c = std::make_unique_for_overwrite<double[]>(share * threads);
    volatile double scalar = 3;
    std::vector<std::size_t> rounds_of(std::size_t{threads} * 8);    // a cache line each
    bool touched = false;
    const auto sweep = [&](unsigned thread) {
        double* const to = a.get() + share * thread;
        double* const first = b.get() + share * thread;
        double* const second = c.get() + share * thread;
        const double factor = scalar;
        if (!touched) {    // the warm-up round puts pages near the thread that uses them
            for (std::size_t i = 0; i < share; ++i) to[i] = first[i] = second[i] = 1;
            return;
        }
        const std::size_t from = rounds_of[std::size_t{thread} * 8]++ % kSlices * slice;
        for (std::size_t i = from; i < from + slice; ++i) to[i] = first[i] + factor * second[i];
        asm volatile("" : : "r"(to) : "memory");
    };
    (void)on_all(threads, 0, sweep);
    touched = true;
    const double bytes = 3.0 * sizeof(double) * static_cast<double>(slice * threads);
    std::vector<double> out;
    for (const double ns : on_all(threads, rounds * static_cast<int>(kSlices), sweep)) out.push_back(bytes / ns * 1e9);
    return out;
}

std::string processor_name() {
    std::ifstream info("/proc/cpuinfo");
    for (std::string line; std::getline(info, line);) {
        const std::size_t colon = line.find(": ");
        if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
    }
    return "processor";
}

}    // namespace

DevicePeaks measure_host_peaks(const BenchEffort& effort) {
    DevicePeaks out{.device = processor_name(), .api = "host", .driver = "", .origin = "measured"};
    const unsigned threads = usable_processors();
    const Kernel kernel = best_kernel();
    const std::optional<PeakSample> flops = peak_of(measure_arithmetic(threads, effort.rounds, kernel));
    const std::optional<PeakSample> bytes = peak_of(measure_memory(threads, effort.rounds, out.notes));
    out.f32_flops = flops->best;
    out.bytes_per_s = bytes->best;
    out.notes.push_back(fmt::format("f32_flops: {} on {} threads, best of {} rounds; their median is {:.3g}",
                                    kernel.name, threads, effort.rounds * kFmaRounds, flops->median));
    out.notes.push_back(fmt::format("bytes_per_s: triad on {} threads, best of {} rounds; their median is {:.3g}",
                                    threads, effort.rounds * static_cast<int>(kSlices), bytes->median));
    out.notes.emplace_back("f16_flops, int8_ops: not measured on the host");
    return out;
}

}    // namespace lapwing::cli
