# Install rules, so that find_package(lapwing) and pkg-config find what add_subdirectory gives: lapwing::<library>.
if(NOT LAPWING_INSTALL)
  return()
endif()
include(CMakePackageConfigHelpers)

get_property(installed_targets GLOBAL PROPERTY LAPWING_INSTALLED_TARGETS)
if(installed_targets)
  install(TARGETS ${installed_targets} EXPORT lapwing-targets
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
    FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

  set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/lapwing)
  install(EXPORT lapwing-targets NAMESPACE lapwing:: DESTINATION ${package_folder})
  configure_package_config_file(cmake/lapwing-config.cmake.in ${PROJECT_BINARY_DIR}/lapwing-config.cmake
    INSTALL_DESTINATION ${package_folder} NO_SET_AND_CHECK_MACRO)
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/lapwing-config-version.cmake COMPATIBILITY SameMinorVersion)
  install(FILES ${PROJECT_BINARY_DIR}/lapwing-config.cmake ${PROJECT_BINARY_DIR}/lapwing-config-version.cmake
                cmake/FindLibdeflate.cmake
    DESTINATION ${package_folder})

  # Static libraries for pkg-config, users before what they use. The group makes their order irrelevant all the same.
  set(pc_libraries "")
  foreach(target IN LISTS installed_targets)
    get_target_property(type ${target} TYPE)
    if(type STREQUAL INTERFACE_LIBRARY)
      continue()
    endif()
    string(PREPEND pc_libraries " -l${target}")
  endforeach()
  # Relative to the file itself, so that the tree may be installed with --prefix and moved.
  file(RELATIVE_PATH pc_to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
  configure_file(cmake/lapwing.pc.in ${PROJECT_BINARY_DIR}/lapwing.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/lapwing.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endif()

if(TARGET lapwing_cli)
  install(TARGETS lapwing_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
