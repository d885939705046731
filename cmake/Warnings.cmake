# splitwave_warnings: linked PRIVATE by every target of the project, so that none of it reaches a user's build.
add_library(splitwave_warnings INTERFACE)
target_compile_options(splitwave_warnings INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion>
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<BOOL:${SPLITWAVE_WERROR}>>:-Werror>)

# GCC 12 sees overlapping copies in any "text" + std::string (GCC bug 105651).
target_compile_options(splitwave_warnings INTERFACE
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CXX_COMPILER_ID:GNU>>:-Wno-restrict>)

# A class of a .cpp file may hold types of the file's unnamed namespace; where the file is included for a unity build,
# GCC takes it for a header.
if(CMAKE_UNITY_BUILD)
  target_compile_options(splitwave_warnings INTERFACE
    $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CXX_COMPILER_ID:GNU>>:-Wno-subobject-linkage>)
endif()

if(SPLITWAVE_SANITIZE)
  target_compile_options(splitwave_warnings INTERFACE
    -fsanitize=${SPLITWAVE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(splitwave_warnings INTERFACE -fsanitize=${SPLITWAVE_SANITIZE})
endif()
