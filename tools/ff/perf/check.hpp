// Test data whose reduction is known, and the count of results that are wrong.
//
// Every value depends on rank, position and repetition, so a block that lands in the wrong place, a
// rank that is left out or counted twice, and a result left over from an earlier call all show.
// Integers and truth values must agree exactly, as must the least and greatest of floats. Sums,
// products and averages of floats may be off by one rounding for each addition, and for narrow
// types by one more, in the narrow type, for each pass over the data.
//
// Pure functions of their arguments: any thread may call.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

#include "fireflyer/types.h"

namespace ff::tools::perf {

struct Reduction {
  ff_type type;
  ff_reduce_op op;
  int ranks;
  uint64_t repetition;  // another number, other data
  // Times that a narrow sum is rounded on its way, as the plan says; 0 = not known, then one for
  // each level of a tree over the ranks is allowed.
  int narrow_roundings = 0;
};

struct Wrong {
  uint64_t count = 0;
  uint64_t first = 0;    // its index
  std::string expected;  // at `first`, as text
  std::string found;
};

// Writes rank `rank`'s input.
void fill(const Reduction& reduction, int rank, void* data, size_t count);
// Compares what the reduction over all ranks should have left in `data`.
Wrong count_wrong(const Reduction& reduction, const void* data, size_t count);

// What each buffer holds while it is timed in place, call after call: values that neither grow
// without bound nor shrink until arithmetic on them takes longer (denormal floats).
void fill_neutral(ff_type type, ff_reduce_op op, void* data, size_t count);

}  // namespace ff::tools::perf
