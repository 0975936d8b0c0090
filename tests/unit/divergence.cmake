find_package(nlohmann_json 3.11 REQUIRED)
lapwing_test(divergence_test SOURCES divergence_test.cpp LIBRARIES lapwing::views TIMEOUT 300)
lapwing_test(divergence_export_test SOURCES divergence_export_test.cpp
  LIBRARIES lapwing::export nlohmann_json::nlohmann_json)
