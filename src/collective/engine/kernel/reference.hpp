// The oracle: what every kernel must compute, element by element, in the plainest words we know.
//
// Shares no code with the kernels. Slow; for tests, of kernels and of whole collectives.
#pragma once
#include <cstddef>
#include <cstdint>

#include "fireflyer/types.h"

namespace ff::reference {

// One element of a float type of 16 or 8 bits (FF_FLOAT16, FF_BFLOAT16, FF_FLOAT8_*), by its bits.
// Exact; a NaN of any payload becomes some NaN.
float to_float(ff_type type, uint32_t bits);

// The element nearest to `value`, ties to even, as the format had no largest exponent; a magnitude
// beyond the largest finite one then is infinity, or NaN in e4m3, which has no infinity (as
// PyTorch's float8_e4m3fn). Every NaN is the canonical one.
uint32_t from_float(ff_type type, float value);

// The same operands as a ReduceKernel's. `type` and `op` must be a pair with meaning.
void reduce(ff_type type, ff_reduce_op op, void* const* out, size_t outs, const void* const* in,
            size_t ins, size_t count, double divisor);

}  // namespace ff::reference
