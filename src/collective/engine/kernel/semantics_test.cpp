// What results mean, in numbers that a reader can check: precision, averages, NaN and zeros, truth
// values, wrapping. Where kernel_test compares with the reference, this compares with the promise.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "collective/engine/kernel/kernel.hpp"
#include "collective/engine/kernel/reference.hpp"
#include "collective/engine/kernel/testing.hpp"

namespace ff {
namespace {

using testing::levels_here;

// One buffer of `count` equal elements for each of `values`, reduced; returns all results.
template <class T>
std::vector<T> reduce_values(Isa isa, ff_type type, ff_reduce_op op, const std::vector<T>& values,
                             size_t count, double divisor = 1) {
  std::vector<std::vector<T>> buffers;
  std::vector<const void*> in;
  for (const T value : values) buffers.emplace_back(count, value);
  for (const auto& buffer : buffers) in.push_back(buffer.data());
  std::vector<T> result(count);
  void* out = result.data();
  reduce_kernel(isa, type, op)(&out, 1, 0, in.data(), in.size(), count, divisor);
  return result;
}

// The same for narrow floats given by value; the common result.
float reduce_floats(Isa isa, ff_type type, ff_reduce_op op, const std::vector<double>& values,
                    size_t count, double divisor = 1) {
  const auto common = [&](auto element) {
    using T = decltype(element);
    std::vector<T> bits;
    for (const double x : values) {
      if constexpr (std::is_floating_point_v<T>) {
        bits.push_back(static_cast<T>(x));
      } else {
        bits.push_back(static_cast<T>(reference::from_float(type, static_cast<float>(x))));
      }
    }
    const std::vector<T> result = reduce_values(isa, type, op, bits, count, divisor);
    for (const T x : result) EXPECT_EQ(std::memcmp(&x, &result[0], sizeof(T)), 0);
    if constexpr (std::is_floating_point_v<T>) {
      return static_cast<float>(result[0]);
    } else {
      return reference::to_float(type, result[0]);
    }
  };
  switch (type) {
    case FF_FLOAT64:
      return common(double{});
    case FF_FLOAT32:
      return common(float{});
    case FF_FLOAT16:
    case FF_BFLOAT16:
      return common(uint16_t{});
    default:
      return common(uint8_t{});
  }
}

const size_t kLengths[] = {1, 7, 64};  // partial, and whole registers

// CORE-06: a chain in the narrow type would stay at its first value.
TEST(Semantics, NarrowSumsDoNotDecayWithTheNumberOfRanks) {
  struct Row {
    ff_type type;
    double first;
  };
  for (const Row row : {Row{FF_BFLOAT16, 256}, Row{FF_FLOAT16, 2048}, Row{FF_FLOAT8_E4M3, 16},
                        Row{FF_FLOAT8_E5M2, 8}}) {
    for (const size_t ranks : {8, 16, 64}) {
      std::vector<double> values(ranks, 1.0);
      values[0] = row.first;
      const double exact = row.first + static_cast<double>(ranks - 1);
      const float once_rounded =
          reference::to_float(row.type, reference::from_float(row.type, static_cast<float>(exact)));
      ASSERT_GT(once_rounded, row.first);
      for (const Isa isa : levels_here()) {
        EXPECT_EQ(reduce_floats(isa, row.type, FF_SUM, values, 7), once_rounded)
            << isa_name(isa) << ' ' << type_name(row.type) << ' ' << ranks;
      }
    }
  }
}

// CORE-06: no scaling comes first, so the sum may leave the type, but not float32, on the way.
TEST(Semantics, AveragesOfLargeNarrowValuesFit) {
  for (const ff_type type : {FF_FLOAT16, FF_FLOAT8_E4M3, FF_FLOAT8_E5M2}) {
    const double largest = type == FF_FLOAT16 ? 65504 : type == FF_FLOAT8_E4M3 ? 448 : 57344;
    for (const Isa isa : levels_here()) {
      const std::vector<double> values(64, largest);
      EXPECT_EQ(reduce_floats(isa, type, FF_AVG, values, 7, 64), static_cast<float>(largest));
      const float sum = reduce_floats(isa, type, FF_SUM, values, 7);
      EXPECT_FALSE(std::isfinite(sum)) << "the true sum is out of range";
      EXPECT_EQ(std::isnan(sum), type == FF_FLOAT8_E4M3);
    }
  }
  // bfloat16 has float32's range: there the sum of two largest is infinite already in float32.
  for (const Isa isa : levels_here()) {
    EXPECT_EQ(reduce_floats(isa, FF_BFLOAT16, FF_AVG, {0x1.fep126, 0x1.fep126}, 7, 2), 0x1.fep126f);
    EXPECT_TRUE(
        std::isinf(reduce_floats(isa, FF_BFLOAT16, FF_AVG, {0x1.fep127, 0x1.fep127}, 7, 2)));
  }
}

// CORE-07
TEST(Semantics, AverageDividesByTheGivenNumber) {
  for (const Isa isa : levels_here()) {
    for (const size_t count : {1, 2, 5, 64}) {
      EXPECT_EQ(reduce_floats(isa, FF_FLOAT32, FF_AVG, {1, 2, 4}, count, 3), 7.0f / 3.0f);
      const std::vector<double> result =
          reduce_values<double>(isa, FF_FLOAT64, FF_AVG, {1, 2, 4}, count, 3);
      EXPECT_EQ(result[count - 1], 7.0 / 3.0);
      // The divisor counts ranks, which need not be this pass's inputs.
      EXPECT_EQ(reduce_floats(isa, FF_FLOAT32, FF_AVG, {6, 8}, count, 7), 2.0f);
    }
  }
}
TEST(Semantics, IntegerAverageIsRefusedByName) {
  for (const ff_type type : {FF_INT32, FF_UINT8, FF_INT64}) {
    const Status status = check_reduction(type, FF_AVG);
    EXPECT_EQ(status.code(), FF_ERROR_UNSUPPORTED);
    EXPECT_NE(status.message().find("avg"), std::string::npos);
    EXPECT_NE(status.message().find(type_name(type)), std::string::npos);
  }
}

// CORE-09
const ff_type kFloats[] = {FF_FLOAT64,  FF_FLOAT32,     FF_FLOAT16,
                           FF_BFLOAT16, FF_FLOAT8_E4M3, FF_FLOAT8_E5M2};

TEST(Semantics, NanWinsWhereverItComesFrom) {
  for (const Isa isa : levels_here()) {
    for (const ff_type type : kFloats) {
      for (const ff_reduce_op op : {FF_MAX, FF_MIN, FF_SUM, FF_PROD, FF_AVG}) {
        for (size_t ranks = 2; ranks <= 5; ranks++) {
          for (size_t odd = 0; odd < ranks; odd++) {
            for (const size_t count : kLengths) {
              std::vector<double> values(ranks, 1.0);
              values[odd] = std::numeric_limits<double>::quiet_NaN();
              EXPECT_TRUE(std::isnan(reduce_floats(isa, type, op, values, count)))
                  << isa_name(isa) << ' ' << type_name(type) << ' ' << op_name(op) << ' ' << odd;
            }
          }
        }
      }
    }
  }
}
TEST(Semantics, ResultingNanIsCanonical) {
  for (const Isa isa : levels_here()) {
    for (const size_t count : kLengths) {
      for (const ff_reduce_op op : {FF_SUM, FF_MAX, FF_MIN, FF_PROD, FF_AVG}) {
        const uint32_t payload = 0xffabcdefu, one = 0x3f800000u;
        for (const auto& values :
             {std::vector<uint32_t>{payload}, {payload, one}, {one, payload}}) {
          EXPECT_EQ(reduce_values<uint32_t>(isa, FF_FLOAT32, op, values, count),
                    std::vector<uint32_t>(count, 0x7fc00000u));
        }
        const uint64_t wide = 0xfff0000000000001u;
        EXPECT_EQ(reduce_values<uint64_t>(isa, FF_FLOAT64, op, {wide, wide}, count),
                  std::vector<uint64_t>(count, 0x7ff8000000000000u));
        EXPECT_EQ(reduce_values<uint16_t>(isa, FF_FLOAT16, op, {0xfc01, 0}, count),
                  std::vector<uint16_t>(count, 0x7e00));
        EXPECT_EQ(reduce_values<uint16_t>(isa, FF_BFLOAT16, op, {0xff81, 0}, count),
                  std::vector<uint16_t>(count, 0x7fc0));
        EXPECT_EQ(reduce_values<uint8_t>(isa, FF_FLOAT8_E4M3, op, {0xff, 0}, count),
                  std::vector<uint8_t>(count, 0x7f));
        EXPECT_EQ(reduce_values<uint8_t>(isa, FF_FLOAT8_E5M2, op, {0xfd, 0}, count),
                  std::vector<uint8_t>(count, 0x7e));
      }
      // A NaN that was none before.
      EXPECT_EQ(reduce_values<uint32_t>(isa, FF_FLOAT32, FF_SUM, {0x7f800000u, 0xff800000u}, count),
                std::vector<uint32_t>(count, 0x7fc00000u));
    }
  }
}
TEST(Semantics, NegativeZeroIsLessThanZero) {
  for (const Isa isa : levels_here()) {
    for (const ff_type type : kFloats) {
      for (const size_t count : kLengths) {
        for (const auto& values : {std::vector<double>{0.0, -0.0}, {-0.0, 0.0}}) {
          EXPECT_FALSE(std::signbit(reduce_floats(isa, type, FF_MAX, values, count)));
          EXPECT_TRUE(std::signbit(reduce_floats(isa, type, FF_MIN, values, count)));
        }
        EXPECT_TRUE(std::signbit(reduce_floats(isa, type, FF_MAX, {-0.0, -0.0}, count)));
        EXPECT_FALSE(std::signbit(reduce_floats(isa, type, FF_MIN, {0.0, 0.0}, count)));
      }
    }
  }
}
TEST(Semantics, InfinitiesAreExtremes) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const Isa isa : levels_here()) {
    for (const ff_type type : {FF_FLOAT64, FF_FLOAT32, FF_FLOAT16, FF_BFLOAT16, FF_FLOAT8_E5M2}) {
      for (const size_t count : kLengths) {
        const std::vector<double> values = {1, -infinity, infinity, -2, 3};
        EXPECT_EQ(reduce_floats(isa, type, FF_MAX, values, count), infinity);
        EXPECT_EQ(reduce_floats(isa, type, FF_MIN, values, count), -infinity);
      }
    }
  }
}

