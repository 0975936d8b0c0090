# Reports of recordings: through a file, and through the command.
if(TARGET lapwing::trace AND TARGET lapwing::export)
  lapwing_test(report_recording_test SOURCES report_recording_test.cpp ../unit/report_streams.cpp
    LIBRARIES lapwing::export lapwing::trace)
endif()
if(TARGET lapwing_cli)
  lapwing_python_tests(report_command_test
    ENVIRONMENT LAPWING=$<TARGET_FILE:lapwing_cli> WRITE_RECORDING=$<TARGET_FILE:write_recording>)
endif()
if(TARGET lapwing_cli)
  lapwing_python_tests(graph_command_test
    ENVIRONMENT LAPWING=$<TARGET_FILE:lapwing_cli> WRITE_RECORDING=$<TARGET_FILE:write_recording>
                LAPWING_SOURCE_DIR=${PROJECT_SOURCE_DIR})
endif()
if(TARGET lapwing_cli)
  lapwing_python_tests(tune_command_test
    ENVIRONMENT LAPWING=$<TARGET_FILE:lapwing_cli> WRITE_RECORDING=$<TARGET_FILE:write_recording>
                LAPWING_SOURCE_DIR=${PROJECT_SOURCE_DIR})
endif()
