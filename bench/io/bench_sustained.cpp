// One thread marks a million spans a second, another drains them into a recording: what is kept, and the memory.
//   bench_sustained [SECONDS] [FOLDER]    60 s into /dev/shm, 26 MB a second; the file is removed
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include "lapwing/host_spans.hpp"
#include "lapwing/level.hpp"
#include "lapwing/perfetto.hpp"
#include "lapwing/span.hpp"

namespace {

using namespace lapwing;
using Clock = std::chrono::steady_clock;

constexpr int kSpansPerMs = 1000;
constexpr auto kDrainEvery = std::chrono::milliseconds(20);

double resident_mb() {
    long pages = 0;
    if (std::FILE* const file = std::fopen("/proc/self/statm", "r"); file != nullptr) {
        if (std::fscanf(file, "%*d %ld", &pages) != 1) pages = 0;
        std::fclose(file);
    }
    return static_cast<double>(pages) * static_cast<double>(::sysconf(_SC_PAGESIZE)) * 1e-6;
}

// Bursts of a millisecond's spans; one that comes late is made up for, so that the rate holds.
void mark_spans(int seconds, std::atomic<bool>& done) {
    const Clock::time_point begin = Clock::now();
    for (int ms = 0; ms < seconds * 1000; ++ms) {
        std::this_thread::sleep_until(begin + std::chrono::milliseconds(ms));
        for (int i = 0; i < kSpansPerMs; ++i) {
            LAPWING_SPAN("Op");
        }
    }
    done = true;
}

int fail(const std::string& message) {
    std::fprintf(stderr, "bench_sustained: %s\n", message.c_str());
    return 1;
}

int run(int seconds, const std::string& folder) {
    const std::string path = folder + "/lapwing-bench-" + std::to_string(::getpid()) + ".pftrace";
    auto file = open_perfetto_writer(path);
    if (!file.ok()) return fail(file.error().message);
    HostSpanCollector collector(**file);
    set_level(Level::kBasic);
    std::atomic<bool> done{false};
    const Clock::time_point begin = Clock::now();
    std::thread marks(mark_spans, seconds, std::ref(done));
    double early_mb = 0;
    Status status;
    while (!done && status.ok()) {
        std::this_thread::sleep_for(kDrainEvery);
        status = collector.drain();
        if (early_mb == 0 && Clock::now() - begin > std::chrono::seconds(seconds) / 10) early_mb = resident_mb();
    }
    marks.join();
    const double took = std::chrono::duration<double>(Clock::now() - begin).count();
    const double late_mb = resident_mb();
    if (const Status closed = collector.close(); status.ok()) status = closed;
    ::unlink(path.c_str());
    if (!status.ok()) return fail(status.error().message);
    const uint64_t begun = static_cast<uint64_t>(seconds) * 1000 * kSpansPerMs;
    std::printf("begun %llu in %.2f s, recorded %llu, lost %llu; resident %.1f MB after a tenth, %.1f MB at the end\n",
                static_cast<unsigned long long>(begun), took, static_cast<unsigned long long>(collector.recorded()),
                static_cast<unsigned long long>(collector.lost().total()), early_mb, late_mb);
    return 0;
}

}    // namespace

int main(int argc, char** argv) {
    return run(argc > 1 ? std::max(1, std::atoi(argv[1])) : 60, argc > 2 ? argv[2] : "/dev/shm");
}
