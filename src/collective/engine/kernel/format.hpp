// Element formats: how a register of memory becomes accumulators, and back, with one rounding.
//
// Narrow elements are widened where they lie: each 32-bit lane holds two or four of them, and part
// k of the accumulator takes the k-th of every lane. No element crosses a lane, so no shuffles.
#pragma once
#include "collective/engine/kernel/vector.hpp"

namespace ff {

// Every NaN becomes the positive quiet one without payload.
template <class L, class V>
FF_KERNEL_INLINE V canonical(V x) {
  if constexpr (requires { L::canonical(x); }) {
    return L::canonical(x);
  } else if constexpr (sizeof(ElementOf<V>) == sizeof(float)) {
    return select(x == x, x, as<V>(fill<Vector<L, uint32_t>>(0x7fc00000u)));
  } else {
    return select(x == x, x, as<V>(fill<Vector<L, uint64_t>>(uint64_t{0x7ff8000000000000})));
  }
}

// Types that are accumulated as they are.
template <class L, class T>
struct Integer {
  static constexpr size_t kElementBytes = sizeof(T);
  using Accumulator = Parts<Vector<L, T>, 1>;
  static FF_KERNEL_INLINE Accumulator widen(Raw<L> x) { return {{as<Vector<L, T>>(x)}}; }
  static FF_KERNEL_INLINE Raw<L> narrow(Accumulator a) { return as<Raw<L>>(a.part[0]); }
};

template <class L>
struct Truth {
  static constexpr size_t kElementBytes = 1;
  using Accumulator = Parts<Vector<L, uint8_t>, 1>;
  static FF_KERNEL_INLINE Accumulator widen(Raw<L> x) {
    const auto bytes = as<Vector<L, uint8_t>>(x);
    const auto one = fill<Vector<L, uint8_t>>(uint8_t{1});
    return {{select(bytes < one, bytes, one)}};  // the least of x and 1: 0 or 1
  }
  static FF_KERNEL_INLINE Raw<L> narrow(Accumulator a) { return as<Raw<L>>(a.part[0]); }
};

template <class L, class T>
struct Floating {
  static constexpr size_t kElementBytes = sizeof(T);
  using Accumulator = Parts<Vector<L, T>, 1>;
  static FF_KERNEL_INLINE Accumulator widen(Raw<L> x) { return {{as<Vector<L, T>>(x)}}; }
  static FF_KERNEL_INLINE Raw<L> narrow(Accumulator a) {
    return as<Raw<L>>(canonical<L>(a.part[0]));
  }
};

// The upper half of a float32: the only narrow format without subnormal or overflow cases of its
// own, since rounding the bits as an integer carries into the exponent as it should.
template <class L>
struct BFloat16 {
  static constexpr size_t kElementBytes = 2;
  using Accumulator = Parts<Vector<L, float>, 2>;
  static FF_KERNEL_INLINE Accumulator widen(Raw<L> x) {
    return {{as<Vector<L, float>>(x << 16), as<Vector<L, float>>(x & 0xffff0000u)}};
  }
  static FF_KERNEL_INLINE Raw<L> narrow(Accumulator a) {
    return (rounded(a.part[0]) >> 16) | (rounded(a.part[1]) & 0xffff0000u);
  }

 private:
  static FF_KERNEL_INLINE Raw<L> rounded(Vector<L, float> x) {
    const Raw<L> bits = as<Raw<L>>(x);
    return select(x == x, bits + ((bits >> 16 & 1u) + 0x7fffu), fill<Raw<L>>(0x7fc00000u));
  }
};

// A sign, `exponent` bits and `mantissa` bits with subnormals. With `ieee` the highest exponent
// means infinity and NaN; without, only all ones is NaN (OCP e4m3) and overflow gives NaN.
template <class L, int exponent, int mantissa, bool ieee>
struct MiniFloat {
  static constexpr int kMagnitudeBits = exponent + mantissa;
  static constexpr int kShift = 23 - mantissa;  // from our mantissa to float32's
  static constexpr uint32_t kMagnitudeMask = (1u << kMagnitudeBits) - 1;
  static constexpr uint32_t kRebias = 127u - ((1u << (exponent - 1)) - 1);
  static constexpr uint32_t kLeastNormal = (kRebias + 1) << 23;  // as float32
  static constexpr uint32_t kInfinity = ((1u << exponent) - 1) << mantissa;
  static constexpr uint32_t kNan = ieee ? kInfinity | 1u << (mantissa - 1) : kMagnitudeMask;
  using F = Vector<L, float>;
  using I = Vector<L, int32_t>;

