# Chrome traces, read by readers that share no code with the writer.
add_executable(write_chrome write_chrome.cpp ../unit/trace/random_recording.cpp ../unit/trace/trace_material.cpp)
target_link_libraries(write_chrome PRIVATE lapwing_settings lapwing::trace GTest::gtest)
target_link_options(write_chrome PRIVATE -Wl,--wrap=pwrite)
target_include_directories(write_chrome PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/tests)
lapwing_python_tests(chrome_trace_test ENVIRONMENT WRITE_CHROME=$<TARGET_FILE:write_chrome>)
