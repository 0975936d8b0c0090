lapwing_test(divergence_test SOURCES divergence_test.cpp LIBRARIES lapwing::views)
