lapwing_test(host_span_test SOURCES host_span_test.cpp LIBRARIES lapwing::core)
lapwing_test(host_span_threads_test SOURCES host_span_threads_test.cpp LIBRARIES lapwing::core)
# A program of its own: it replaces operator new.
lapwing_test(host_span_off_test SOURCES host_span_off_test.cpp allocation_counter.cpp LIBRARIES lapwing::core)
