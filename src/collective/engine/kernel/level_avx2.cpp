// AVX2 and F16C. FMA is neither needed nor wanted: its bits differ from a product and a sum.
#include <immintrin.h>

#include "collective/engine/kernel/cells.hpp"
#include "collective/engine/kernel/partial.hpp"

namespace ff {
namespace {

struct Avx2 {
  static constexpr int kBytes = 32;
  static constexpr bool kStreams = true;
  using Bytes = VectorOf<uint32_t, kBytes>::type;
  using F32 = VectorOf<float, kBytes>::type;
  using F64 = VectorOf<double, kBytes>::type;

  static FF_KERNEL_INLINE Bytes load(const char* p) {
    return (Bytes)_mm256_loadu_si256(reinterpret_cast<const __m256i_u*>(p));
  }
  static FF_KERNEL_INLINE __m128i load_half(const char* p, size_t bytes) {
    const Bytes16 x = load_up_to_15(p, bytes);
    return _mm_set_epi64x(static_cast<int64_t>(x.high), static_cast<int64_t>(x.low));
  }
  static FF_KERNEL_INLINE Bytes load_partial(const char* p, size_t bytes) {
    if (bytes == kBytes) return load(p);
    if (bytes < 16) return (Bytes)_mm256_zextsi128_si256(load_half(p, bytes));
    return (Bytes)_mm256_set_m128i(load_half(p + 16, bytes - 16),
                                   _mm_loadu_si128(reinterpret_cast<const __m128i_u*>(p)));
  }
  static FF_KERNEL_INLINE void store(char* p, Bytes x) {
    _mm256_storeu_si256(reinterpret_cast<__m256i_u*>(p), (__m256i)x);
  }
  static FF_KERNEL_INLINE void store_partial(char* p, Bytes x, size_t bytes) {
    if (bytes == kBytes) return store(p, x);
    const auto words = (VectorOf<uint64_t, kBytes>::type)x;
    if (bytes >= 16) {
      write_word<uint64_t>(p, words[0]);
      write_word<uint64_t>(p + 8, words[1]);
      store_up_to_15(p + 16, {words[2], words[3]}, bytes - 16);
    } else {
      store_up_to_15(p, {words[0], words[1]}, bytes);
    }
  }
  static FF_KERNEL_INLINE void stream(char* p, Bytes x) {
    _mm256_stream_si256(reinterpret_cast<__m256i*>(p), (__m256i)x);
  }
  static FF_KERNEL_INLINE void fence() { _mm_sfence(); }

  // MAXPS gives its second operand for a NaN and for zeros of both signs, so the two orders agree
  // but there. Combining both and the mask of NaNs settles the rest: +0 = +0 & -0; all ones is NaN.
  static FF_KERNEL_INLINE F32 maximum(F32 a, F32 b) {
    const __m256 x = (__m256)a, y = (__m256)b;
    return (F32)_mm256_or_ps(_mm256_and_ps(_mm256_max_ps(x, y), _mm256_max_ps(y, x)),
                             _mm256_cmp_ps(x, y, _CMP_UNORD_Q));
  }
  static FF_KERNEL_INLINE F32 minimum(F32 a, F32 b) {
    const __m256 x = (__m256)a, y = (__m256)b;
    return (F32)_mm256_or_ps(_mm256_or_ps(_mm256_min_ps(x, y), _mm256_min_ps(y, x)),
                             _mm256_cmp_ps(x, y, _CMP_UNORD_Q));
  }
  static FF_KERNEL_INLINE F64 maximum(F64 a, F64 b) {
    const __m256d x = (__m256d)a, y = (__m256d)b;
    return (F64)_mm256_or_pd(_mm256_and_pd(_mm256_max_pd(x, y), _mm256_max_pd(y, x)),
                             _mm256_cmp_pd(x, y, _CMP_UNORD_Q));
  }
  static FF_KERNEL_INLINE F64 minimum(F64 a, F64 b) {
    const __m256d x = (__m256d)a, y = (__m256d)b;
    return (F64)_mm256_or_pd(_mm256_or_pd(_mm256_min_pd(x, y), _mm256_min_pd(y, x)),
                             _mm256_cmp_pd(x, y, _CMP_UNORD_Q));
  }
};

struct Float16 {
  static constexpr size_t kElementBytes = 2;
  using Accumulator = Parts<Avx2::F32, 2>;
  static FF_KERNEL_INLINE Accumulator widen(Avx2::Bytes x) {
    const __m256i half = (__m256i)x;
    return {{(Avx2::F32)_mm256_cvtph_ps(_mm256_castsi256_si128(half)),
             (Avx2::F32)_mm256_cvtph_ps(_mm256_extracti128_si256(half, 1))}};
  }
  static FF_KERNEL_INLINE Avx2::Bytes narrow(Accumulator a) {
    return (Avx2::Bytes)_mm256_inserti128_si256(_mm256_castsi128_si256(rounded(a.part[0])),
                                                rounded(a.part[1]), 1);
  }
  static FF_KERNEL_INLINE __m128i rounded(Avx2::F32 x) {
    return _mm256_cvtps_ph((__m256)canonical<Avx2>(x),
                           _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  }
};

}  // namespace

constexpr KernelTable kAvx2Table = make_table<Avx2, Float16, BFloat16<Avx2>>();

}  // namespace ff
