# cmake -D FF= -D PROGRAM= -P check_demo.cmake: runs the demo under `ff run`, small, and checks what it
# prints and how it ends.
function(run_demo status_out text_out)
  execute_process(COMMAND ${FF} run -n 4 -- ${PROGRAM} ${ARGN}
    RESULT_VARIABLE status OUTPUT_VARIABLE out ERROR_VARIABLE err TIMEOUT 600)
  set(${status_out} "${status}" PARENT_SCOPE)
  set(${text_out} "${out}${err}" PARENT_SCOPE)
endfunction()

function(expect text)
  foreach(pattern IN LISTS ARGN)
    if(NOT text MATCHES "${pattern}")
      message(FATAL_ERROR "\"${pattern}\" is missing in:\n${text}")
    endif()
  endforeach()
endfunction()

set(small --epochs 2 --images 6000)

run_demo(status text ${small} --least-accuracy 70)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "the demo ended with ${status}:\n${text}")
endif()
expect("${text}"
  "epoch 2/2  loss 0\\.[0-9]+ +[0-9]+ images/s  waiting for communication"
  "accuracy [78][0-9]\\.[0-9][0-9] %"
  "ranks agree: all 4 hold the same weights bit for bit"
  "replay agrees: one process, 4 sub-batches in turn, gets the same weights bit for bit")

# The two hashes are those of the same weights.
string(REGEX MATCHALL "hash [0-9a-f]+" hashes "${text}")
list(REMOVE_DUPLICATES hashes)
list(LENGTH hashes different)
if(NOT different EQUAL 1)
  message(FATAL_ERROR "the proofs name different weights: ${hashes}")
endif()

# Other buckets, other all-reduces, the same sums: the weights do not change by a bit.
run_demo(status again ${small} --bucket-bytes 2000000)
expect("${again}" "1 buckets" "${hashes}")

# What is wrong is said, and the job fails.
run_demo(status text ${small} --least-accuracy 99.9)
if(status EQUAL 0)
  message(FATAL_ERROR "too low an accuracy went unnoticed:\n${text}")
endif()
expect("${text}" "TOO LOW")
run_demo(status text --batch 255)
if(status EQUAL 0)
  message(FATAL_ERROR "a batch that 4 ranks cannot share was accepted:\n${text}")
endif()
expect("${text}" "--batch 255 cannot be shared evenly by 4 ranks")
run_demo(status text --data /nonexistent)
if(status EQUAL 0)
  message(FATAL_ERROR "missing files were accepted:\n${text}")
endif()
expect("${text}" "Install the Debian package dataset-fashion-mnist")
