# libdeflate, which packs and unpacks packets of recordings: Libdeflate::Libdeflate. The static library is preferred: the
# layer is loaded into programs of other people, on machines that may not have the shared one.
find_path(Libdeflate_INCLUDE_DIR libdeflate.h)
find_library(Libdeflate_LIBRARY NAMES libdeflate.a deflate)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Libdeflate REQUIRED_VARS Libdeflate_LIBRARY Libdeflate_INCLUDE_DIR
                                  REASON_FAILURE_MESSAGE "install libdeflate-dev")
mark_as_advanced(Libdeflate_LIBRARY Libdeflate_INCLUDE_DIR)
if(Libdeflate_FOUND AND NOT TARGET Libdeflate::Libdeflate)
  add_library(Libdeflate::Libdeflate UNKNOWN IMPORTED GLOBAL)
  set_target_properties(Libdeflate::Libdeflate PROPERTIES IMPORTED_LOCATION ${Libdeflate_LIBRARY}
                                                          INTERFACE_INCLUDE_DIRECTORIES ${Libdeflate_INCLUDE_DIR})
endif()
