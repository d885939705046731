# splitwave_find_python(<variable>)
# Sets <variable> to whether the Python module is built. SPLITWAVE_PYTHON: AUTO builds it where Python's headers,
# pybind11 and DLPack are found, ON demands it, OFF leaves it out. A sanitizer's library would have to be loaded before Python: with
# one, only ON builds it.
splitwave_choice(SPLITWAVE_PYTHON "Build the Python module")

macro(splitwave_find_python variable)
  # The packages that this needs are the system's, and so is its Python, whatever other one the PATH begins with; but an
  # environment that is active is meant.
  if(NOT Python3_EXECUTABLE AND NOT DEFINED ENV{VIRTUAL_ENV} AND NOT DEFINED ENV{CONDA_PREFIX}
     AND EXISTS /usr/bin/python3)
    set(Python3_EXECUTABLE /usr/bin/python3 CACHE FILEPATH "Python that the module is built for, and that runs tests")
  endif()
  set(${variable} OFF)
  if(SPLITWAVE_PYTHON STREQUAL "ON" OR (SPLITWAVE_PYTHON STREQUAL "AUTO" AND NOT SPLITWAVE_SANITIZE))
    find_package(Python3 3.9 QUIET COMPONENTS Interpreter Development.Module)
    find_package(pybind11 2.10 CONFIG QUIET)
    find_package(dlpack CONFIG QUIET)
    if(Python3_Development.Module_FOUND AND pybind11_FOUND AND dlpack_FOUND)
      set(${variable} ON)
    elseif(SPLITWAVE_PYTHON STREQUAL "ON")
      message(FATAL_ERROR "SPLITWAVE_PYTHON is ON, but Python 3.9 with its headers (Debian: python3-dev), pybind11 2.10 "
                          "(pybind11-dev) or DLPack (libdlpack-dev) was not found")
    else()
      message(STATUS "Python's headers, pybind11 or DLPack not found: the module of python/ is left out "
                     "(SPLITWAVE_PYTHON=OFF says so on purpose)")
    endif()
  endif()
endmacro()
