// What stays the same as spans, names and threads grow.
#pragma once

namespace lapwing::bench {

/// Prints to stdout: a span's cost over 10^3 to 10^8 spans and 1 to 10^6 sites, with a drain into a file going on, and
/// a harvest's cost where another thread marks.
/// Shape:   ratios to the floor in blocks that take turns; takes about a minute.
void print_scale();

}    // namespace lapwing::bench
