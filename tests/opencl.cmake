# What the tests of the OpenCL layer need: a witness beside it, and a program that knows nothing of Lapwing.
add_library(test_opencl_count_layer MODULE fakes/opencl_count_layer.cpp)
target_include_directories(test_opencl_count_layer PRIVATE ${LAPWING_OPENCL_INCLUDE_DIR})
target_link_libraries(test_opencl_count_layer PRIVATE lapwing_settings)
target_link_options(test_opencl_count_layer PRIVATE -Wl,-z,nodelete)
set_target_properties(test_opencl_count_layer PROPERTIES
  CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
  LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib/test_layers)

find_library(LAPWING_OPENCL_LIBRARY NAMES libOpenCL.so.1 OpenCL)
if(LAPWING_OPENCL_LIBRARY)
  add_executable(cl_run
    programs/cl_run.cpp
    programs/cl_run_every.cpp)
  target_include_directories(cl_run PRIVATE ${LAPWING_OPENCL_INCLUDE_DIR})
  target_link_libraries(cl_run PRIVATE lapwing_settings ${LAPWING_OPENCL_LIBRARY} Threads::Threads)
  set_target_properties(cl_run PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/programs)
else()
  message(STATUS "Lapwing: no OpenCL test programs: they need ocl-icd-libopencl1")
endif()
