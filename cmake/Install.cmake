# What `cmake --install` leaves: headers under include/splitwave, which is the include root as the repository root is;
# static libraries; the packages for find_package(splitwave) and pkg-config. docs/library.md tells users.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(SPLITWAVE_INSTALL_INCLUDEDIR "${CMAKE_INSTALL_INCLUDEDIR}/splitwave")
set(SPLITWAVE_INSTALL_CMAKEDIR "${CMAKE_INSTALL_LIBDIR}/cmake/splitwave")

# splitwave_install_library(<target> <component>)
# Installs the library and its HEADERS. `component` is empty for what needs no CUDA.
function(splitwave_install_library target component)
  string(JOIN "-" package splitwave ${component})
  install(TARGETS ${target} EXPORT ${package}-targets
    ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
    FILE_SET HEADERS DESTINATION "${SPLITWAVE_INSTALL_INCLUDEDIR}")
  # For pkg-config, users of a library before what it uses.
  get_property(libraries GLOBAL PROPERTY ${package}_libraries)
  set_property(GLOBAL PROPERTY ${package}_libraries "-l${target}" ${libraries})
endfunction()

# splitwave_install_package(<package> <system libraries for pkg-config>...)
# The package's targets and its file for pkg-config, after all of its libraries.
function(splitwave_install_package package)
  install(EXPORT ${package}-targets NAMESPACE splitwave:: DESTINATION "${SPLITWAVE_INSTALL_CMAKEDIR}")
  get_property(libraries GLOBAL PROPERTY ${package}_libraries)
  string(JOIN " " PC_LIBRARIES ${libraries} ${ARGN})
  # Relative, so that `cmake --install --prefix` and moving the tree keep it true.
  file(RELATIVE_PATH PC_PREFIX "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
  string(REGEX REPLACE "/$" "" PC_PREFIX "${PC_PREFIX}")
  configure_file("${PROJECT_SOURCE_DIR}/cmake/${package}.pc.in" "${PROJECT_BINARY_DIR}/${package}.pc" @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/${package}.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
endfunction()

# splitwave_install(): to be called last, when every library is known.
function(splitwave_install)
  get_property(mpi GLOBAL PROPERTY splitwave_mpi_libraries)  # of studies, where SPLITWAVE_MPI is ON
  splitwave_install_package(splitwave ${mpi} ${OpenMP_CXX_FLAGS})
  if(SPLITWAVE_HAS_CUDA)
    splitwave_install_package(splitwave-gpu -L${CUDAToolkit_LIBRARY_DIR} -lcudart_static -ldl -lrt -lpthread)
  endif()
  set(config "${PROJECT_BINARY_DIR}/splitwave-config.cmake")
  configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/splitwave-config.cmake.in" "${config}"
    INSTALL_DESTINATION "${SPLITWAVE_INSTALL_CMAKEDIR}" NO_SET_AND_CHECK_MACRO)
  # Before 1.0.0 a minor version may change what programs see.
  write_basic_package_version_file("${PROJECT_BINARY_DIR}/splitwave-config-version.cmake"
    COMPATIBILITY SameMinorVersion)
  install(FILES "${config}" "${PROJECT_BINARY_DIR}/splitwave-config-version.cmake"
    DESTINATION "${SPLITWAVE_INSTALL_CMAKEDIR}")
endfunction()
