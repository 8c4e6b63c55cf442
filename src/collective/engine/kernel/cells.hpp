// Fills a level's table: which format and which operation each (type, op) is.
#pragma once
#include "collective/engine/kernel/format.hpp"
#include "collective/engine/kernel/loop.hpp"
#include "collective/engine/kernel/operation.hpp"
#include "collective/engine/kernel/table.hpp"

namespace ff {

template <class L, class Format>
constexpr void fill_floating(ReduceKernel (&row)[FF_BUILTIN_OPS]) {
  row[FF_SUM] = &Reduction<L, Format, Sum>::reduce;
  row[FF_PROD] = &Reduction<L, Format, Product>::reduce;
  row[FF_MAX] = &Reduction<L, Format, Maximum>::reduce;
  row[FF_MIN] = &Reduction<L, Format, Minimum>::reduce;
  row[FF_AVG] = &Reduction<L, Format, Average>::reduce;
}

template <class L, class T>
constexpr void fill_integer(ReduceKernel (&row)[FF_BUILTIN_OPS]) {
  using Low = Integer<L, std::make_unsigned_t<T>>;  // where only the low bits count; wraps
  row[FF_SUM] = &Reduction<L, Low, Sum>::reduce;
  row[FF_PROD] = &Reduction<L, Low, Product>::reduce;
  row[FF_MAX] = &Reduction<L, Integer<L, T>, Maximum>::reduce;
  row[FF_MIN] = &Reduction<L, Integer<L, T>, Minimum>::reduce;
  row[FF_BAND] = &Reduction<L, Low, And>::reduce;
  row[FF_BOR] = &Reduction<L, Low, Or>::reduce;
  row[FF_BXOR] = &Reduction<L, Low, Xor>::reduce;
}

template <class L>
constexpr void fill_truth(ReduceKernel (&row)[FF_BUILTIN_OPS]) {
  row[FF_SUM] = row[FF_MAX] = row[FF_BOR] = &Reduction<L, Truth<L>, Or>::reduce;
  row[FF_PROD] = row[FF_MIN] = row[FF_BAND] = &Reduction<L, Truth<L>, And>::reduce;
  row[FF_BXOR] = &Reduction<L, Truth<L>, Xor>::reduce;
}

// Float16 and BFloat16: the level's formats for them, by its own instructions where it has them.
template <class L, class Float16, class BFloat16>
constexpr KernelTable make_table() {
  KernelTable table = {};
  fill_integer<L, int8_t>(table.reduce[FF_INT8]);
  fill_integer<L, uint8_t>(table.reduce[FF_UINT8]);
  fill_integer<L, int16_t>(table.reduce[FF_INT16]);
  fill_integer<L, uint16_t>(table.reduce[FF_UINT16]);
  fill_integer<L, int32_t>(table.reduce[FF_INT32]);
  fill_integer<L, uint32_t>(table.reduce[FF_UINT32]);
  fill_integer<L, int64_t>(table.reduce[FF_INT64]);
  fill_integer<L, uint64_t>(table.reduce[FF_UINT64]);
  fill_floating<L, Float16>(table.reduce[FF_FLOAT16]);
  fill_floating<L, BFloat16>(table.reduce[FF_BFLOAT16]);
  fill_floating<L, Floating<L, float>>(table.reduce[FF_FLOAT32]);
  fill_floating<L, Floating<L, double>>(table.reduce[FF_FLOAT64]);
  fill_floating<L, Float8E4M3<L>>(table.reduce[FF_FLOAT8_E4M3]);
  fill_floating<L, Float8E5M2<L>>(table.reduce[FF_FLOAT8_E5M2]);
  fill_truth<L>(table.reduce[FF_BOOL]);
  table.copy = &Copying<L>::copy;
  return table;
}

}  // namespace ff
