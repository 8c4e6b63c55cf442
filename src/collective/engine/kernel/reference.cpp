#include "collective/engine/kernel/reference.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <type_traits>

#include "base/check.hpp"

namespace ff::reference {
namespace {

struct Format {
  int exponent_bits, mantissa_bits;
  bool has_infinity;

  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  uint32_t sign_bit() const { return 1u << (exponent_bits + mantissa_bits); }
  uint32_t infinity() const { return ((1u << exponent_bits) - 1) << mantissa_bits; }
  uint32_t canonical_nan() const {
    return has_infinity ? infinity() + (1u << (mantissa_bits - 1)) : sign_bit() - 1;
  }
  bool is_nan(uint32_t magnitude) const {
    return has_infinity ? magnitude > infinity() : magnitude == canonical_nan();
  }
};

Format format_of(ff_type type) {
  switch (type) {
    case FF_FLOAT16:
      return {5, 10, true};
    case FF_BFLOAT16:
      return {8, 7, true};
    case FF_FLOAT8_E4M3:
      return {4, 3, false};
    case FF_FLOAT8_E5M2:
      return {5, 2, true};
    default:
      check_failed(__FILE__, __LINE__, "format_of", "a float type of 16 or 8 bits");
  }
}

template <class T>
T combine(ff_reduce_op op, T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if ((op == FF_MAX || op == FF_MIN) && (std::isnan(a) || std::isnan(b))) {
      return std::numeric_limits<T>::quiet_NaN();
    }
    switch (op) {
      case FF_SUM:
      case FF_AVG:
        return a + b;
      case FF_PROD:
        return a * b;
      case FF_MAX:
        return a == b ? (std::signbit(a) ? b : a) : (a > b ? a : b);
      case FF_MIN:
        return a == b ? (std::signbit(a) ? a : b) : (a < b ? a : b);
      default:
        break;
    }
  } else if constexpr (std::is_same_v<T, bool>) {
    switch (op) {
      case FF_SUM:
      case FF_MAX:
      case FF_BOR:
        return a || b;
      case FF_PROD:
      case FF_MIN:
      case FF_BAND:
        return a && b;
      case FF_BXOR:
        return a != b;
      default:
        break;
    }
  } else {
    using Wide = uint64_t;  // two's complement: the low bits of a result need only the low bits
    const Wide x = static_cast<Wide>(a), y = static_cast<Wide>(b);
    switch (op) {
      case FF_SUM:
        return static_cast<T>(x + y);
      case FF_PROD:
        return static_cast<T>(x * y);
      case FF_MAX:
        return a > b ? a : b;
      case FF_MIN:
        return a < b ? a : b;
      case FF_BAND:
        return static_cast<T>(x & y);
      case FF_BOR:
        return static_cast<T>(x | y);
      case FF_BXOR:
        return static_cast<T>(x ^ y);
      default:
        break;
    }
  }
  check_failed(__FILE__, __LINE__, "combine", "a pair of type and operation that has a meaning");
}

// tree(n) = tree(p) op tree(n - p), p the largest power of two below n.
template <class T>
T tree(ff_reduce_op op, const T* x, size_t n) {
  if (n == 1) return x[0];
  size_t p = 1;
  while (2 * p < n) p *= 2;
  return combine(op, tree(op, x, p), tree(op, x + p, n - p));
}

template <class T>
T element(const void* buffer, size_t index) {
  T x;
  std::memcpy(&x, static_cast<const char*>(buffer) + index * sizeof(T), sizeof(T));
  return x;
}

// Stored is an element in memory, T what it is accumulated in.
template <class T, class Stored, class Load, class Store>
void reduce_as(ff_reduce_op op, void* const* out, size_t outs, const void* const* in, size_t ins,
               size_t count, double divisor, Load load, Store store) {
  const auto x = std::make_unique<T[]>(ins);
  for (size_t i = 0; i < count; i++) {
    for (size_t k = 0; k < ins; k++) x[k] = load(element<Stored>(in[k], i));
    T result = tree(op, x.get(), ins);
    if constexpr (std::is_floating_point_v<T>) {
      if (op == FF_AVG) result = result / static_cast<T>(divisor);
      if (std::isnan(result)) result = std::numeric_limits<T>::quiet_NaN();
    }
    const Stored stored = store(result);
    for (size_t j = 0; j < outs; j++) {
      std::memcpy(static_cast<char*>(out[j]) + i * sizeof(Stored), &stored, sizeof(Stored));
    }
  }
}

}  // namespace

