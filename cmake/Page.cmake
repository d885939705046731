# splitwave_page_bundle(<variable>)
# Sets <variable> to the file that will hold the program of the report page (reports/page), made at build time by npm and
# esbuild. SPLITWAVE_PAGE: AUTO makes it where npm is found and can install, ON demands it, OFF leaves it out; without it
# the file is empty, and reports have no figures.
splitwave_choice(SPLITWAVE_PAGE "Bundle the program that draws figures")

function(splitwave_page_bundle variable)
  set(out "${CMAKE_CURRENT_BINARY_DIR}/page_bundle.js")
  set(${variable} "${out}" PARENT_SCOPE)
  find_program(SPLITWAVE_NPM npm)
  find_program(SPLITWAVE_NODE NAMES node nodejs)
  if(SPLITWAVE_PAGE STREQUAL "OFF" OR NOT SPLITWAVE_NPM OR NOT SPLITWAVE_NODE)
    if(SPLITWAVE_PAGE STREQUAL "ON")
      message(FATAL_ERROR "SPLITWAVE_PAGE is ON, but node or npm was not found (Debian: nodejs, npm)")
    elseif(NOT SPLITWAVE_PAGE STREQUAL "OFF")
      message(STATUS "npm not found: reports are built without figures (SPLITWAVE_PAGE=OFF says so on purpose)")
    endif()
    file(WRITE "${out}" "")
    return()
  endif()
  set(required OFF)
  if(SPLITWAVE_PAGE STREQUAL "ON")
    set(required ON)
  endif()
  set(folder "${PROJECT_SOURCE_DIR}/reports/page")
  set(script "${PROJECT_SOURCE_DIR}/cmake/BundlePage.cmake")
  file(GLOB sources CONFIGURE_DEPENDS "${folder}/*.js" "${folder}/*.mjs" "${folder}/*.json")
  add_custom_command(
    OUTPUT "${out}"
    COMMAND "${CMAKE_COMMAND}" "-DNPM=${SPLITWAVE_NPM}" "-DNODE=${SPLITWAVE_NODE}" "-DFOLDER=${folder}"
            "-DWORK=${CMAKE_CURRENT_BINARY_DIR}/page" "-DOUT=${out}" "-DREQUIRED=${required}" -P "${script}"
    DEPENDS ${sources} "${script}"
    COMMENT "Bundling the report page's program"
    VERBATIM)
endfunction()
