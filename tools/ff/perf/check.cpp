#include "ff/perf/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "ff/perf/names.hpp"
#include "ff/perf/small_float.hpp"

namespace ff::tools::perf {
namespace {

// Bits that depend on all three, so that neighbours in any of them have nothing in common.
uint64_t scatter(uint64_t rank, uint64_t index, uint64_t repetition) {
  uint64_t x = index * 0x9e3779b97f4a7c15u + rank * 0xc2b2ae3d27d4eb4fu + repetition + 1;
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93u;
  x ^= x >> 29;
  x *= 0xa0761d6478bd642fu;
  return x ^ (x >> 32);
}

// A float with `precision` significant bits, held exactly by every format that has so many.
inline double float_value(ff_reduce_op op, int precision, uint64_t bits) {
  const uint64_t low = bits >> 1;
  const double unit = 1 / static_cast<double>(uint64_t{1} << precision);  // exact
  if (op == FF_PROD) {  // within 0.75 and 1.25, so that products of many ranks stay in range
    const uint64_t steps = (uint64_t{1} << precision) / 8;
    const auto away = static_cast<double>(low % (steps + 1)) * 2 * unit;
    return (bits & 1) != 0 ? 1 - away : 1 + away;
  }
  const uint64_t top = uint64_t{1} << (precision - 1);
  const double magnitude = static_cast<double>(top | (low & (top - 1))) * unit;
  return (bits & 1) != 0 ? -magnitude : magnitude;
}

// ---- integers and truth values: exact

template <class T>
T combine(ff_reduce_op op, T a, T b) {
  using U = std::make_unsigned_t<T>;
  switch (op) {
    case FF_SUM:
      return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
    case FF_PROD:  // in 64 bits: two 16-bit factors would overflow the int they are promoted to
      return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
    case FF_MAX:
      return std::max(a, b);
    case FF_MIN:
      return std::min(a, b);
    case FF_BAND:
      return static_cast<T>(a & b);
    case FF_BOR:
      return static_cast<T>(a | b);
    default:
      return static_cast<T>(a ^ b);
  }
}

template <class T>
struct Integer {
  using Stored = T;
  using Sum = T;
  static T value(const Reduction&, uint64_t bits) { return static_cast<T>(bits); }
  static T start(const Reduction&, T first) { return first; }
  static void add(const Reduction& reduction, T* sum, T next) {
    *sum = combine(reduction.op, *sum, next);
  }
  static bool agrees(const Reduction&, T sum, T found) { return sum == found; }
  static std::string text(T value) { return fmt::format("{}", value); }
};

// Any byte but zero is true; a result is 0 or 1. Sum and greatest are "or", product and least
// "and".
struct Truth {
  using Stored = uint8_t;
  using Sum = uint8_t;
  static uint8_t value(const Reduction&, uint64_t bits) {
    return static_cast<uint8_t>((bits & 1) != 0 ? 0 : std::max<uint64_t>(1, (bits >> 8) & 0xff));
  }
  static uint8_t start(const Reduction&, uint8_t first) { return first != 0; }
  static void add(const Reduction& reduction, uint8_t* sum, uint8_t next) {
    const uint8_t truth = next != 0;
    switch (reduction.op) {
      case FF_SUM:
      case FF_MAX:
        *sum = *sum | truth;
        break;
      case FF_PROD:
      case FF_MIN:
        *sum = *sum & truth;
        break;
      default:
        *sum = combine(reduction.op, *sum, truth);
    }
  }
  static bool agrees(const Reduction&, uint8_t sum, uint8_t found) { return sum == found; }
  static std::string text(uint8_t value) { return fmt::format("{}", value); }
};

// ---- floats: within the roundings that the documented order of operations may take

// Kept in a type whose own roundings do not count beside those allowed.
template <class Real>
struct FloatSum {
  Real value;
  Real magnitude;  // of all that was added; the largest a rounded intermediate can be
};

// `wide` is the type that sums are kept in, `narrow` the spacing of the stored type at 1.
struct Roundings {
  double wide, narrow, least;  // half a unit in the last place at 1, twice; least positive number
};

template <class Real>
bool float_agrees(const Reduction& reduction, const Roundings& roundings, const FloatSum<Real>& sum,
                  Real found) {
  if (found == sum.value && reduction.op != FF_AVG) return true;
  if (reduction.op == FF_MAX || reduction.op == FF_MIN) return false;
  const int ranks = reduction.ranks;
  const Real divisor = reduction.op == FF_AVG ? static_cast<Real>(ranks) : 1;
  const Real expected = sum.value / divisor;
  const Real scale = (reduction.op == FF_PROD ? std::fabs(sum.value) : sum.magnitude) / divisor;
  const int additions = std::max(0, ranks - 1);
  const int levels = 1 + static_cast<int>(std::bit_width(static_cast<unsigned>(additions)));
  const int passes = reduction.narrow_roundings > 0 ? reduction.narrow_roundings : levels;
  const int divisions = reduction.op == FF_AVG ? 1 : 0;
  const double relative = (additions + divisions) * roundings.wide +
                          (roundings.narrow > 0 ? (passes + divisions) * roundings.narrow : 0);
  // (1 + u)^n exceeds 1 + n u by less than a thousandth of n u, for any n in use.
  const Real bound =
      scale * static_cast<Real>(relative * 1.001) + static_cast<Real>(roundings.least);
  return std::fabs(found - expected) <= bound;
}

template <class Real>
void float_add(const Reduction& reduction, FloatSum<Real>* sum, Real next) {
  switch (reduction.op) {
    case FF_PROD:
      sum->value *= next;
      break;
    case FF_MAX:
      sum->value = std::max(sum->value, next);
      break;
    case FF_MIN:
      sum->value = std::min(sum->value, next);
      break;
    default:
      sum->value += next;
      sum->magnitude += std::fabs(next);
  }
}

template <class T, class RealType>
struct Wide {
  using Stored = T;
  using Real = RealType;
  using Sum = FloatSum<Real>;
  static constexpr Roundings kRoundings = {std::numeric_limits<T>::epsilon() / 2, 0,
                                           std::numeric_limits<T>::denorm_min()};
  static T value(const Reduction& reduction, uint64_t bits) {
    return static_cast<T>(float_value(reduction.op, std::numeric_limits<T>::digits, bits));
  }
  static Sum start(const Reduction&, T first) { return {first, std::fabs(first)}; }
  static void add(const Reduction& reduction, Sum* sum, T next) {
    float_add<Real>(reduction, sum, next);
  }
  static bool agrees(const Reduction& reduction, const Sum& sum, T found) {
    return float_agrees<Real>(reduction, kRoundings, sum, found);
  }
  static std::string text(T value) { return fmt::format("{}", value); }
};

// Reads and writes through tables: every stored pattern's number, and every test value's pattern.
template <ff_type kType, class Bits>
struct Narrow {
  using Stored = Bits;
  using Real = double;
  using Sum = FloatSum<Real>;
  static constexpr SmallFormat kFormat = small_format(kType);
  static constexpr int kPrecision = kFormat.mantissa_bits + 1;

