# Bricks and tiles: statistics, profiler, spans, reports.
lapwing_test(brick_stats_test SOURCES brick_stats_test.cpp tile_stats_test.cpp LIBRARIES lapwing::views)
lapwing_test(brick_profiler_test SOURCES brick_profiler_test.cpp brick_spans_test.cpp LIBRARIES lapwing::views lapwing::backend_sim)
lapwing_test(brick_threads_test SOURCES brick_threads_test.cpp LIBRARIES lapwing::views)
# A program of its own: it replaces operator new.
lapwing_test(brick_off_test SOURCES brick_off_test.cpp allocation_counter.cpp LIBRARIES lapwing::views)
lapwing_test(brick_report_test SOURCES brick_report_test.cpp LIBRARIES lapwing::export nlohmann_json::nlohmann_json)
