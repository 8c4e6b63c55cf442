// Two owners of one seat in a group, which would leave it twice.
#include <utility>

#include "fireflyer/fireflyer.hpp"

ff::Communicator second(ff::Communicator& first) {
#ifdef FF_MISUSE
  return first;
#else
  return std::move(first);
#endif
}
