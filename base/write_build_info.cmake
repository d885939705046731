cmake_minimum_required(VERSION 3.25)
# Run at every build: writes the header OUT with VERSION and the commit of the checkout SOURCE. The file is only touched
# when its text changes, so that one small source is compiled again, and only after a commit.
set(commit "unknown")
execute_process(
  COMMAND git -C "${SOURCE}" describe --always --dirty --abbrev=12 --exclude=*
  OUTPUT_VARIABLE described OUTPUT_STRIP_TRAILING_WHITESPACE
  RESULT_VARIABLE status ERROR_QUIET)
# A source archive that lies in somebody else's checkout is not that checkout's commit.
if(status EQUAL 0 AND EXISTS "${SOURCE}/.git")
  set(commit "${described}")
endif()
file(CONFIGURE OUTPUT "${OUT}" CONTENT
"#pragma once
#define SPLITWAVE_VERSION \"@VERSION@\"
#define SPLITWAVE_COMMIT \"@commit@\"
" @ONLY)
