// Elements that do not lie side by side in memory.
#include <deque>
#include <vector>

#include "fireflyer/fireflyer.hpp"

#ifdef FF_MISUSE
using Buffer = std::deque<float>;
#else
using Buffer = std::vector<float>;
#endif

bool sum(ff::Communicator& comm, Buffer& data) { return comm.all_reduce(data, ff::Op::kSum).ok(); }
