find_package(Libdeflate REQUIRED)
lapwing_test(
  trace_test
  SOURCES trace/trace_material.cpp
          trace/random_recording.cpp
          trace/round_trip_test.cpp
          trace/round_trip_property_test.cpp
          trace/writer_test.cpp
          trace/unwritable_test.cpp
          trace/damaged_file_test.cpp
          trace/compressed_test.cpp
          trace/rotation_test.cpp
          trace/join_test.cpp
          trace/plain_slice_test.cpp
          trace/utf8_test.cpp
          trace/recorder_test.cpp
  LIBRARIES lapwing::trace Libdeflate::Libdeflate)

# Programs that are killed while they record, some of them inside write().
lapwing_test(trace_killed_test SOURCES trace/trace_material.cpp trace/killed_test.cpp LIBRARIES lapwing::trace)
target_link_options(trace_killed_test PRIVATE -Wl,--wrap=write)

# The same files, read by readers that share no code with ours.
add_executable(write_random_recording trace/write_random_recording.cpp trace/random_recording.cpp
                                      trace/trace_material.cpp)
target_link_libraries(write_random_recording PRIVATE lapwing_settings lapwing::trace GTest::gtest)
target_include_directories(write_random_recording PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/tests)
find_package(Python3 COMPONENTS Interpreter)
if(Python3_FOUND)
  add_test(NAME trace_outside_reader
           COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/trace/outside_reader_test.py
                   $<TARGET_FILE:write_random_recording> ${PROJECT_SOURCE_DIR}/src/trace/lapwing_trace.proto)
  set_tests_properties(trace_outside_reader PROPERTIES TIMEOUT 120)
endif()

# Other tools' traces.
lapwing_test(
  chrome_read_test
  SOURCES trace/decimal_time_test.cpp trace/chrome_read_test.cpp
  LIBRARIES lapwing::trace Libdeflate::Libdeflate)
# Real files of other tools, which are not in the repository: -D LAPWING_TRACE_DATA=FOLDER.
set(LAPWING_TRACE_DATA "${PROJECT_SOURCE_DIR}/../shared/data/traces" CACHE PATH "Traces of other tools, to be tested against")
if(EXISTS ${LAPWING_TRACE_DATA})
  lapwing_test(
    chrome_facts_test
    SOURCES trace/chrome_facts_test.cpp
    LIBRARIES lapwing::trace
    ENVIRONMENT LAPWING_TRACE_DATA=${LAPWING_TRACE_DATA})
endif()
# g++ 12 takes `"[" + std::string` for a copy over itself (GCC bug 105651).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set_source_files_properties(trace/chrome_read_test.cpp PROPERTIES COMPILE_OPTIONS -Wno-restrict)
endif()
