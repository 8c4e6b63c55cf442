# ff_module(NAME SOURCES ... [DEPENDS ...] [TESTS ...]): one folder of src/ as a static library, ff_NAME,
# and its unit tests as one program, ff_NAME_test, with each GoogleTest case known to ctest.
function(ff_module name)
  cmake_parse_arguments(M "" "" "SOURCES;DEPENDS;TESTS" ${ARGN})
  add_library(ff_${name} STATIC ${M_SOURCES})
  target_include_directories(ff_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(ff_${name} PUBLIC ff_options fmt::fmt ${M_DEPENDS})
  if(M_TESTS AND FF_BUILD_TESTS)
    ff_test(${name}_test SOURCES ${M_TESTS} DEPENDS ff_${name})
  endif()
endfunction()

# ff_test(NAME SOURCES ... [DEPENDS ...] [LABEL unit] [TIMEOUT seconds]): a GoogleTest program.
function(ff_test name)
  cmake_parse_arguments(T "" "LABEL;TIMEOUT" "SOURCES;DEPENDS" ${ARGN})
  if(NOT T_LABEL)
    set(T_LABEL unit)
  endif()
  if(NOT T_TIMEOUT)
    set(T_TIMEOUT 120)
  endif()
  add_executable(ff_${name} ${T_SOURCES})
  target_link_libraries(ff_${name} PRIVATE ff_options GTest::gtest_main ${T_DEPENDS})
  gtest_discover_tests(ff_${name} DISCOVERY_TIMEOUT 60
    PROPERTIES LABELS ${T_LABEL} TIMEOUT ${T_TIMEOUT})
endfunction()
