// A sum of values that no kernel can add.
#include <complex>
#include <vector>

#include "fireflyer/fireflyer.hpp"

#ifdef FF_MISUSE
using Number = std::complex<float>;
#else
using Number = double;
#endif

bool sum(ff::Communicator& comm, std::vector<Number>& data) {
  return comm.all_reduce(data, ff::Op::kSum).ok();
}
