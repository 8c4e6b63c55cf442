# cmake -D SOURCE= -D BUILD= -P run.cmake: cross-compiles the kernels for AArch64 and runs their tests under qemu.
foreach(tool aarch64-linux-gnu-g++ qemu-aarch64-static)
  find_program(found_${tool} ${tool})
  if(NOT found_${tool})
    set(missing "${tool} is not installed (Debian: g++-aarch64-linux-gnu, qemu-user-static)")
    if("$ENV{CI}" STREQUAL "true")
      message(FATAL_ERROR "${missing}, and CI must not skip this test")
    endif()
    message("SKIPPED: ${missing}")
    return()
  endif()
endforeach()

execute_process(
  COMMAND ${CMAKE_COMMAND} -S ${SOURCE}/tests/neon/project -B ${BUILD} -G Ninja
    -DCMAKE_TOOLCHAIN_FILE=${SOURCE}/cmake/aarch64-linux-gnu.cmake
  COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} --build ${BUILD} COMMAND_ERROR_IS_FATAL ANY)
execute_process(
  COMMAND ${CMAKE_CTEST_COMMAND} --test-dir ${BUILD} --output-on-failure --no-tests=error
  COMMAND_ERROR_IS_FATAL ANY)
