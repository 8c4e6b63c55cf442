// The words in which kernels are written once for all levels: GCC's and Clang's vector types.
//
// Arithmetic, comparison (giving masks of all ones) and `?:` on them are the compilers' own, and
// become the instructions that the including file was built for. What the language cannot say
// (partial and non-temporal access, a few conversions) is a static function of the level `L`.
//
// Everything here and in the other headers of kernels is inlined always or is a template over `L`,
// and every `L` lives in an unnamed namespace of its level's source file. So no code has external
// linkage: a copy built with wide instructions cannot replace one that a narrow CPU runs.
#pragma once
#include <cstddef>
#include <cstdint>
#include <type_traits>

#define FF_KERNEL_INLINE inline __attribute__((always_inline))

namespace ff {

template <class T, int bytes>
struct VectorOf {
  typedef T type __attribute__((vector_size(bytes)));
};

// One register of elements of type T.
template <class L, class T>
using Vector = typename VectorOf<T, L::kBytes>::type;

// One register of memory, not yet interpreted.
template <class L>
using Raw = Vector<L, uint32_t>;

template <class V>
using ElementOf = std::remove_cvref_t<decltype(V{}[0])>;

// The same bits as another vector type.
template <class To, class From>
FF_KERNEL_INLINE To as(From v) {
  static_assert(sizeof(To) == sizeof(From));
  return (To)v;  // NOLINT: for vectors a cast keeps the bits
}

template <class V, class T>
FF_KERNEL_INLINE V fill(T value) {
  return V{} + value;
}

// mask ? a : b, lane by lane; a mask's lanes are all ones or zero.
template <class M, class V>
FF_KERNEL_INLINE V select(M mask, V a, V b) {
  return mask ? a : b;
}

// What one register of elements becomes while it is accumulated: one register, or, for elements
// that are widened to float32, as many as they are narrower.
template <class V, int parts>
struct Parts {
  static constexpr int kCount = parts;
  V part[parts];
};

}  // namespace ff
