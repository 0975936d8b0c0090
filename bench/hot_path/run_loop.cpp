// One loop, N operations, for instruction counters: run_hot_path_loop NAME N.
#include <cstdio>
#include <cstdlib>

#include "loops.hpp"

int main(int argc, char** argv) {
    const lapwing::bench::Row* const row = argc == 3 ? lapwing::bench::find_row(argv[1]) : nullptr;
    if (row == nullptr) {
        std::fprintf(stderr, "usage: run_hot_path_loop NAME N, NAME one of:\n");
        for (const lapwing::bench::Row& known : lapwing::bench::rows()) std::fprintf(stderr, "  %s\n", known.name);
        return 2;
    }
    lapwing::bench::set_level_for(*row);
    row->loop(16);    // the thread's ring
    row->loop(std::atoi(argv[2]));
    return 0;
}
