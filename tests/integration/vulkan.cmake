# The Vulkan layer end to end, watched by layers that share no code with it: each test method runs once for each driver.
include(${PROJECT_SOURCE_DIR}/cmake/lapwing_vulkan.cmake)
if(NOT TARGET lapwing_vulkan_layer OR NOT TARGET lapwing_cli)
  return()
endif()
include(${PROJECT_SOURCE_DIR}/cmake/lapwing_vulkan_drivers.cmake)
find_package(Python3 REQUIRED COMPONENTS Interpreter)

set(vulkan_environment
  LAPWING=$<TARGET_FILE:lapwing_cli>
  TEST_PROGRAMS=$<$<TARGET_EXISTS:vk_run>:${PROJECT_BINARY_DIR}/tests/programs>
  LAPWING_SOURCE_DIR=${PROJECT_SOURCE_DIR}
  TEST_LAYERS=${PROJECT_BINARY_DIR}/lib/test_layers
  TEST_WORKLOADS=${PROJECT_SOURCE_DIR}/build/workloads
  TEST_SHADER_CACHE=${PROJECT_SOURCE_DIR}/build/shader-cache)
if(CMAKE_CXX_FLAGS MATCHES "-fsanitize")
  # The drivers and the loader keep what they allocate; a leak of ours is looked for by tests without a driver.
  list(APPEND vulkan_environment TEST_SANITIZED=1 ASAN_OPTIONS=detect_leaks=0)
endif()
if(CMAKE_CXX_FLAGS MATCHES "-fsanitize=[a-z,]*address")
  # Programs that are not ours get AddressSanitizer's runtime preloaded. clang links it in, and so has none to preload.
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=libasan.so OUTPUT_VARIABLE asan_runtime
                  OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(IS_ABSOLUTE "${asan_runtime}")
    list(APPEND vulkan_environment TEST_SANITIZER_RUNTIME=${asan_runtime})
  endif()
endif()

# lapwing_vulkan_tests(SCRIPT DRIVERS lavapipe|swiftshader|mock... [TIMED] [LABELS ...] [SLOW classes] [TIMEOUT s])
# TIMED: how long the device works matters to it, if loosely, so that no other test may run beside it.
function(lapwing_vulkan_tests script)
  cmake_parse_arguments(ARG "TIMED" "TIMEOUT" "DRIVERS;LABELS;SLOW" ${ARGN})
  set(processors 1)
  if(ARG_TIMED)
    set(processors 2)
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${script}.py)
  file(STRINGS ${CMAKE_CURRENT_SOURCE_DIR}/${script}.py lines REGEX "^(class [A-Za-z]+|    def test_[a-z0-9_]+)")
  foreach(line IN LISTS lines)
    if(line MATCHES "^class ([A-Za-z]+)")
      set(class ${CMAKE_MATCH_1})
      continue()
    endif()
    string(REGEX MATCH "test_[a-z0-9_]+" method "${line}")
    set(labels vulkan ${ARG_LABELS})
    if(class IN_LIST ARG_SLOW)
      list(APPEND labels slow)
    endif()
    foreach(driver IN LISTS ARG_DRIVERS)
      string(TOUPPER ${driver} upper)
      set(name ${script}.${class}.${method}.${driver})
      add_test(NAME ${name} COMMAND Python3::Interpreter -B ${CMAKE_CURRENT_SOURCE_DIR}/${script}.py ${class}.${method})
      set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT ${ARG_TIMEOUT} PROCESSORS ${processors}
        LABELS "${labels}"
        ENVIRONMENT "${vulkan_environment};TEST_DRIVER=${driver};TEST_ICD=${LAPWING_${upper}_ICD}")
    endforeach()
  endforeach()
endfunction()

lapwing_vulkan_tests(vulkan_witness_test TIMED DRIVERS lavapipe swiftshader)
lapwing_vulkan_tests(vulkan_spans_test DRIVERS lavapipe swiftshader)
lapwing_vulkan_tests(vulkan_faults_test DRIVERS lavapipe swiftshader TIMEOUT 300)
lapwing_vulkan_tests(vulkan_passes_test TIMED DRIVERS lavapipe swiftshader)
lapwing_vulkan_tests(vulkan_steps_test DRIVERS lavapipe swiftshader)
lapwing_vulkan_tests(vulkan_waits_test TIMED DRIVERS lavapipe swiftshader)
lapwing_vulkan_tests(vulkan_queues_test DRIVERS lavapipe swiftshader)
lapwing_vulkan_tests(vulkan_mock_test DRIVERS mock)
lapwing_vulkan_tests(vulkan_times_test TIMED DRIVERS lavapipe swiftshader)
lapwing_vulkan_tests(vulkan_lanes_test TIMED DRIVERS lavapipe swiftshader TIMEOUT 300)
lapwing_vulkan_tests(vulkan_always_on_test TIMED DRIVERS lavapipe swiftshader TIMEOUT 300)
lapwing_vulkan_tests(vulkan_loading_test DRIVERS lavapipe swiftshader)
lapwing_vulkan_tests(vulkan_ends_test DRIVERS lavapipe swiftshader)
lapwing_vulkan_tests(vulkan_processes_test TIMED DRIVERS lavapipe swiftshader)
# Programs that nobody here wrote. ggml and ncnn need 16-bit storage, which SwiftShader lacks; Dawn refuses lavapipe.
lapwing_vulkan_tests(vulkan_llama_test TIMED DRIVERS lavapipe LABELS llama TIMEOUT 300)
lapwing_vulkan_tests(vulkan_tune_test TIMED DRIVERS lavapipe LABELS llama TIMEOUT 600)
lapwing_vulkan_tests(vulkan_batching_test DRIVERS lavapipe LABELS llama SLOW Batching TIMEOUT 1800)
lapwing_vulkan_tests(vulkan_upscayl_test DRIVERS lavapipe LABELS programs TIMEOUT 300)
lapwing_vulkan_tests(vulkan_ffmpeg_test DRIVERS lavapipe swiftshader LABELS programs TIMEOUT 300)
lapwing_vulkan_tests(vulkan_dawn_test DRIVERS swiftshader LABELS programs TIMEOUT 300)
lapwing_vulkan_tests(vulkan_onnx_test DRIVERS swiftshader LABELS programs SLOW LargeNetworks TIMEOUT 900)
