lapwing_test(brick_stats_test SOURCES brick_stats_test.cpp LIBRARIES lapwing::views)
