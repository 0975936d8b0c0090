lapwing_test(conformance_core SOURCES core_backends_test.cpp LIBRARIES lapwing::backend_sim lapwing::backend_cpu)
