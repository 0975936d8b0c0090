lapwing_test(unit_core_clocks SOURCES core_stamp_test.cpp core_alignment_test.cpp core_clock_test.cpp
             LIBRARIES lapwing::core)
lapwing_test(unit_core_tables SOURCES core_tables_test.cpp LIBRARIES lapwing::core)
lapwing_test(unit_core_ring SOURCES core_ring_test.cpp core_ring_clock_test.cpp core_ring_faults_test.cpp core_ring_threads_test.cpp
             LIBRARIES lapwing::backend_sim lapwing::backend_cpu)
lapwing_test(unit_core_device_spans SOURCES core_device_spans_test.cpp LIBRARIES lapwing::backend_sim)
lapwing_test(unit_core_arming SOURCES core_arming_test.cpp core_budget_test.cpp LIBRARIES lapwing::backend_sim)
lapwing_test(unit_core_levels SOURCES core_levels_test.cpp core_lanes_test.cpp LIBRARIES lapwing::backend_sim)
lapwing_test(unit_core_histogram SOURCES core_histogram_test.cpp LIBRARIES lapwing::core)
