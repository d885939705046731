# splitwave_embed(<target> <accessor> <namespace> files...)
# Compiles data files, of the source folder or absolute paths, into the target, so that the binary can be carried alone to
# another machine. The generated header "<folder of the target>/<accessor>.h" declares
#   std::span<const splitwave::base::EmbeddedFile> <namespace>::<accessor>();
# with one entry per file: its name without folder and ending, and its text.
function(splitwave_embed target accessor namespace)
  set(source "${CMAKE_CURRENT_BINARY_DIR}/${accessor}.cpp")
  set(script "${PROJECT_SOURCE_DIR}/cmake/EmbedScript.cmake")
  set(files "")
  foreach(file IN LISTS ARGN)
    cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}")
    list(APPEND files "${file}")
  endforeach()
  add_custom_command(
    OUTPUT "${source}"
    COMMAND "${CMAKE_COMMAND}" "-DOUT=${source}" "-DACCESSOR=${accessor}" "-DNAMESPACE=${namespace}"
            "-DFILES=${files}" -P "${script}"
    DEPENDS ${files} "${script}"
    COMMENT "Embedding ${accessor}"
    VERBATIM)
  target_sources(${target} PRIVATE "${source}")
endfunction()
