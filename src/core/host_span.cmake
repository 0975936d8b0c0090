# Host spans: the hot side is in span.hpp, the rings and the drain are here.
list(APPEND core_sources host_span.cpp host_span_ring.cpp host_span_registry.cpp host_span_sites.cpp host_span_collector.cpp)
list(APPEND core_headers lapwing/span.hpp lapwing/host_spans.hpp)
set_source_files_properties(host_span_collector.cpp PROPERTIES COMPILE_DEFINITIONS
                            "LAPWING_VERSION=\"${PROJECT_VERSION}\"")
