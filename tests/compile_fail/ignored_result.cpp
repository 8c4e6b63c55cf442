// An all-reduce whose outcome nobody looks at: a lost peer would go unnoticed.
#include <vector>

#include "fireflyer/fireflyer.hpp"

bool sum(ff::Communicator& comm, std::vector<float>& data) {
#ifdef FF_MISUSE
  comm.all_reduce(data, ff::Op::kSum);
  return true;
#else
  return comm.all_reduce(data, ff::Op::kSum).ok();
#endif
}
