// send and recv of different element types.
#include <vector>

#include "fireflyer/fireflyer.hpp"

#ifdef FF_MISUSE
using Sent = double;
#else
using Sent = float;
#endif

bool sum(ff::Communicator& comm, const std::vector<Sent>& send, std::vector<float>& recv) {
  return comm.all_reduce(send, recv, ff::Op::kSum).ok();
}