  static double number(Bits stored) {
    static const std::vector<double> numbers = [] {
      std::vector<double> all(size_t{1} << kFormat.total_bits());
      for (size_t i = 0; i < all.size(); i++) all[i] = decode(kFormat, static_cast<uint32_t>(i));
      return all;
    }();
    return numbers[stored];
  }
  static Bits value(const Reduction& reduction, uint64_t bits) {
    static const std::vector<Bits> sums = test_values(FF_SUM), products = test_values(FF_PROD);
    const std::vector<Bits>& values = reduction.op == FF_PROD ? products : sums;
    return values[bits % values.size()];
  }
  static Sum start(const Reduction&, Bits first) {
    return {number(first), std::fabs(number(first))};
  }
  static void add(const Reduction& reduction, Sum* sum, Bits next) {
    float_add<Real>(reduction, sum, number(next));
  }
  static bool agrees(const Reduction& reduction, const Sum& sum, Bits found) {
    static const Roundings roundings = {
        std::numeric_limits<float>::epsilon() / 2, std::ldexp(0.5, -kFormat.mantissa_bits),
        std::ldexp(1.0, 1 - kFormat.bias() - kFormat.mantissa_bits)};
    return float_agrees<Real>(reduction, roundings, sum, number(found));
  }
  static std::string text(Bits value) { return fmt::format("{}", number(value)); }

