// Ours beside its floor: rounds in which all loops take turns, so that all see the same weather.
#pragma once

namespace lapwing::bench {

/// Measures every row in interleaved rounds and prints the table of ratios to stdout.
/// Shape:   a round is 10 slices of 20 blocks of 1000 operations for each loop; a round's ratio is that of median
///          blocks; "median" and "best" are over the rounds.
void print_ratios(int rounds);

}    // namespace lapwing::bench
