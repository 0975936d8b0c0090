# The OpenCL backend on PoCL. OCL_ICD_VENDORS keeps other drivers out.
find_library(LAPWING_OPENCL_LIBRARY NAMES libOpenCL.so.1 OpenCL)
find_file(LAPWING_POCL_ICD pocl.icd PATHS /etc/OpenCL/vendors NO_DEFAULT_PATH)
if(TARGET lapwing_backend_opencl AND LAPWING_OPENCL_LIBRARY AND LAPWING_POCL_ICD)
  set(opencl_run_dir ${PROJECT_BINARY_DIR}/opencl-run)
  file(MAKE_DIRECTORY ${opencl_run_dir} ${opencl_run_dir}/kernel-cache)
  set(opencl_environment OCL_ICD_VENDORS=${LAPWING_POCL_ICD} POCL_CACHE_DIR=${opencl_run_dir}/kernel-cache)
  add_executable(conformance_opencl
    opencl_adopt_test.cpp
    opencl_backend_suite_test.cpp
    opencl_harness.cpp)
  target_link_libraries(conformance_opencl PRIVATE lapwing_settings lapwing::backend_opencl ${LAPWING_OPENCL_LIBRARY}
                                                   GTest::gtest GTest::gmock GTest::gtest_main Threads::Threads
                                                   ${CMAKE_DL_LIBS})
  target_include_directories(conformance_opencl PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/tests)
  gtest_discover_tests(conformance_opencl NO_PRETTY_TYPES TEST_LIST conformance_opencl_tests DISCOVERY_TIMEOUT 60
                       PROPERTIES TIMEOUT 180 LABELS opencl RUN_SERIAL ON)
  set(environment_file ${CMAKE_CURRENT_BINARY_DIR}/conformance_opencl_environment.cmake)
  file(WRITE ${environment_file} "if(conformance_opencl_tests)\n  set_tests_properties(\${conformance_opencl_tests} "
    "PROPERTIES ENVIRONMENT \"${opencl_environment}\")\nendif()\n")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${environment_file})
else()
  message(STATUS "Lapwing: no OpenCL conformance tests: they need opencl-headers, ocl-icd-libopencl1 and pocl-opencl-icd")
endif()
