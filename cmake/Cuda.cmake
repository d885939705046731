# splitwave_find_cuda(<variable>)
# Sets <variable> to whether the CUDA kernels are built. SPLITWAVE_CUDA: AUTO builds them where nvcc is found, ON
# demands it, OFF leaves them out.
splitwave_choice(SPLITWAVE_CUDA "Build the CUDA kernels")

# Refuses architectures for which CMake compiles for 90, where the kernels that need 90a are empty.
function(splitwave_check_architectures)
  foreach(architecture IN LISTS CMAKE_CUDA_ARCHITECTURES)
    if(architecture MATCHES "^90(-|$)|^(native|all|all-major)$")
      message(FATAL_ERROR "CMAKE_CUDA_ARCHITECTURES is \"${CMAKE_CUDA_ARCHITECTURES}\"; allowed: numbers, with 90a for "
                          "compute capability 9.0 (80;90a if not given), not ${architecture}")
    endif()
  endforeach()
endfunction()

macro(splitwave_find_cuda variable)
  set(${variable} OFF)
  if(NOT SPLITWAVE_CUDA STREQUAL "OFF")
    # Left alone, CMake would compile for an architecture that none of the kernels is made for.
    if("${CMAKE_CUDA_ARCHITECTURES}" STREQUAL "")
      set(CMAKE_CUDA_ARCHITECTURES "80;90a" CACHE STRING "CUDA architectures")
    endif()
    splitwave_check_architectures()
    include(CheckLanguage)
    check_language(CUDA)
    if(CMAKE_CUDA_COMPILER)
      enable_language(CUDA)
      find_package(CUDAToolkit REQUIRED)
      set(${variable} ON)
    elseif(SPLITWAVE_CUDA STREQUAL "ON")
      message(FATAL_ERROR "SPLITWAVE_CUDA is ON, but no CUDA compiler was found; set CMAKE_CUDA_COMPILER or CUDACXX")
    else()
      message(STATUS "CUDA compiler not found: the kernels of gpu/ are left out (SPLITWAVE_CUDA=OFF says so on purpose)")
    endif()
  endif()
endmacro()

# CMake 3.25.1 does not know C++20 for CUDA, neither as CUDA_STANDARD nor as a compile feature: the option is given by
# hand. Warnings of the host compiler without -Wpedantic, which complains about code that nvcc itself generates.
function(splitwave_cuda_options target)
  target_compile_options(${target} PRIVATE
    $<$<COMPILE_LANGUAGE:CUDA>:-std=c++20 -Xcompiler=-Wall,-Wextra>
    $<$<AND:$<COMPILE_LANGUAGE:CUDA>,$<BOOL:${SPLITWAVE_WERROR}>>:-Werror=all-warnings>)
endfunction()
