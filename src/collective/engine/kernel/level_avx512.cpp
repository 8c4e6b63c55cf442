// AVX-512: F, BW, DQ, VL.
//
// AVX512-BF16's conversion is not used: it flushes subnormals, so its bits are not the reference's.
#include <immintrin.h>

#include "collective/engine/kernel/cells.hpp"

namespace ff {
namespace {

struct Avx512 {
  static constexpr int kBytes = 64;
  static constexpr bool kStreams = true;
  using Bytes = VectorOf<uint32_t, kBytes>::type;
  using F32 = VectorOf<float, kBytes>::type;
  using F64 = VectorOf<double, kBytes>::type;

  static FF_KERNEL_INLINE __mmask64 first(size_t bytes) { return ~uint64_t{0} >> (64 - bytes); }
  static FF_KERNEL_INLINE Bytes load(const char* p) { return (Bytes)_mm512_loadu_si512(p); }
  // One element of the most usual widths goes through a plain move: the CPU hands a store's data on
  // to the next load of the same address at once, but not a masked store's.
  static FF_KERNEL_INLINE Bytes load_partial(const char* p, size_t bytes) {
    if (bytes == 4) return (Bytes)_mm512_zextsi128_si512(_mm_loadu_si32(p));
    if (bytes == 8) return (Bytes)_mm512_zextsi128_si512(_mm_loadu_si64(p));
    return (Bytes)_mm512_maskz_loadu_epi8(first(bytes), p);
  }
  static FF_KERNEL_INLINE void store(char* p, Bytes x) { _mm512_storeu_si512(p, (__m512i)x); }
  static FF_KERNEL_INLINE void store_partial(char* p, Bytes x, size_t bytes) {
    if (bytes == 4) return _mm_storeu_si32(p, _mm512_castsi512_si128((__m512i)x));
    if (bytes == 8) return _mm_storeu_si64(p, _mm512_castsi512_si128((__m512i)x));
    _mm512_mask_storeu_epi8(p, first(bytes), (__m512i)x);
  }
  static FF_KERNEL_INLINE void stream(char* p, Bytes x) {
    _mm512_stream_si512(reinterpret_cast<__m512i*>(p), (__m512i)x);
  }
  static FF_KERNEL_INLINE void fence() { _mm_sfence(); }

  // VRANGE orders zeros as we want, but prefers a number to a quiet NaN.
  static constexpr int kLesser = 0b0100;  // and its sign
  static constexpr int kGreater = 0b0101;
  template <int which>
  static FF_KERNEL_INLINE F32 range(F32 a, F32 b) {
    return (F32)_mm512_mask_add_ps(_mm512_range_ps((__m512)a, (__m512)b, which),
                                   _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_UNORD_Q),
                                   (__m512)a, (__m512)b);
  }
  template <int which>
  static FF_KERNEL_INLINE F64 range(F64 a, F64 b) {
    return (F64)_mm512_mask_add_pd(_mm512_range_pd((__m512d)a, (__m512d)b, which),
                                   _mm512_cmp_pd_mask((__m512d)a, (__m512d)b, _CMP_UNORD_Q),
                                   (__m512d)a, (__m512d)b);
  }
  template <class V>
  static FF_KERNEL_INLINE V maximum(V a, V b) {
    return range<kGreater>(a, b);
  }
  template <class V>
  static FF_KERNEL_INLINE V minimum(V a, V b) {
    return range<kLesser>(a, b);
  }
};

struct Float16 {
  static constexpr size_t kElementBytes = 2;
  using Accumulator = Parts<Avx512::F32, 2>;
  static FF_KERNEL_INLINE Accumulator widen(Avx512::Bytes x) {
    const __m512i half = (__m512i)x;
    return {{(Avx512::F32)_mm512_cvtph_ps(_mm512_castsi512_si256(half)),
             (Avx512::F32)_mm512_cvtph_ps(_mm512_extracti64x4_epi64(half, 1))}};
  }
  static FF_KERNEL_INLINE Avx512::Bytes narrow(Accumulator a) {
    return (Avx512::Bytes)_mm512_inserti64x4(_mm512_castsi256_si512(rounded(a.part[0])),
                                             rounded(a.part[1]), 1);
  }
  static FF_KERNEL_INLINE __m256i rounded(Avx512::F32 x) {
    return _mm512_cvtps_ph((__m512)canonical<Avx512>(x),
                           _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  }
};

}  // namespace

constexpr KernelTable kAvx512Table = make_table<Avx512, Float16>();

}  // namespace ff
