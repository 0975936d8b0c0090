# The OpenCL layer end to end on PoCL, watched by a layer that shares no code with it.
if(NOT TARGET lapwing_opencl_layer OR NOT TARGET lapwing_cli)
  return()
endif()
find_package(Python3 REQUIRED COMPONENTS Interpreter)
find_file(LAPWING_POCL_ICD pocl.icd PATHS /etc/OpenCL/vendors NO_DEFAULT_PATH)
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/opencl-run/kernel-cache)

set(opencl_environment
  LAPWING=$<TARGET_FILE:lapwing_cli>
  TEST_PROGRAMS=$<$<TARGET_EXISTS:cl_run>:${PROJECT_BINARY_DIR}/tests/programs>
  TEST_LAYERS=${PROJECT_BINARY_DIR}/lib/test_layers
  TEST_KERNEL_CACHE=${PROJECT_BINARY_DIR}/opencl-run/kernel-cache)
if(LAPWING_POCL_ICD)
  list(APPEND opencl_environment TEST_POCL_ICD=${LAPWING_POCL_ICD})
endif()
if(CMAKE_CXX_FLAGS MATCHES "-fsanitize")
  list(APPEND opencl_environment TEST_SANITIZED=1 ASAN_OPTIONS=detect_leaks=0)
endif()
if(CMAKE_CXX_FLAGS MATCHES "-fsanitize=[a-z,]*address")
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=libasan.so OUTPUT_VARIABLE asan_runtime
                  OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(IS_ABSOLUTE "${asan_runtime}")
    list(APPEND opencl_environment TEST_SANITIZER_RUNTIME=${asan_runtime})
  endif()
endif()

# lapwing_opencl_tests(SCRIPT [LABELS ...] [SLOW classes] [TIMEOUT s])
function(lapwing_opencl_tests script)
  cmake_parse_arguments(ARG "" "TIMEOUT" "LABELS;SLOW" ${ARGN})
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
    set(labels opencl ${ARG_LABELS})
    if(class IN_LIST ARG_SLOW)
      list(APPEND labels slow)
    endif()
    set(name ${script}.${class}.${method})
    add_test(NAME ${name} COMMAND Python3::Interpreter -B ${CMAKE_CURRENT_SOURCE_DIR}/${script}.py ${class}.${method})
    set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT ${ARG_TIMEOUT} LABELS "${labels}"
      ENVIRONMENT "${opencl_environment}")
  endforeach()
endfunction()

lapwing_opencl_tests(opencl_layer_test TIMEOUT 300)
lapwing_opencl_tests(opencl_programs_test LABELS programs SLOW Piglit TIMEOUT 400)
