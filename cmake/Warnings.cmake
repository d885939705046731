# splitwave_warnings: linked PRIVATE by every target of the project, so that none of it reaches a user's build.
add_library(splitwave_warnings INTERFACE)
target_compile_options(splitwave_warnings INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion>
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<BOOL:${SPLITWAVE_WERROR}>>:-Werror>)

if(SPLITWAVE_SANITIZE)
  target_compile_options(splitwave_warnings INTERFACE
    -fsanitize=${SPLITWAVE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(splitwave_warnings INTERFACE -fsanitize=${SPLITWAVE_SANITIZE})
endif()
