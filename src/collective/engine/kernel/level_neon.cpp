// NEON, which every AArch64 CPU has, with its conversions between float16 and float32.
//
// Its non-temporal stores (STNP) are only a hint and exist only as pairs, so nothing is streamed.
#include <arm_neon.h>

#include "collective/engine/kernel/cells.hpp"
#include "collective/engine/kernel/partial.hpp"

namespace ff {
namespace {

struct Neon {
  static constexpr int kBytes = 16;
  static constexpr bool kStreams = false;
  using Bytes = VectorOf<uint32_t, kBytes>::type;
  using Words = VectorOf<uint64_t, kBytes>::type;
  using F32 = VectorOf<float, kBytes>::type;
  using F64 = VectorOf<double, kBytes>::type;

  static FF_KERNEL_INLINE Bytes load(const char* p) {
    return (Bytes)vld1q_u8(reinterpret_cast<const uint8_t*>(p));
  }
  static FF_KERNEL_INLINE Bytes load_partial(const char* p, size_t bytes) {
    if (bytes == kBytes) return load(p);
    const Bytes16 x = load_up_to_15(p, bytes);
    return (Bytes)Words{x.low, x.high};
  }
  static FF_KERNEL_INLINE void store(char* p, Bytes x) {
    vst1q_u8(reinterpret_cast<uint8_t*>(p), (uint8x16_t)x);
  }
  static FF_KERNEL_INLINE void store_partial(char* p, Bytes x, size_t bytes) {
    if (bytes == kBytes) return store(p, x);
    const Words words = (Words)x;
    store_up_to_15(p, {words[0], words[1]}, bytes);
  }
  static FF_KERNEL_INLINE void stream(char* p, Bytes x) { store(p, x); }
  static FF_KERNEL_INLINE void fence() {}

  // FMAX and FMIN are the rule itself: any NaN gives NaN, and -0 < +0.
  static FF_KERNEL_INLINE F32 maximum(F32 a, F32 b) {
    return (F32)vmaxq_f32((float32x4_t)a, (float32x4_t)b);
  }
  static FF_KERNEL_INLINE F32 minimum(F32 a, F32 b) {
    return (F32)vminq_f32((float32x4_t)a, (float32x4_t)b);
  }
  static FF_KERNEL_INLINE F64 maximum(F64 a, F64 b) {
    return (F64)vmaxq_f64((float64x2_t)a, (float64x2_t)b);
  }
  static FF_KERNEL_INLINE F64 minimum(F64 a, F64 b) {
    return (F64)vminq_f64((float64x2_t)a, (float64x2_t)b);
  }
};

struct Float16 {
  static constexpr size_t kElementBytes = 2;
  using Accumulator = Parts<Neon::F32, 2>;
  static FF_KERNEL_INLINE Accumulator widen(Neon::Bytes x) {
    const float16x8_t half = (float16x8_t)x;
    return {{(Neon::F32)vcvt_f32_f16(vget_low_f16(half)), (Neon::F32)vcvt_high_f32_f16(half)}};
  }
  static FF_KERNEL_INLINE Neon::Bytes narrow(Accumulator a) {
    const float32x4_t low = (float32x4_t)canonical<Neon>(a.part[0]);
    const float32x4_t high = (float32x4_t)canonical<Neon>(a.part[1]);
    return (Neon::Bytes)vcvt_high_f16_f32(vcvt_f16_f32(low), high);
  }
};

}  // namespace

constexpr KernelTable kNeonTable = make_table<Neon, Float16, BFloat16<Neon>>();

}  // namespace ff
