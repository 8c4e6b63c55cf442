// The arithmetic: reduce k buffers to one value and store it to m places, in one pass; and copy.
//
// Kernels for every (type, operation) at every instruction-set level give the same bits, those of
// the scalar reference (reference.hpp):
//  - Inputs are combined as a balanced binary tree over their order: tree(n) = tree(p) op
//    tree(n - p), p the largest power of two below n. Hence an aligned power of two of neighbours
//    can be reduced beforehand without changing a bit (for accumulating types, without rounding).
//  - 16- and 8-bit floats are widened to float32, combined there, rounded to nearest even once.
//  - Every NaN result is the type's canonical quiet NaN, whatever payloads came in. FF_MAX and
//    FF_MIN give NaN if any input is NaN; for them -0 < +0.
//  - Integers wrap. FF_BOOL: any non-zero byte is true; sum, max, bor are OR, prod, min, band are
//    AND, bxor is XOR; results are 0 or 1.
//  - FF_AVG is the sum divided by `divisor` in the accumulating type, before rounding.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/status.hpp"
#include "fireflyer/types.h"

namespace ff {

enum class Isa : uint8_t { kBaseline, kAvx2, kAvx512, kNeon };
const char* isa_name(Isa isa);  // "baseline", "avx2", "avx512", "neon"

// The best level of this CPU, at most `cap` ("" = no cap; an unknown name or a level of another
// architecture is an error; a level that this CPU lacks gives the best one below it).
Result<Isa> select_isa(std::string_view cap);

// out[j][i] = op over all x in `in` of in[x][i], for i < count and j < outs.
//
// Buffers may have any alignment. An output may be the same buffer as an input; no other overlap.
// The first `streamed` outputs are written with non-temporal stores where the level has them, and
// are globally visible when the kernel returns. `divisor` is read by FF_AVG only.
using ReduceKernel = void (*)(void* const* out, size_t outs, size_t streamed, const void* const* in,
                              size_t ins, size_t count, double divisor);

// Copies `bytes` from `in` to each of `outs` buffers; `streamed` as above. No overlap.
using CopyKernel = void (*)(void* const* out, size_t outs, size_t streamed, const void* in,
                            size_t bytes);

// nullptr where the pair has no meaning: band, bor, bxor of floats, avg of integers and bool.
ReduceKernel reduce_kernel(Isa isa, ff_type type, ff_reduce_op op);
CopyKernel copy_kernel(Isa isa);

// Why reduce_kernel has none: FF_ERROR_ARGUMENT for an unknown type or operation,
// FF_ERROR_UNSUPPORTED, naming both, for a pair without meaning.
Status check_reduction(ff_type type, ff_reduce_op op);

}  // namespace ff
