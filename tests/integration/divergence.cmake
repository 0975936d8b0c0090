# Two recordings compared by the command; the example is the program that makes them.
if(TARGET lapwing_cli AND LAPWING_BUILD_EXAMPLES)
  lapwing_python_tests(divergence_command_test
    ENVIRONMENT LAPWING=$<TARGET_FILE:lapwing_cli> WRITE_RECORDING=$<TARGET_FILE:write_recording>
                DIVERGENCE_EXAMPLE=$<TARGET_FILE:example_divergence> LAPWING_SOURCE_DIR=${PROJECT_SOURCE_DIR})
endif()