float to_float(ff_type type, uint32_t bits) {
  const Format f = format_of(type);
  const uint32_t magnitude = bits & (f.sign_bit() - 1);
  const float sign = (bits & f.sign_bit()) != 0 ? -1.0f : 1.0f;
  if (f.is_nan(magnitude)) return std::numeric_limits<float>::quiet_NaN();
  if (f.has_infinity && magnitude == f.infinity()) {
    return sign * std::numeric_limits<float>::infinity();
  }
  const int exponent = static_cast<int>(magnitude >> f.mantissa_bits);
  const int mantissa = static_cast<int>(magnitude) & ((1 << f.mantissa_bits) - 1);
  if (exponent == 0) {  // zero and subnormals
    return sign * std::ldexp(static_cast<float>(mantissa), 1 - f.bias() - f.mantissa_bits);
  }
  return sign * std::ldexp(static_cast<float>((1 << f.mantissa_bits) + mantissa),
                           exponent - f.bias() - f.mantissa_bits);
}

uint32_t from_float(ff_type type, float value) {
  const Format f = format_of(type);
  if (std::isnan(value)) return f.canonical_nan();
  const uint32_t sign = std::signbit(value) ? f.sign_bit() : 0;
  const uint32_t overflow = f.has_infinity ? sign | f.infinity() : f.canonical_nan();
  if (std::isinf(value)) return overflow;
  if (value == 0) return sign;

  // The unit in the last place at this magnitude; subnormals share that of the least normal.
  int exponent = std::max(std::ilogb(value), 1 - f.bias());
  const double units = std::ldexp(std::abs(static_cast<double>(value)), f.mantissa_bits - exponent);
  // units < 2^(mantissa_bits + 1), exact; nearbyint rounds ties to even.
  uint32_t mantissa = static_cast<uint32_t>(std::nearbyint(units));
  const uint32_t one = 1u << f.mantissa_bits;
  if (mantissa == 2 * one) {
    mantissa = one;
    exponent++;
  }
  if (mantissa < one) return sign | mantissa;  // subnormal, or rounded to zero
  const uint32_t biased = static_cast<uint32_t>(exponent + f.bias());
  const uint32_t magnitude = (biased << f.mantissa_bits) + (mantissa - one);
  if (f.has_infinity ? magnitude >= f.infinity() : magnitude >= f.canonical_nan()) return overflow;
  return sign | magnitude;
}

void reduce(ff_type type, ff_reduce_op op, void* const* out, size_t outs, const void* const* in,
            size_t ins, size_t count, double divisor) {
  const auto same = [&](auto zero) {
    using T = decltype(zero);
    reduce_as<T, T>(op, out, outs, in, ins, count, divisor, std::identity(), std::identity());
  };
  const auto narrow = [&](auto zero) {
    using Stored = decltype(zero);
    reduce_as<float, Stored>(
        op, out, outs, in, ins, count, divisor, [&](Stored x) { return to_float(type, x); },
        [&](float x) { return static_cast<Stored>(from_float(type, x)); });
  };
  switch (type) {
    case FF_INT8:
      return same(int8_t{});
    case FF_UINT8:
      return same(uint8_t{});
    case FF_INT16:
      return same(int16_t{});
    case FF_UINT16:
      return same(uint16_t{});
    case FF_INT32:
      return same(int32_t{});
    case FF_UINT32:
      return same(uint32_t{});
    case FF_INT64:
      return same(int64_t{});
    case FF_UINT64:
      return same(uint64_t{});
    case FF_FLOAT32:
      return same(float{});
    case FF_FLOAT64:
      return same(double{});
    case FF_FLOAT16:
    case FF_BFLOAT16:
      return narrow(uint16_t{});
    case FF_FLOAT8_E4M3:
    case FF_FLOAT8_E5M2:
      return narrow(uint8_t{});
    case FF_BOOL:
      return reduce_as<bool, uint8_t>(
          op, out, outs, in, ins, count, divisor, [](uint8_t x) { return x != 0; },
          [](bool x) { return static_cast<uint8_t>(x ? 1 : 0); });
    case FF_TYPE_COUNT:
      break;
  }
  check_failed(__FILE__, __LINE__, "reference::reduce", "a known type");
}

}  // namespace ff::reference
