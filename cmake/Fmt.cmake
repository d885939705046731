# splitwave_fmt: see fmt_static.cpp for why it is built here.
find_package(fmt REQUIRED)
add_library(splitwave_fmt STATIC "${CMAKE_CURRENT_LIST_DIR}/fmt_static.cpp")
target_compile_features(splitwave_fmt PUBLIC cxx_std_20)
set_target_properties(splitwave_fmt PROPERTIES EXPORT_NAME fmt POSITION_INDEPENDENT_CODE ON)
target_include_directories(splitwave_fmt SYSTEM PUBLIC
  $<BUILD_INTERFACE:$<TARGET_PROPERTY:fmt::fmt,INTERFACE_INCLUDE_DIRECTORIES>>)
splitwave_install_library(splitwave_fmt "")