 private:
  static std::vector<Bits> test_values(ff_reduce_op op) {
    std::vector<Bits> all(size_t{1} << kPrecision);
    for (size_t i = 0; i < all.size(); i++) {
      all[i] = static_cast<Bits>(encode(kFormat, float_value(op, kPrecision, i)));
    }
    return all;
  }
};

// ---- the same loops for every kind

template <class Kind>
std::string expected_text(const Reduction& reduction, const typename Kind::Sum& sum) {
  if constexpr (requires { sum.magnitude; }) {
    const int divisor = reduction.op == FF_AVG ? reduction.ranks : 1;
    return fmt::format("{}", static_cast<double>(sum.value / divisor));
  } else {
    return Kind::text(sum);
  }
}

template <class Kind>
struct Loops {
  using Stored = typename Kind::Stored;

  static void fill(const Reduction& reduction, int rank, void* data, size_t count) {
    auto* out = static_cast<Stored*>(data);
    const auto who = static_cast<uint64_t>(rank);
    for (size_t i = 0; i < count; i++) {
      out[i] = Kind::value(reduction, scatter(who, i, reduction.repetition));
    }
  }

  static Wrong count_wrong(const Reduction& reduction, const void* data, size_t count) {
    const auto* in = static_cast<const Stored*>(data);
    Wrong wrong;
    for (size_t i = 0; i < count; i++) {
      auto sum =
          Kind::start(reduction, Kind::value(reduction, scatter(0, i, reduction.repetition)));
      for (int rank = 1; rank < reduction.ranks; rank++) {
        const uint64_t bits = scatter(static_cast<uint64_t>(rank), i, reduction.repetition);
        Kind::add(reduction, &sum, Kind::value(reduction, bits));
      }
      if (Kind::agrees(reduction, sum, in[i])) continue;
      if (wrong.count++ == 0) {
        wrong.first = i;
        wrong.expected = expected_text<Kind>(reduction, sum);
        wrong.found = Kind::text(in[i]);
      }
    }
    return wrong;
  }
};

struct Functions {
  void (*fill)(const Reduction&, int, void*, size_t);
  Wrong (*count_wrong)(const Reduction&, const void*, size_t);
};
template <class Kind>
constexpr Functions functions() {
  return {Loops<Kind>::fill, Loops<Kind>::count_wrong};
}

// In the order of ff_type.
constexpr std::array<Functions, FF_TYPE_COUNT> kFunctions = {
    functions<Integer<int8_t>>(),
    functions<Integer<uint8_t>>(),
    functions<Integer<int16_t>>(),
    functions<Integer<uint16_t>>(),
    functions<Integer<int32_t>>(),
    functions<Integer<uint32_t>>(),
    functions<Integer<int64_t>>(),
    functions<Integer<uint64_t>>(),
    functions<Narrow<FF_FLOAT16, uint16_t>>(),
    functions<Narrow<FF_BFLOAT16, uint16_t>>(),
    functions<Wide<float, double>>(),
    functions<Wide<double, long double>>(),
    functions<Narrow<FF_FLOAT8_E4M3, uint8_t>>(),
    functions<Narrow<FF_FLOAT8_E5M2, uint8_t>>(),
    functions<Truth>(),
};

const Functions& functions_of(ff_type type) { return kFunctions.at(static_cast<size_t>(type)); }

}  // namespace

void fill(const Reduction& reduction, int rank, void* data, size_t count) {
  functions_of(reduction.type).fill(reduction, rank, data, count);
}

Wrong count_wrong(const Reduction& reduction, const void* data, size_t count) {
  return functions_of(reduction.type).count_wrong(reduction, data, count);
}

void fill_neutral(ff_type type, ff_reduce_op op, void* data, size_t count) {
  std::memset(data, 0, count * type_bytes(type));
  if (op != FF_PROD || !is_float(type)) return;
  // Ones: a product of zeros is as fast, but one of small numbers soon is not.
  for (size_t i = 0; i < count; i++) {
    if (type == FF_FLOAT32) {
      static_cast<float*>(data)[i] = 1;
    } else if (type == FF_FLOAT64) {
      static_cast<double*>(data)[i] = 1;
    } else if (type_bytes(type) == 2) {
      static_cast<uint16_t*>(data)[i] = static_cast<uint16_t>(encode(small_format(type), 1));
    } else {
      static_cast<uint8_t*>(data)[i] = static_cast<uint8_t>(encode(small_format(type), 1));
    }
  }
}

}  // namespace ff::tools::perf
