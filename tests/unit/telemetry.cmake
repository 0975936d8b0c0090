# Telemetry: instruments, the kernel table, the hub and what it hands out.
lapwing_test(telemetry_metrics_test SOURCES telemetry_metrics_test.cpp LIBRARIES lapwing::core)
lapwing_test(telemetry_kernel_table_test SOURCES telemetry_kernel_table_test.cpp LIBRARIES lapwing::telemetry)
lapwing_test(telemetry_launches_test SOURCES telemetry_launch_trace_test.cpp telemetry_kernel_audit_test.cpp
             LIBRARIES lapwing::telemetry)
lapwing_test(telemetry_hub_test SOURCES telemetry_hub_test.cpp telemetry_host_test.cpp
             LIBRARIES lapwing::telemetry lapwing::backend_sim)
# A program of its own: it replaces operator new.
lapwing_test(telemetry_off_test SOURCES telemetry_off_test.cpp allocation_counter.cpp LIBRARIES lapwing::telemetry lapwing::backend_sim)

add_library(fake_nvtx MODULE telemetry_fake_nvtx.cpp)
target_link_libraries(fake_nvtx PRIVATE lapwing_settings)
lapwing_test(telemetry_nvtx_test SOURCES telemetry_nvtx_test.cpp LIBRARIES lapwing::telemetry lapwing::backend_sim)
target_compile_definitions(telemetry_nvtx_test PRIVATE "LAPWING_FAKE_NVTX=\"$<TARGET_FILE:fake_nvtx>\"")
add_dependencies(telemetry_nvtx_test fake_nvtx)

add_executable(telemetry_dump telemetry_dump.cpp)
target_link_libraries(telemetry_dump PRIVATE lapwing_settings lapwing::export)
if(Python3_FOUND)
  add_test(NAME TelemetryExport.IsReadByOthers
           COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/telemetry_export_check.py $<TARGET_FILE:telemetry_dump>)
  set_tests_properties(TelemetryExport.IsReadByOthers PROPERTIES TIMEOUT 60)
endif()
