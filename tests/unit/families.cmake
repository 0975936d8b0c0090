lapwing_test(families_test SOURCES families_test.cpp profile_checks_test.cpp LIBRARIES lapwing::views lapwing::backend_sim)
