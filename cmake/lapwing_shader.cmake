# Compute shaders from GLSL at build time.
#
# lapwing_shader(TARGET shader.comp [INCLUDED...]) compiles the shader, which includes the others, with glslc into <name>.inc, the body of a C array of 32-bit words,
# in a folder on the include path of TARGET:
#     static const uint32_t kBurn[] = {
#     #include "burn.inc"
#     };
# LAPWING_HAVE_SHADERS says whether glslc was found; callers leave out what needs shaders where it was not.
find_program(LAPWING_GLSLC glslc)
set(LAPWING_HAVE_SHADERS OFF)
if(LAPWING_GLSLC)
  set(LAPWING_HAVE_SHADERS ON)
endif()

function(lapwing_shader target shader)
  get_filename_component(name ${shader} NAME_WE)
  get_filename_component(source ${shader} ABSOLUTE)
  set(included ${ARGN})
  list(TRANSFORM included PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  # A folder for each target: two targets may compile the same shader in one build.
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/${target}_shaders)
  file(MAKE_DIRECTORY ${folder})
  add_custom_command(OUTPUT ${folder}/${name}.inc
    COMMAND ${LAPWING_GLSLC} -O -mfmt=num ${source} -o ${folder}/${name}.inc
    DEPENDS ${source} ${included} COMMENT "Compiling shader ${name}" VERBATIM)
  target_sources(${target} PRIVATE ${folder}/${name}.inc)
  target_include_directories(${target} PRIVATE ${folder})
endfunction()
