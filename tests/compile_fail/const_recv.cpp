// A result written into memory that the caller promised not to change.
#include <span>

#include "fireflyer/fireflyer.hpp"

#ifdef FF_MISUSE
using Recv = std::span<const float>;
#else
using Recv = std::span<float>;
#endif

bool sum(ff::Communicator& comm, std::span<const float> send, Recv recv) {
  return comm.all_reduce(send, recv, ff::Op::kSum).ok();
}
