# The Vulkan drivers that tests run on: LAPWING_LAVAPIPE_ICD, LAPWING_SWIFTSHADER_ICD and LAPWING_MOCK_ICD are the paths of
# their manifests, empty where one is not installed (tests then skip and say so). Looked for again at each configure until
# found. The mock driver of Chromium accepts every call, runs nothing and has three queue families.
set(_lapwing_icd_folders /usr/share/vulkan/icd.d /usr/local/share/vulkan/icd.d /etc/vulkan/icd.d)
find_file(LAPWING_LAVAPIPE_MANIFEST
  NAMES lvp_icd.${CMAKE_SYSTEM_PROCESSOR}.json lvp_icd.json lvp_icd.x86_64.json lvp_icd.aarch64.json
  PATHS ${_lapwing_icd_folders} NO_DEFAULT_PATH)
find_file(LAPWING_SWIFTSHADER_MANIFEST NAMES vk_swiftshader_icd.json
  PATHS /usr/lib/chromium /usr/lib64/chromium /usr/lib/chromium-browser /opt/google/chrome ${_lapwing_icd_folders}
  NO_DEFAULT_PATH)
mark_as_advanced(LAPWING_LAVAPIPE_MANIFEST LAPWING_SWIFTSHADER_MANIFEST)
foreach(_lapwing_driver LAVAPIPE SWIFTSHADER)
  set(LAPWING_${_lapwing_driver}_ICD "")
  if(LAPWING_${_lapwing_driver}_MANIFEST)
    set(LAPWING_${_lapwing_driver}_ICD ${LAPWING_${_lapwing_driver}_MANIFEST})
  endif()
endforeach()

find_file(LAPWING_MOCK_LIBRARY NAMES libVkICD_mock_icd.so
  PATHS /usr/lib/chromium /usr/lib64/chromium /usr/lib/chromium-browser /opt/google/chrome NO_DEFAULT_PATH)
mark_as_advanced(LAPWING_MOCK_LIBRARY)
set(LAPWING_MOCK_ICD "")
if(LAPWING_MOCK_LIBRARY)    # it comes without a manifest
  set(LAPWING_MOCK_ICD ${PROJECT_BINARY_DIR}/mock_icd.json)
  file(CONFIGURE OUTPUT ${LAPWING_MOCK_ICD} CONTENT
    [[{"file_format_version": "1.0.1", "ICD": {"library_path": "@LAPWING_MOCK_LIBRARY@", "api_version": "1.3.0"}}]] @ONLY)
endif()