// CORE-10
TEST(Semantics, BoolIsTruth) {
  for (const Isa isa : levels_here()) {
    for (const size_t count : kLengths) {
      const auto result = [&](ff_reduce_op op, const std::vector<uint8_t>& values) {
        const std::vector<uint8_t> all = reduce_values(isa, FF_BOOL, op, values, count);
        for (const uint8_t x : all) EXPECT_EQ(x, all[0]);
        return static_cast<int>(all[0]);
      };
      for (const ff_reduce_op op : {FF_SUM, FF_MAX, FF_BOR}) {
        EXPECT_EQ(result(op, {0, 0, 0}), 0);
        EXPECT_EQ(result(op, {0, 0xff, 0}), 1);
        EXPECT_EQ(result(op, {1, 1, 1}), 1);
        EXPECT_EQ(result(op, std::vector<uint8_t>(256, 1)), 1) << "256 of them are not zero";
      }
      for (const ff_reduce_op op : {FF_PROD, FF_MIN, FF_BAND}) {
        EXPECT_EQ(result(op, {1, 2, 4}), 1) << "truths without a common bit";
        EXPECT_EQ(result(op, {1, 0, 1}), 0);
        EXPECT_EQ(result(op, {0x10, 0x10}), 1) << "whose product has no low byte";
        EXPECT_EQ(result(op, std::vector<uint8_t>(256, 0x80)), 1);
      }
      EXPECT_EQ(result(FF_BXOR, {1, 2}), 0);
      EXPECT_EQ(result(FF_BXOR, {1, 2, 0x80}), 1);
      EXPECT_EQ(result(FF_SUM, {0x40}), 1) << "a single input is made 0 or 1 too";
    }
  }
}
TEST(Semantics, IntegersWrap) {
  for (const Isa isa : levels_here()) {
    for (const size_t count : kLengths) {
      EXPECT_EQ(reduce_values<int8_t>(isa, FF_INT8, FF_SUM, {120, 100}, count),
                std::vector<int8_t>(count, -36));
      EXPECT_EQ(reduce_values<uint8_t>(isa, FF_UINT8, FF_SUM, {200, 100}, count),
                std::vector<uint8_t>(count, 44));
      EXPECT_EQ(reduce_values<uint16_t>(isa, FF_UINT16, FF_PROD, {0xffff, 0xffff}, count),
                std::vector<uint16_t>(count, 1));
      EXPECT_EQ(reduce_values<int32_t>(isa, FF_INT32, FF_PROD, {1 << 20, 1 << 12}, count),
                std::vector<int32_t>(count, 0));
      EXPECT_EQ(reduce_values<int64_t>(isa, FF_INT64, FF_SUM, {INT64_MAX, 1}, count),
                std::vector<int64_t>(count, INT64_MIN));
      EXPECT_EQ(reduce_values<int64_t>(isa, FF_INT64, FF_MAX, {-1, 1, INT64_MIN}, count),
                std::vector<int64_t>(count, 1));
      EXPECT_EQ(reduce_values<uint64_t>(isa, FF_UINT64, FF_MAX, {~uint64_t{0}, 1}, count),
                std::vector<uint64_t>(count, ~uint64_t{0}));
    }
  }
}

// The order of the tree is part of the value: (a + b) + (c + d), and what remains comes last.
TEST(Semantics, TheTreeIsBalanced) {
  const float big = 0x1p24f;  // big + 1 == big
  for (const Isa isa : levels_here()) {
    for (const size_t count : kLengths) {
      const auto sum = [&](const std::vector<double>& x) {
        return reduce_floats(isa, FF_FLOAT32, FF_SUM, x, count);
      };
      EXPECT_EQ(sum({big, 1, 1, 1}), big + 2.0f);
      EXPECT_EQ(sum({big, 1, 1}), big) << "(a + b) + c";
      EXPECT_EQ(sum({big, 1, 1, 1, 0.5}), big + 2.0f) << "((a + b) + (c + d)) + e";
      EXPECT_EQ(sum({big, 1, 1, 1, 1, 1}), big + 4.0f) << "((a + b) + (c + d)) + (e + f)";
    }
  }
}

}  // namespace
}  // namespace ff
