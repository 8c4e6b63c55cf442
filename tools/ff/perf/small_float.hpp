// 16- and 8-bit floats as the check needs them: written exactly, read exactly.
//
// The check only ever writes values that the format holds exactly, so `encode` rounds nothing; that
// keeps this independent of the rounding whose result is being checked.
#pragma once
#include <cmath>
#include <cstdint>
#include <limits>

#include "fireflyer/types.h"

namespace ff::tools::perf {

struct SmallFormat {
  int exponent_bits;
  int mantissa_bits;
  bool has_infinity;  // IEEE-like; e4m3 spends that exponent on numbers, but for one NaN
  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  int total_bits() const { return 1 + exponent_bits + mantissa_bits; }
};

constexpr SmallFormat small_format(ff_type type) {
  switch (type) {
    case FF_FLOAT16:
      return {5, 10, true};
    case FF_BFLOAT16:
      return {8, 7, true};
    case FF_FLOAT8_E4M3:
      return {4, 3, false};
    default:
      return {5, 2, true};  // FF_FLOAT8_E5M2
  }
}

inline double decode(const SmallFormat& format, uint32_t bits) {
  const uint32_t mantissa = bits & ((1u << format.mantissa_bits) - 1);
  const uint32_t top = (1u << format.exponent_bits) - 1;
  const uint32_t exponent = (bits >> format.mantissa_bits) & top;
  const double sign = (bits >> (format.total_bits() - 1)) != 0 ? -1 : 1;
  if (exponent == top && format.has_infinity) {
    return mantissa == 0 ? sign * std::numeric_limits<double>::infinity()
                         : std::numeric_limits<double>::quiet_NaN();
  }
  if (exponent == top && mantissa == (1u << format.mantissa_bits) - 1) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  const uint32_t implied = exponent == 0 ? 0 : 1u << format.mantissa_bits;
  const int scale = static_cast<int>(exponent == 0 ? 1 : exponent) - format.bias();
  return sign * std::ldexp(mantissa + implied, scale - format.mantissa_bits);
}

// `value` must be zero or a normal number that the format holds exactly.
inline uint32_t encode(const SmallFormat& format, double value) {
  if (value == 0) return 0;
  int exponent = 0;
  const double fraction = std::frexp(std::fabs(value), &exponent);  // in [0.5, 1)
  const auto mantissa = static_cast<uint32_t>(std::ldexp(2 * fraction - 1, format.mantissa_bits));
  const auto biased = static_cast<uint32_t>(exponent - 1 + format.bias());
  const uint32_t sign = value < 0 ? 1u << (format.total_bits() - 1) : 0;
  return sign | biased << format.mantissa_bits | mantissa;
}

}  // namespace ff::tools::perf
