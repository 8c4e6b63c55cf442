// A buffer that is gone before the call is done.
#include <vector>

#include "fireflyer/fireflyer.hpp"

std::vector<float> gradient();

bool sum(ff::Communicator& comm) {
#ifdef FF_MISUSE
  auto operation = comm.all_reduce_async(gradient(), ff::Op::kSum);
#else
  std::vector<float> data = gradient();
  auto operation = comm.all_reduce_async(data, ff::Op::kSum);
#endif
  return operation.ok() && operation->wait().ok();
}
