# Options, language level and warnings: what every target of the project shares.
option(LAPWING_BUILD_CLI "Build the lapwing command" ${PROJECT_IS_TOP_LEVEL})
option(LAPWING_BUILD_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
option(LAPWING_BUILD_BENCH "Build the benchmarks" ${PROJECT_IS_TOP_LEVEL})
option(LAPWING_BUILD_EXAMPLES "Build the examples" ${PROJECT_IS_TOP_LEVEL})
option(LAPWING_INSTALL "Make install rules" ${PROJECT_IS_TOP_LEVEL})
# Needs exceptions: a hook that runs out of memory lets the program's call through untouched.
option(LAPWING_BUILD_VULKAN_LAYER "Build the Vulkan layer, where the Vulkan backend is built" ON)
option(LAPWING_BUILD_OPENCL_LAYER "Build the OpenCL layer, where the OpenCL backend is built" ON)
option(LAPWING_WERROR "Treat warnings as errors" OFF)
set(LAPWING_BACKEND_CUDA AUTO CACHE STRING "CUDA backend: AUTO and ON build it, since it needs no toolkit; OFF")
set_property(CACHE LAPWING_BACKEND_CUDA PROPERTY STRINGS AUTO ON OFF)
set(LAPWING_BACKEND_OPENCL AUTO CACHE STRING "OpenCL backend and layer: AUTO, ON (fail without headers) or OFF")
set_property(CACHE LAPWING_BACKEND_OPENCL PROPERTY STRINGS AUTO ON OFF)
set(LAPWING_BACKEND_VULKAN AUTO CACHE STRING "Vulkan backend and layer: AUTO, ON (fail without headers) or OFF")
set_property(CACHE LAPWING_BACKEND_VULKAN PROPERTY STRINGS AUTO ON OFF)

set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)

find_package(Threads REQUIRED)

# Settings of all our targets; linked PRIVATE, so that users are not bound by our warnings.
add_library(lapwing_settings INTERFACE)
target_compile_features(lapwing_settings INTERFACE cxx_std_20)
target_compile_options(lapwing_settings INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion
                                                  $<$<BOOL:${LAPWING_WERROR}>:-Werror>)

# lapwing_library(NAME ALIAS HEADERS... ) declares a static library with its public headers as a verified file set.
#   lapwing_library(core SOURCES a.cpp HEADERS lapwing/a.hpp DEPENDS lapwing::x)
function(lapwing_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;HEADERS;DEPENDS;PRIVATE_DEPENDS" ${ARGN})
  set(target lapwing_${name})
  add_library(${target} STATIC ${ARG_SOURCES})
  add_library(lapwing::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name} POSITION_INDEPENDENT_CODE ON
                                             VERIFY_INTERFACE_HEADER_SETS ON CXX_EXTENSIONS OFF)
  list(TRANSFORM ARG_HEADERS PREPEND ${PROJECT_SOURCE_DIR}/include/)
  target_sources(${target} PUBLIC FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR}/include FILES ${ARG_HEADERS})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_link_libraries(${target} PUBLIC ${ARG_DEPENDS} PRIVATE $<BUILD_INTERFACE:lapwing_settings> ${ARG_PRIVATE_DEPENDS})
  set_property(GLOBAL APPEND PROPERTY LAPWING_INSTALLED_TARGETS ${target})
endfunction()
