// One loop, N operations, for instruction counters: run_hot_path_loop NAME N.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "lapwing/level.hpp"
#include "loops.hpp"

namespace {

constexpr const char* kRing = "ring/span_and_harvest";

// A device span on the sim backend, begin to record.
bool run_ring(int spans) {
    constexpr int kBlock = 1000;
    lapwing::bench::SimSpans sim;
    lapwing::set_level(lapwing::Level::kKernel);
    for (int done = 0; done < spans; done += kBlock) {
        sim.begin_end(kBlock);
        if (sim.harvest(kBlock) != kBlock) return false;
    }
    return true;
}

}    // namespace

int main(int argc, char** argv) {
    if (argc == 3 && std::strcmp(argv[1], kRing) == 0) return run_ring(std::atoi(argv[2])) ? 0 : 1;
    const lapwing::bench::Row* const row = argc == 3 ? lapwing::bench::find_row(argv[1]) : nullptr;
    if (row == nullptr) {
        std::fprintf(stderr, "usage: run_hot_path_loop NAME N, NAME one of:\n");
        for (const lapwing::bench::Row& known : lapwing::bench::rows()) std::fprintf(stderr, "  %s\n", known.name);
        std::fprintf(stderr, "  %s\n", kRing);
        return 2;
    }
    lapwing::bench::set_level_for(*row);
    row->loop(16);    // the thread's ring
    row->loop(std::atoi(argv[2]));
    return 0;
}
