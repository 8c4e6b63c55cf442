// The reduce operations on accumulators: what happens at one inner node of the tree.
#pragma once
#include "collective/engine/kernel/vector.hpp"

namespace ff {

// Integers are handed in as unsigned where only the low bits count, so that they may wrap.
struct Sum {
  template <class L, class V>
  static FF_KERNEL_INLINE V apply(V a, V b) {
    return a + b;
  }
};
struct Product {
  template <class L, class V>
  static FF_KERNEL_INLINE V apply(V a, V b) {
    return a * b;
  }
};
struct And {
  template <class L, class V>
  static FF_KERNEL_INLINE V apply(V a, V b) {
    return a & b;
  }
};
struct Or {
  template <class L, class V>
  static FF_KERNEL_INLINE V apply(V a, V b) {
    return a | b;
  }
};
struct Xor {
  template <class L, class V>
  static FF_KERNEL_INLINE V apply(V a, V b) {
    return a ^ b;
  }
};

// Floats: any NaN in, some NaN out (made canonical at the end), and -0 < +0. CPUs differ in both,
// so the level says how.
struct Maximum {
  template <class L, class V>
  static FF_KERNEL_INLINE V apply(V a, V b) {
    if constexpr (std::is_floating_point_v<ElementOf<V>>) {
      return L::maximum(a, b);
    } else {
      return select(a > b, a, b);
    }
  }
};
struct Minimum {
  template <class L, class V>
  static FF_KERNEL_INLINE V apply(V a, V b) {
    if constexpr (std::is_floating_point_v<ElementOf<V>>) {
      return L::minimum(a, b);
    } else {
      return select(a < b, a, b);
    }
  }
};

// The sum, divided once at the root.
struct Average : Sum {};

}  // namespace ff
