# Reports: figures, texts, documents.
find_package(nlohmann_json 3.11 REQUIRED)
find_package(Python3 COMPONENTS Interpreter)

set(LAPWING_REPORT_GOLDEN ${PROJECT_SOURCE_DIR}/tests/golden/report)

lapwing_test(statistics_test SOURCES statistics_test.cpp LIBRARIES lapwing::views)
lapwing_test(report_builder_test SOURCES report_builder_test.cpp report_streams.cpp LIBRARIES lapwing::views)
lapwing_test(report_marks_test SOURCES report_marks_test.cpp report_streams.cpp LIBRARIES lapwing::export)
lapwing_test(report_model_test SOURCES report_model_test.cpp report_streams.cpp LIBRARIES lapwing::views)
lapwing_test(report_sampling_test SOURCES report_sampling_test.cpp report_streams.cpp LIBRARIES lapwing::export)
lapwing_test(report_text_test SOURCES report_text_test.cpp report_streams.cpp LIBRARIES lapwing::export)
lapwing_test(report_json_test SOURCES report_json_test.cpp report_streams.cpp
  LIBRARIES lapwing::export nlohmann_json::nlohmann_json)
lapwing_test(report_golden_test SOURCES report_golden_test.cpp report_streams.cpp LIBRARIES lapwing::export)
target_compile_definitions(report_golden_test PRIVATE LAPWING_GOLDEN_FOLDER="${LAPWING_REPORT_GOLDEN}")

if(Python3_FOUND)
  file(GLOB LAPWING_REPORT_JSON CONFIGURE_DEPENDS ${LAPWING_REPORT_GOLDEN}/*.json)
  add_test(NAME ReportSchema.TakesTheApprovedReportsAndRefusesSpoiledOnes
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/report_schema_check.py
            ${PROJECT_SOURCE_DIR}/docs/report.schema.json ${LAPWING_REPORT_JSON})
  set_tests_properties(ReportSchema.TakesTheApprovedReportsAndRefusesSpoiledOnes PROPERTIES
    SKIP_RETURN_CODE 77 TIMEOUT 60)
endif()
lapwing_test(span_filter_test SOURCES span_filter_test.cpp LIBRARIES lapwing::views)
