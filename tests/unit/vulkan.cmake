if(TARGET lapwing_backend_vulkan)
  lapwing_test(unit_vulkan
    SOURCES vulkan_backend_faults_test.cpp vulkan_backend_test.cpp vulkan_device_clock_test.cpp vulkan_families_test.cpp vulkan_fake_driver.cpp vulkan_query_chunks_test.cpp
    LIBRARIES lapwing::backend_vulkan lapwing::views)
endif()
