lapwing_test(execution_graph_test SOURCES execution_graph_test.cpp LIBRARIES lapwing::export)
lapwing_test(graph_builder_test SOURCES graph_builder_test.cpp report_streams.cpp LIBRARIES lapwing::export)
lapwing_test(roofline_test SOURCES roofline_test.cpp LIBRARIES lapwing::views)
lapwing_test(tuner_test SOURCES tuner_test.cpp tuner_model_test.cpp LIBRARIES lapwing::export)
