// Which C++ types may be reduced, and which contiguous ranges of them a call accepts.
//
// float, double, bool and the integers are elements; so are the tag types below, which carry the
// bits of the floating-point formats that C++20 has no type for. To use a type of your own (say
// Eigen::half), specialise ff::ElementType for it:
//
//   template <>
//   struct ff::ElementType<Eigen::half> {
//     static constexpr ff_type value = FF_FLOAT16;
//   };
#ifndef FIREFLYER_ELEMENT_HPP
#define FIREFLYER_ELEMENT_HPP
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <type_traits>

#include "fireflyer/types.h"

namespace ff {
inline namespace api {

// Bits of a number, not the number: convert with the library of your choice.
struct Half {
  uint16_t bits = 0;
};
struct Bfloat16 {
  uint16_t bits = 0;
};
struct Float8E4M3 {
  uint8_t bits = 0;
};
struct Float8E5M2 {
  uint8_t bits = 0;
};

namespace detail {

// char, wchar_t and the like hold text; whether char is signed depends on the machine.
template <class T>
concept Number = std::integral<T> && !std::same_as<T, bool> && !std::same_as<T, char> &&
                 !std::same_as<T, wchar_t> && !std::same_as<T, char8_t> &&
                 !std::same_as<T, char16_t> && !std::same_as<T, char32_t> && sizeof(T) <= 8;

template <Number T>
constexpr ff_type integer_type() {
  constexpr bool kSigned = std::is_signed_v<T>;
  switch (sizeof(T)) {
    case 1:
      return kSigned ? FF_INT8 : FF_UINT8;
    case 2:
      return kSigned ? FF_INT16 : FF_UINT16;
    case 4:
      return kSigned ? FF_INT32 : FF_UINT32;
    default:
      return kSigned ? FF_INT64 : FF_UINT64;
  }
}

constexpr size_t bytes_of(ff_type type) {
  switch (type) {
    case FF_INT8:
    case FF_UINT8:
    case FF_FLOAT8_E4M3:
    case FF_FLOAT8_E5M2:
    case FF_BOOL:
      return 1;
    case FF_INT16:
    case FF_UINT16:
    case FF_FLOAT16:
    case FF_BFLOAT16:
      return 2;
    case FF_INT32:
    case FF_UINT32:
    case FF_FLOAT32:
      return 4;
    case FF_INT64:
    case FF_UINT64:
    case FF_FLOAT64:
      return 8;
    case FF_TYPE_COUNT:
      break;
  }
  return 0;
}

template <ff_type type>
using TypeConstant = std::integral_constant<ff_type, type>;

}  // namespace detail

// ElementType<T>::value is the ff_type of T; a T without one is no element.
template <class T>
struct ElementType {};
template <detail::Number T>
struct ElementType<T> : detail::TypeConstant<detail::integer_type<T>()> {};
template <>
struct ElementType<bool> : detail::TypeConstant<FF_BOOL> {};
template <>
struct ElementType<float> : detail::TypeConstant<FF_FLOAT32> {};
template <>
struct ElementType<double> : detail::TypeConstant<FF_FLOAT64> {};
template <>
struct ElementType<Half> : detail::TypeConstant<FF_FLOAT16> {};
template <>
struct ElementType<Bfloat16> : detail::TypeConstant<FF_BFLOAT16> {};
template <>
struct ElementType<Float8E4M3> : detail::TypeConstant<FF_FLOAT8_E4M3> {};
template <>
struct ElementType<Float8E5M2> : detail::TypeConstant<FF_FLOAT8_E5M2> {};

template <class T>
concept Element = std::is_trivially_copyable_v<T> &&
                  std::same_as<std::remove_cv_t<decltype(ElementType<T>::value)>, ff_type> &&
                  sizeof(T) == detail::bytes_of(ElementType<T>::value);

template <class R>
using ElementOf = std::ranges::range_value_t<R>;

// Elements side by side in memory (vector, array, span, ...) that outlive the call: a temporary
// container, whose elements die with the statement, is refused; a temporary span is not.
template <class R>
concept Readable = std::ranges::contiguous_range<R> && std::ranges::sized_range<R> &&
    std::ranges::borrowed_range<R> && Element<ElementOf<R>>;

// The same, and not const.
template <class R>
concept Writable =
    Readable<R> && !std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<R>>>;

}  // namespace api
}  // namespace ff

#endif  // FIREFLYER_ELEMENT_HPP
