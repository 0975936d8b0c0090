# Bricks: the hot side is in brick_profiler.hpp, the records of threads and their folding are here.
set(brick_sources brick_id.cpp brick_stats.cpp)
set(brick_headers lapwing/brick_id.hpp lapwing/brick_stats.hpp)
