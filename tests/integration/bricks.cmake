# Bricks through a recording and the command.
find_package(nlohmann_json 3.11 REQUIRED)
if(TARGET lapwing_cli)
  lapwing_test(brick_recording_test SOURCES brick_recording_test.cpp
    LIBRARIES lapwing::views lapwing::trace lapwing::backend_sim nlohmann_json::nlohmann_json)
  target_compile_definitions(brick_recording_test PRIVATE "LAPWING_COMMAND=\"$<TARGET_FILE:lapwing_cli>\"")
  add_dependencies(brick_recording_test lapwing_cli)
endif()
