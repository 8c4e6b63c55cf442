// The table of one instruction-set level, and the rule which of its cells exist.
//
// Read by dispatch.cpp alone; each level's source file defines one table and nothing else that the
// linker can see, so that no code built for a wide level is ever shared with the rest.
#pragma once
#include "collective/engine/kernel/kernel.hpp"

namespace ff {

struct KernelTable {
  ReduceKernel reduce[FF_TYPE_COUNT][FF_BUILTIN_OPS];  // nullptr exactly where has_meaning is false
  CopyKernel copy;
};

// Bitwise operations need bits that mean something by themselves, and an integer average would
// round in a way that nobody agrees on.
constexpr bool has_meaning(ff_type type, ff_reduce_op op) {
  const bool floating = type >= FF_FLOAT16 && type <= FF_FLOAT8_E5M2;
  if (op == FF_AVG) return floating;
  return !floating || (op != FF_BAND && op != FF_BOR && op != FF_BXOR);
}

extern const KernelTable kBaselineTable;
#if defined(__x86_64__)
extern const KernelTable kAvx2Table;
extern const KernelTable kAvx512Table;
#elif defined(__aarch64__)
extern const KernelTable kNeonTable;
#endif

}  // namespace ff
