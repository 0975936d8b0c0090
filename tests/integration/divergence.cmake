# Two recordings compared by the command; the example is the program that makes them.
if(TARGET lapwing_cli AND LAPWING_BUILD_EXAMPLES)
  lapwing_python_tests(divergence_command_test
    ENVIRONMENT LAPWING=$<TARGET_FILE:lapwing_cli> WRITE_RECORDING=$<TARGET_FILE:write_recording>
                DIVERGENCE_EXAMPLE=$<TARGET_FILE:example_divergence> LAPWING_SOURCE_DIR=${PROJECT_SOURCE_DIR})
endif()
# ggml's callback on a real model; the test compiles its program, because llama.cpp is fetched after the build.
include(${PROJECT_SOURCE_DIR}/cmake/lapwing_vulkan_drivers.cmake)
if(TARGET lapwing_cli)
  set(llama_run_dir ${PROJECT_BINARY_DIR}/llama-divergence)
  file(MAKE_DIRECTORY ${llama_run_dir})
  lapwing_python_tests(llama_divergence_test LABELS llama release TIMEOUT 900
    ENVIRONMENT LAPWING=$<TARGET_FILE:lapwing_cli> LAPWING_SOURCE_DIR=${PROJECT_SOURCE_DIR} CXX=${CMAKE_CXX_COMPILER}
                LAPWING_ARCHIVES=$<TARGET_FILE:lapwing_trace>:$<TARGET_FILE:lapwing_core>
                TEST_WORKLOADS=${PROJECT_SOURCE_DIR}/build/workloads TEST_ICD=${LAPWING_LAVAPIPE_ICD}
                XDG_RUNTIME_DIR=${llama_run_dir} MESA_SHADER_CACHE_DIR=${PROJECT_SOURCE_DIR}/build/shader-cache)
endif()
