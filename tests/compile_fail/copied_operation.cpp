// Two owners of one call, which would release it twice.
#include <utility>

#include "fireflyer/fireflyer.hpp"

ff::Operation second(ff::Operation& first) {
#ifdef FF_MISUSE
  return first;
#else
  return std::move(first);
#endif
}
