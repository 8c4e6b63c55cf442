// A maximum of chars, whose sign depends on the machine: signed char or unsigned char say which.
#include <vector>

#include "fireflyer/fireflyer.hpp"

#ifdef FF_MISUSE
using Number = char;
#else
using Number = signed char;
#endif

bool maximum(ff::Communicator& comm, std::vector<Number>& data) {
  return comm.all_reduce(data, ff::Op::kMax).ok();
}
