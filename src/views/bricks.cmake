# Bricks: the hot side is in brick_profiler.hpp, the records of threads and their folding are here.
set(brick_sources brick_id.cpp brick_stats.cpp brick_names.cpp brick_shard.cpp brick_fold.cpp brick_threads.cpp brick_profiler.cpp
                  brick_device_view.cpp brick_span_output.cpp brick_snapshot.cpp tile_stats.cpp cached_clock.cpp page_faults.cpp)
set(brick_headers lapwing/brick_id.hpp lapwing/brick_stats.hpp lapwing/brick_snapshot.hpp lapwing/brick_profiler.hpp
                  lapwing/device_bricks.hpp lapwing/detail/brick_records.hpp lapwing/tile_stats.hpp lapwing/cached_clock.hpp
                  lapwing/page_faults.hpp lapwing/async_task.hpp)
