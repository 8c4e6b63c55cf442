# cmake -D COMPILER= -D INCLUDE= -D SOURCE= -D REASON= -P check.cmake
# Passes if SOURCE compiles as it is, and with FF_MISUSE fails with a message that matches REASON.
set(compile ${COMPILER} -std=c++20 -fsyntax-only -Wall -Wextra -Werror -fdiagnostics-color=never -I ${INCLUDE} ${SOURCE})

execute_process(COMMAND ${compile} RESULT_VARIABLE status ERROR_VARIABLE text)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "the correct use does not compile:\n${text}")
endif()

execute_process(COMMAND ${compile} -D FF_MISUSE RESULT_VARIABLE status ERROR_VARIABLE text)
if(status EQUAL 0)
  message(FATAL_ERROR "the misuse compiles")
endif()
if(NOT text MATCHES "${REASON}")
  message(FATAL_ERROR "the misuse fails for another reason than \"${REASON}\":\n${text}")
endif()
