# Timers and probes.
lapwing_test(timer_test SOURCES timer_test.cpp probe_timer_test.cpp LIBRARIES lapwing::backend_sim lapwing::backend_cpu)
find_package(nlohmann_json 3.11 REQUIRED)
lapwing_test(profile_events_test SOURCES profile_events_test.cpp LIBRARIES lapwing::export nlohmann_json::nlohmann_json)
lapwing_test(global_trace_test SOURCES trace/global_trace_test.cpp trace/trace_material.cpp
             LIBRARIES lapwing::trace lapwing::backend_sim)
