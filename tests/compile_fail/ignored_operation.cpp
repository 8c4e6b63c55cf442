// An asynchronous call that nobody can wait for: its buffer could be given back too early.
#include <vector>

#include "fireflyer/fireflyer.hpp"

bool sum(ff::Communicator& comm, std::vector<float>& data) {
#ifdef FF_MISUSE
  comm.all_reduce_async(data, ff::Op::kSum);
  return true;
#else
  auto operation = comm.all_reduce_async(data, ff::Op::kSum);
  return operation.ok() && operation->wait().ok();
#endif
}
