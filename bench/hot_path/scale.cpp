#include "scale.hpp"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "lapwing/device_ring.hpp"
#include "lapwing/host_spans.hpp"
#include "lapwing/level.hpp"
#include "lapwing/perfetto.hpp"
#include "lapwing/sim_backend.hpp"
#include "lapwing/span.hpp"
#include "loops.hpp"

namespace lapwing::bench {

namespace {

constexpr int kBlock = 100'000;    // less than a thread's ring holds

double median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

double resident_mb() {
    long pages = 0;
    if (std::FILE* const file = std::fopen("/proc/self/statm", "r"); file != nullptr) {
        if (std::fscanf(file, "%*d %ld", &pages) != 1) pages = 0;
        std::fclose(file);
    }
    return static_cast<double>(pages) * static_cast<double>(::sysconf(_SC_PAGESIZE)) * 1e-6;
}

double thread_ns() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

template <class Body>
double ticks_of(Body&& body) {
    const uint64_t begin = counter();
    body();
    return static_cast<double>(counter() - begin);
}

[[gnu::noinline, gnu::aligned(64)]] void loop_span_of_many(int n, uint32_t sites) {
    uint32_t site = 0;
    for (int i = 0; i < n; ++i) {
        site = site + 1 < sites ? site + 1 : 0;
        const Span span(1 + site);
        asm volatile("" ::: "memory");
    }
}

// Spans and floors in blocks that take turns; what the blocks wrote is discarded between them, untimed.
double ratio_of(uint64_t spans, uint32_t sites) {
    const auto block = static_cast<int>(std::min<uint64_t>(spans, kBlock));
    const uint64_t blocks = std::max<uint64_t>(spans / static_cast<uint64_t>(block), 1);
    std::vector<double> ratios;
    for (uint64_t i = 0; i < std::max<uint64_t>(blocks, 20); ++i) {
        const double floor = ticks_of([&] { loop_two_ticks(block); });
        ratios.push_back(ticks_of([&] { loop_span_of_many(block, sites); }) / floor);
        discard_spans();
    }
    return median(std::move(ratios));
}

void print_flatness() {
    std::printf("\n%-34s %12s %14s\n", "a span, as they grow", "x two ticks", "resident MB");
    set_level(Level::kBasic);
    ratio_of(kBlock, 1);
    for (const uint64_t spans : {1'000ull, 100'000ull, 10'000'000ull, 100'000'000ull}) {
        const double ratio = ratio_of(spans, 1);
        std::printf("%10llu spans of 1 site %10s %12.3f %14.1f\n", static_cast<unsigned long long>(spans), "", ratio,
                    resident_mb());
    }
    for (const uint32_t sites : {1u, 1'000u, 1'000'000u}) {
        const double ratio = ratio_of(10'000'000, sites);
        std::printf("  10000000 spans of %7u sites %4s %12.3f %14.1f\n", sites, "", ratio, resident_mb());
    }
    set_level(Level::kOff);
}

// Everything: untouched memory, changes of buffer, and a thread that drains into a file meanwhile.
void print_all_in() {
    const std::string path = "/dev/shm/lapwing-bench-" + std::to_string(::getpid()) + ".pftrace";
    auto file = open_perfetto_writer(path);
    if (!file.ok()) {
        std::printf("all-in: %s\n", file.error().message.c_str());
        return;
    }
    HostSpanCollector collector(**file, {.whole_recording = false});
    std::atomic<bool> done{false};
    set_level(Level::kBasic);
    std::thread drain([&] {
        while (!done.load(std::memory_order_relaxed)) {
            (void)collector.drain();    // a full file shows as losses
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    });
    double best_floor = 1e18;
    double best_span = 1e18;
    constexpr int kRounds = 40;
    for (int round = 0; round < kRounds; ++round) {
        best_floor = std::min(best_floor, ticks_of([] { loop_two_ticks_ring(kBlock); }));
        best_span = std::min(best_span, ticks_of([] { loop_span(kBlock); }));
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    done = true;
    drain.join();
    set_level(Level::kOff);
    (void)collector.drain();
    std::printf(
        "all-in, a drain to a file running: %.3f x two ticks and a ring (best of %d); %llu recorded, %llu lost\n",
        best_span / best_floor, kRounds, static_cast<unsigned long long>(collector.recorded()),
        static_cast<unsigned long long>(collector.lost().total()));
    ::unlink(path.c_str());
}

void print_harvest_across() {
    SimBackend sim;
    DeviceRing<SimBackend> ring{sim, {.initial_spans = 16384}};
    const auto queue = ring.add_queue(SimBackend::Queue{0}, 1);
    if (!queue.ok()) return;
    constexpr int kBursts = 2000;
    constexpr int kBurst = 500;
    std::atomic<bool> done{false};
    set_level(Level::kKernel);
    std::thread producer([&] {
        for (int burst = 0; burst < kBursts; ++burst) {
            for (int i = 0; i < kBurst; ++i) ring.end(*queue, ring.begin(*queue, 1));
            std::this_thread::sleep_for(std::chrono::microseconds(400));
        }
        done = true;
    });
    std::vector<SpanRecord> out(16384);
    std::vector<double> ns;
    uint64_t total = 0;
    for (bool last = false; !last;) {
        std::this_thread::sleep_for(std::chrono::microseconds(500));
        last = done.load();
        const double from = thread_ns();
        const std::size_t got = ring.harvest(out);
        if (got >= kBurst / 2) ns.push_back((thread_ns() - from) / static_cast<double>(got));
        total += got;
    }
    producer.join();
    set_level(Level::kOff);
    if (ns.empty()) return;
    std::printf("harvest/sim across cores, every 500 us: %.1f ns a span (median of %zu harvests); %llu of %d spans\n",
                median(ns), ns.size(), static_cast<unsigned long long>(total), kBursts * kBurst);
}

}    // namespace

void print_scale() {
    print_flatness();
    print_all_in();
    print_harvest_across();
}

}    // namespace lapwing::bench
