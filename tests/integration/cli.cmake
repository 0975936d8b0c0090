# Tests of the lapwing command, of the tree's structure and of the installed package, in Python: each test method is one
# CTest test, and 77 means skipped.
# The interpreter itself: a version manager's shim in PATH takes several times as long to start, for every test.
execute_process(COMMAND python3 -c "import sys; print(sys.executable)" OUTPUT_VARIABLE python_itself
                OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(python_itself)
  set(Python3_EXECUTABLE ${python_itself})
endif()
find_package(Python3 REQUIRED COMPONENTS Interpreter)

# lapwing_python_tests(SCRIPT [LABELS ...] [ENVIRONMENT ...] [TIMEOUT s])
function(lapwing_python_tests script)
  cmake_parse_arguments(ARG "" "TIMEOUT" "LABELS;ENVIRONMENT" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${script}.py)
  file(STRINGS ${CMAKE_CURRENT_SOURCE_DIR}/${script}.py lines REGEX "^(class [A-Za-z]+|    def test_[a-z0-9_]+)")
  foreach(line IN LISTS lines)
    if(line MATCHES "^class ([A-Za-z]+)")
      set(class ${CMAKE_MATCH_1})
    elseif(line MATCHES "def (test_[a-z0-9_]+)")
      set(name ${script}.${class}.${CMAKE_MATCH_1})
      add_test(NAME ${name} COMMAND Python3::Interpreter -B ${CMAKE_CURRENT_SOURCE_DIR}/${script}.py
                                    ${class}.${CMAKE_MATCH_1})
      set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT ${ARG_TIMEOUT} LABELS "${ARG_LABELS}"
                                              ENVIRONMENT "${ARG_ENVIRONMENT}")
    endif()
  endforeach()
endfunction()

if(TARGET lapwing_cli)
  add_executable(write_recording write_recording.cpp)
  target_link_libraries(write_recording PRIVATE lapwing_settings lapwing::trace)
  set(command_environment LAPWING=$<TARGET_FILE:lapwing_cli> WRITE_RECORDING=$<TARGET_FILE:write_recording>)
  lapwing_python_tests(cli_run_test ENVIRONMENT ${command_environment})
  lapwing_python_tests(cli_command_test ENVIRONMENT ${command_environment} LAPWING_SOURCE_DIR=${PROJECT_SOURCE_DIR})
endif()

lapwing_python_tests(structure_test ENVIRONMENT LAPWING_SOURCE_DIR=${PROJECT_SOURCE_DIR})
lapwing_python_tests(results_count_test ENVIRONMENT LAPWING_SOURCE_DIR=${PROJECT_SOURCE_DIR})
if(TARGET lapwing_cli)
  lapwing_python_tests(package_test LABELS release TIMEOUT 600
    ENVIRONMENT ${command_environment} LAPWING_SOURCE_DIR=${PROJECT_SOURCE_DIR} LAPWING_BINARY_DIR=${PROJECT_BINARY_DIR}
                CMAKE_COMMAND=${CMAKE_COMMAND} CXX=${CMAKE_CXX_COMPILER})
endif()
