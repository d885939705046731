# splitwave_library(<folder> SOURCES a.cpp ... [PUBLIC targets...] [PRIVATE targets...])
# One folder is one static library, one alias splitwave::<folder> and one namespace. The include root is the
# repository root, so that the path in an #include is the path on the disk.
function(splitwave_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;PUBLIC;PRIVATE")
  set(target "splitwave_${name}")
  add_library(${target} STATIC ${arg_SOURCES})
  add_library(splitwave::${name} ALIAS ${target})
  target_compile_features(${target} PUBLIC cxx_std_20)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF)
  target_include_directories(${target} PUBLIC "${PROJECT_SOURCE_DIR}")
  target_link_libraries(${target} PUBLIC ${arg_PUBLIC} PRIVATE ${arg_PRIVATE} splitwave_warnings)
endfunction()
