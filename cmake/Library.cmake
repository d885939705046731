# splitwave_library(<folder> SOURCES a.cpp ... [HEADERS a.h ...] [PUBLIC targets...] [PRIVATE targets...]
#                   [BUILD_ONLY targets...] [COMPONENT component])
# One folder is one static library, one alias splitwave::<folder> and one namespace. The include root is the
# repository root, so that the path in an #include is the path on the disk.
#
# HEADERS are for users, and installed with the library (cmake/Install.cmake); they include no other headers of the
# project and none of third parties (tests/layering_test.py). A library without them is not installed. A program that
# links the installed library links PUBLIC and PRIVATE targets too; BUILD_ONLY targets are headers, and nobody's
# business once the library is built. COMPONENT gpu: find_package(splitwave) gives the library only to those who ask for it.
function(splitwave_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "COMPONENT" "SOURCES;HEADERS;PUBLIC;PRIVATE;BUILD_ONLY")
  list(APPEND arg_BUILD_ONLY splitwave_warnings)
  set(target "splitwave_${name}")
  add_library(${target} STATIC ${arg_SOURCES})
  add_library(splitwave::${name} ALIAS ${target})
  target_compile_features(${target} PUBLIC cxx_std_20)
  # Position-independent, so that shared libraries can be made of them, as the Python module is; without semantic
  # interposition, so that this costs no inlining.
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF EXPORT_NAME ${name} POSITION_INDEPENDENT_CODE ON)
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fno-semantic-interposition>)
  target_include_directories(${target} PUBLIC "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>")
  list(TRANSFORM arg_BUILD_ONLY REPLACE "(.+)" "$<BUILD_INTERFACE:\\1>" OUTPUT_VARIABLE build_only)
  target_link_libraries(${target}
    PUBLIC ${arg_PUBLIC}
    PRIVATE ${arg_PRIVATE} ${build_only})
  if(arg_HEADERS)
    target_sources(${target} PUBLIC
      FILE_SET HEADERS BASE_DIRS "${PROJECT_SOURCE_DIR}" FILES ${arg_HEADERS})
    splitwave_install_library(${target} "${arg_COMPONENT}")
  endif()
endfunction()
