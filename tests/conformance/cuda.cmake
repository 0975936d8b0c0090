# The CUDA backend on the stand-in driver.
if(TARGET lapwing_backend_cuda)
  lapwing_test(conformance_cuda SOURCES cuda_backend_suite_test.cpp LIBRARIES lapwing::backend_cuda fake_cuda)
endif()
