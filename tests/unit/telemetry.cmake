# Telemetry: instruments, the kernel table, the hub and what it hands out.
lapwing_test(telemetry_metrics_test SOURCES telemetry_metrics_test.cpp LIBRARIES lapwing::core)
