if(TARGET lapwing_backend_opencl)
  lapwing_test(unit_opencl
    SOURCES
      opencl_backend_test.cpp
      opencl_fake_driver.cpp
    LIBRARIES lapwing::backend_opencl)
endif()
