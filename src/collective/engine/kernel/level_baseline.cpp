// The level that every CPU of the architecture has: 16-byte vectors in plain C++, so SSE2 on
// x86-64, and a second opinion on the NEON level on AArch64.
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "collective/engine/kernel/cells.hpp"
#include "collective/engine/kernel/partial.hpp"

namespace ff {
namespace {

struct Baseline {
  static constexpr int kBytes = 16;
  using Bytes = VectorOf<uint32_t, kBytes>::type;
  using Words = VectorOf<uint64_t, kBytes>::type;

  static FF_KERNEL_INLINE Bytes load(const char* p) {
    Bytes x;
    __builtin_memcpy(&x, p, kBytes);
    return x;
  }
  static FF_KERNEL_INLINE Bytes load_partial(const char* p, size_t bytes) {
    if (bytes == kBytes) return load(p);
    const Bytes16 x = load_up_to_15(p, bytes);
    return (Bytes)Words{x.low, x.high};
  }
  static FF_KERNEL_INLINE void store(char* p, Bytes x) { __builtin_memcpy(p, &x, kBytes); }
  static FF_KERNEL_INLINE void store_partial(char* p, Bytes x, size_t bytes) {
    if (bytes == kBytes) return store(p, x);
    const Words words = (Words)x;
    store_up_to_15(p, {words[0], words[1]}, bytes);
  }
#if defined(__SSE2__)
  static constexpr bool kStreams = true;
  static FF_KERNEL_INLINE void stream(char* p, Bytes x) {
    _mm_stream_si128(reinterpret_cast<__m128i*>(p), (__m128i)x);
  }
  static FF_KERNEL_INLINE void fence() { _mm_sfence(); }
#else
  static constexpr bool kStreams = false;
  static FF_KERNEL_INLINE void stream(char* p, Bytes x) { store(p, x); }
  static FF_KERNEL_INLINE void fence() {}
#endif

  // The masks choose a or b where one is greater; where neither is, the two are equal, zeros of
  // any signs, or unordered: then a & b is the greater zero, and all ones is a NaN.
  template <class V>
  static FF_KERNEL_INLINE V maximum(V a, V b) {
    using M = decltype(a > b);
    const M x = (M)a, y = (M)b;
    return (V)(((a > b) & x) | ((a < b) & y) | ((a == b) & x & y) | unordered(a, b));
  }
  template <class V>
  static FF_KERNEL_INLINE V minimum(V a, V b) {
    using M = decltype(a > b);
    const M x = (M)a, y = (M)b;
    return (V)(((a < b) & x) | ((a > b) & y) | ((a == b) & (x | y)) | unordered(a, b));
  }
  template <class V>
  static FF_KERNEL_INLINE decltype(V{} > V{}) unordered(V a, V b) {
    return (a != a) | (b != b);
  }
};

}  // namespace

constexpr KernelTable kBaselineTable =
    make_table<Baseline, PortableFloat16<Baseline>, BFloat16<Baseline>>();

}  // namespace ff
