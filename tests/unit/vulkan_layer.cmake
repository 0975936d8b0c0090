if(TARGET lapwing_vulkan_layer_parts)
  lapwing_test(vulkan_layer_test
    SOURCES vulkan_layer/config_test.cpp vulkan_layer/copies_test.cpp vulkan_layer/cost_meter_test.cpp
            vulkan_layer/families_test.cpp vulkan_layer/label_test.cpp vulkan_layer/lanes_test.cpp vulkan_layer/losses_test.cpp vulkan_layer/names_test.cpp vulkan_layer/passes_test.cpp
            vulkan_layer/process_test.cpp vulkan_layer/queue_clock_test.cpp vulkan_layer/recorded_stream.cpp
            vulkan_layer/results_test.cpp vulkan_layer/scripted_device.cpp
            vulkan_layer/session_test.cpp vulkan_layer/spans_test.cpp vulkan_layer/step_clock_test.cpp
            vulkan_layer/steps_test.cpp vulkan_layer/submit_rewrite_test.cpp vulkan_fake_driver.cpp
    LIBRARIES lapwing_vulkan_layer_parts)
endif()
