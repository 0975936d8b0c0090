# The Vulkan backend on real drivers: one program, registered once for each software driver that is installed.
include(${PROJECT_SOURCE_DIR}/cmake/lapwing_shader.cmake)
include(${PROJECT_SOURCE_DIR}/cmake/lapwing_vulkan_drivers.cmake)
find_package(Vulkan QUIET)
if(TARGET lapwing_backend_vulkan AND TARGET Vulkan::Vulkan AND LAPWING_HAVE_SHADERS)
  add_executable(conformance_vulkan vulkan_backend_suite_test.cpp vulkan_families_test.cpp vulkan_fingerprint_test.cpp vulkan_forbidden_calls.cpp vulkan_harness.cpp
                                    vulkan_lanes_test.cpp vulkan_times_test.cpp)
  target_link_libraries(conformance_vulkan PRIVATE lapwing_settings lapwing::backend_vulkan lapwing::telemetry lapwing::views Vulkan::Vulkan
                                                   GTest::gtest GTest::gmock GTest::gtest_main Threads::Threads)
  target_include_directories(conformance_vulkan PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/tests)
  lapwing_shader(conformance_vulkan vulkan_burn.comp)

  # The shader cache is kept, since compiling is what takes long; the drivers' own layers want a run-time folder.
  set(vulkan_run_dir ${PROJECT_BINARY_DIR}/vulkan-run)
  file(MAKE_DIRECTORY ${vulkan_run_dir} ${vulkan_run_dir}/shader-cache)
  # Without threads of its own, lavapipe needs no more cores than there are, and a stamp takes 1 us instead of 30;
  # submissions are asynchronous all the same.
  set(vulkan_environment LP_NUM_THREADS=0 XDG_RUNTIME_DIR=${vulkan_run_dir} MESA_SHADER_CACHE_DIR=${vulkan_run_dir}/shader-cache)
  foreach(driver LAVAPIPE SWIFTSHADER)
    string(TOLOWER ${driver} name)
    gtest_discover_tests(conformance_vulkan
      NO_PRETTY_TYPES TEST_SUFFIX .${name} TEST_LIST conformance_vulkan_${name} DISCOVERY_TIMEOUT 60
      PROPERTIES TIMEOUT 180 LABELS vulkan RUN_SERIAL ON)
    # gtest_discover_tests keeps only the first of several variables, so they are set once the tests are known.
    set(environment_file ${CMAKE_CURRENT_BINARY_DIR}/conformance_vulkan_${name}_environment.cmake)
    file(WRITE ${environment_file} "if(conformance_vulkan_${name})\n  set_tests_properties(\${conformance_vulkan_${name}} "
      "PROPERTIES ENVIRONMENT \"VK_ICD_FILENAMES=${LAPWING_${driver}_ICD};${vulkan_environment}\")\nendif()\n")
    set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${environment_file})
  endforeach()
endif()
