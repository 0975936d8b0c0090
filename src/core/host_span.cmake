# Host spans: the hot side is in span.hpp, the rings and the drain are here.
list(APPEND core_sources host_span.cpp host_span_ring.cpp host_span_registry.cpp process_sites.cpp this_process.cpp
     span_tee.cpp host_span_collector.cpp)
list(APPEND core_headers lapwing/span.hpp lapwing/host_spans.hpp lapwing/process_sites.hpp lapwing/this_process.hpp
     lapwing/span_tee.hpp lapwing/device_spans.hpp)
set_source_files_properties(this_process.cpp PROPERTIES COMPILE_DEFINITIONS
                            "LAPWING_VERSION=\"${PROJECT_VERSION}\"")
