// The hot path on several threads at once, beside the same threads that only read the counter.
#pragma once

namespace lapwing::bench {

/// Measures spans and bricks on 1, 2 and 4 threads and prints a table to stdout.
/// Shape:   processor time of each thread, so that threads may outnumber the cores; a figure is that of the median
///          thread, a ratio is to two ticks on as many threads in the same round, the median over the rounds.
void print_threads(int rounds);

}    // namespace lapwing::bench