  // `bits`: one element in each lane, zeros above it.
  static FF_KERNEL_INLINE F widen(Raw<L> bits) {
    const Raw<L> magnitude = bits & kMagnitudeMask;
    const Raw<L> sign = (bits ^ magnitude) << (31 - kMagnitudeBits);
    const Raw<L> shifted = magnitude << kShift;
    Raw<L> wide = shifted + (kRebias << 23);
    // A subnormal: read it as if it had a leading one, then take that one away, exactly.
    const F least = as<F>(fill<Raw<L>>(kLeastNormal));
    const Raw<L> subnormal = as<Raw<L>>(as<F>(shifted + kLeastNormal) - least);
    wide = select(as<I>(magnitude) < (1 << mantissa), subnormal, wide);
    if constexpr (ieee) {
      wide = select(as<I>(magnitude) >= static_cast<int>(kInfinity), shifted | 0x7f800000u, wide);
    } else {
      wide = select(as<I>(magnitude) == static_cast<int>(kNan), fill<Raw<L>>(0x7fc00000u), wide);
    }
    return as<F>(wide | sign);
  }

  // Rounds to nearest even; one element in each lane, zeros above it.
  static FF_KERNEL_INLINE Raw<L> narrow(F x) {
    const Raw<L> bits = as<Raw<L>>(x);
    const Raw<L> magnitude = bits & 0x7fffffffu;
    const Raw<L> odd = magnitude >> kShift & 1u;
    const Raw<L> normal =
        ((magnitude + odd + ((1u << (kShift - 1)) - 1)) >> kShift) - (kRebias << mantissa);
    // A float whose unit in the last place is our least subnormal: adding it rounds for us.
    constexpr uint32_t kMagic = (kRebias + 1 + static_cast<uint32_t>(kShift)) << 23;
    const Raw<L> subnormal = as<Raw<L>>(as<F>(magnitude) + as<F>(fill<Raw<L>>(kMagic))) - kMagic;
    Raw<L> result = select(as<I>(magnitude) < static_cast<int>(kLeastNormal), subnormal, normal);
    const Raw<L> sign = (bits ^ magnitude) >> (31 - kMagnitudeBits);
    if constexpr (ieee) {
      result = select(as<I>(result) > static_cast<int>(kInfinity), fill<Raw<L>>(kInfinity), result);
      return select(as<I>(magnitude) > 0x7f800000, fill<Raw<L>>(kNan), result | sign);
    } else {
      return select(as<I>(result) >= static_cast<int>(kNan), fill<Raw<L>>(kNan), result | sign);
    }
  }
};

// A mini float whose elements are widened and narrowed by its bits alone, on any level.
template <class L, int exponent, int mantissa, bool ieee>
struct PackedMiniFloat {
  static constexpr int kBits = 1 + exponent + mantissa;
  static constexpr int kParts = 32 / kBits;
  static constexpr size_t kElementBytes = kBits / 8;
  using Accumulator = Parts<Vector<L, float>, kParts>;
  using One = MiniFloat<L, exponent, mantissa, ieee>;

  static FF_KERNEL_INLINE Accumulator widen(Raw<L> x) {
    Accumulator a;
    for (int k = 0; k < kParts; k++) {
      a.part[k] = One::widen(x >> (k * kBits) & ((1u << kBits) - 1));
    }
    return a;
  }
  static FF_KERNEL_INLINE Raw<L> narrow(Accumulator a) {
    Raw<L> x = One::narrow(a.part[0]);
    for (int k = 1; k < kParts; k++) x |= One::narrow(a.part[k]) << (k * kBits);
    return x;
  }
};

template <class L>
using Float8E4M3 = PackedMiniFloat<L, 4, 3, false>;
template <class L>
using Float8E5M2 = PackedMiniFloat<L, 5, 2, true>;
template <class L>
using PortableFloat16 = PackedMiniFloat<L, 5, 10, true>;

}  // namespace ff
