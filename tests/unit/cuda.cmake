if(TARGET lapwing_backend_cuda)
  # The real declarations, where a toolkit is installed: ours are held against them.
  find_path(LAPWING_CUDA_INCLUDE_DIR cuda.h PATHS /usr/local/cuda/include $ENV{CUDA_PATH}/include NO_DEFAULT_PATH)
  lapwing_test(unit_cuda
    SOURCES
      cuda_backend_test.cpp
      cuda_clock_test.cpp
      cuda_context_test.cpp
      cuda_declarations_test.cpp
      cuda_failures_test.cpp
    LIBRARIES lapwing::backend_cuda fake_cuda)
  if(LAPWING_CUDA_INCLUDE_DIR)
    set_source_files_properties(cuda_declarations_test.cpp PROPERTIES
      COMPILE_DEFINITIONS LAPWING_TEST_HAVE_CUDA_H INCLUDE_DIRECTORIES ${LAPWING_CUDA_INCLUDE_DIR})
  endif()
endif()
