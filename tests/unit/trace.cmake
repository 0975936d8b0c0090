lapwing_test(
  trace_test
  SOURCES trace/trace_material.cpp trace/round_trip_test.cpp
  LIBRARIES lapwing::trace)
