# Run by splitwave_page_bundle at build time: installs the packages of package-lock.json into WORK and bundles MAIN into
# OUT. Where that fails, OUT is empty unless REQUIRED, and one line says so.
set(problem "")
file(MAKE_DIRECTORY "${WORK}")
# A folder that was installed from the same lock file serves again: later builds need no network.
file(SHA256 "${FOLDER}/package-lock.json" lock)
set(stamp "${WORK}/installed-${lock}")
if(NOT EXISTS "${stamp}")
  file(COPY "${FOLDER}/package.json" "${FOLDER}/package-lock.json" DESTINATION "${WORK}")
  execute_process(
    COMMAND "${NPM}" ci --ignore-scripts --prefer-offline --no-audit --no-fund --fetch-retries=1 --fetch-timeout=30000
            --update-notifier=false
    WORKING_DIRECTORY "${WORK}" RESULT_VARIABLE result OUTPUT_QUIET ERROR_VARIABLE error)
  if(result EQUAL 0)
    file(TOUCH "${stamp}")
  else()
    string(REGEX MATCH "npm ERR! [^\n]*|npm error [^\n]*" line "${error}")
    set(problem "npm ci failed in ${WORK} (${line})")
  endif()
endif()
if(NOT problem)
  execute_process(COMMAND "${NODE}" "${FOLDER}/bundle.mjs" "${FOLDER}/main.js" "${OUT}" "${WORK}/node_modules"
    RESULT_VARIABLE result ERROR_VARIABLE error)
  if(NOT result EQUAL 0)
    set(problem "the page's program could not be bundled: ${error}")
  endif()
endif()
if(problem AND REQUIRED)
  message(FATAL_ERROR "${problem}")
elseif(problem)
  file(WRITE "${OUT}" "")
  message(STATUS "reports are built without figures: ${problem}; to try again, remove ${OUT}")
endif()
