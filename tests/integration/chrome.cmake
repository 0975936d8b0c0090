# Chrome traces, read by readers that share no code with the writer.
add_executable(write_chrome write_chrome.cpp ../unit/trace/random_recording.cpp ../unit/trace/trace_material.cpp)
target_link_libraries(write_chrome PRIVATE lapwing_settings lapwing::trace GTest::gtest)
target_link_options(write_chrome PRIVATE -Wl,--wrap=pwrite)
target_include_directories(write_chrome PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/tests)
lapwing_python_tests(chrome_trace_test ENVIRONMENT WRITE_CHROME=$<TARGET_FILE:write_chrome>)

# The timer examples leave such traces.
if(LAPWING_BUILD_EXAMPLES)
  set(example_environment TIMER_EXAMPLE=$<TARGET_FILE:example_timer>)
  if(TARGET vulkan_device AND TARGET lapwing_backend_vulkan)
    include(${PROJECT_SOURCE_DIR}/cmake/lapwing_vulkan_drivers.cmake)
    list(APPEND example_environment TIMER_VULKAN_EXAMPLE=$<TARGET_FILE:example_timer_vulkan>
         TEST_ICD=${LAPWING_LAVAPIPE_ICD} LP_NUM_THREADS=0 MESA_SHADER_CACHE_DIR=${PROJECT_BINARY_DIR}/vulkan-run/shader-cache)
  endif()
  lapwing_python_tests(timer_example_test ENVIRONMENT ${example_environment})
endif()
