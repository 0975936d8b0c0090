# Timers and probes.
lapwing_test(timer_test SOURCES timer_test.cpp probe_timer_test.cpp LIBRARIES lapwing::backend_sim lapwing::backend_cpu)
