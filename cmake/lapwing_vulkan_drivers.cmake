# The software Vulkan drivers that tests run on: LAPWING_LAVAPIPE_ICD and LAPWING_SWIFTSHADER_ICD are the paths of their
# manifests, empty where one is not installed (tests then skip and say so). Looked for again at each configure until found.
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
