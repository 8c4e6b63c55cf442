# One table at the end of the configuration: what will be built, and what is left out.
function(ff_summary)
  set(rows
    "version|${PROJECT_VERSION}"
    "compiler|${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}, ${CMAKE_SYSTEM_PROCESSOR}"
    "build type|${CMAKE_BUILD_TYPE}"
    "sanitizers|${FF_SANITIZE}"
    "warnings are errors|${FF_WERROR}"
    "tests|${FF_BUILD_TESTS}"
    "fuzzers|${FF_BUILD_FUZZERS}"
    "clang-tidy|${FF_CLANG_TIDY}"
    "install prefix|${CMAKE_INSTALL_PREFIX}")
  if(TARGET train_fashion_mnist)
    list(APPEND rows "examples|ON")
  else()
    list(APPEND rows "examples|OFF (FF_BUILD_EXAMPLES=${FF_BUILD_EXAMPLES})")
  endif()
  message(STATUS "Fireflyer")
  foreach(row IN LISTS rows)
    string(REPLACE "|" ";" row "${row}|")
    list(GET row 0 name)
    list(GET row 1 value)
    if(value STREQUAL "")
      set(value "none")
    endif()
    string(LENGTH "${name}" length)
    math(EXPR pad "22 - ${length}")
    string(REPEAT " " ${pad} space)
    message(STATUS "  ${name}${space}${value}")
  endforeach()
endfunction()
