// The check is what stands between a wrong sum and a figure in a table, so here it is shown to
// fail: right results pass, and each way of being wrong that the data are made to show is found.
#include "ff/perf/check.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "ff/perf/names.hpp"
#include "ff/perf/small_float.hpp"

namespace ff::tools::perf {
namespace {

constexpr size_t kCount = 300;

using Buffer = std::vector<unsigned char>;

Buffer input(const Reduction& reduction, int rank, size_t count = kCount) {
  Buffer data(count * type_bytes(reduction.type));
  fill(reduction, rank, data.data(), count);
  return data;
}

// A plain reduction of floats, rounded to the type after each step: the worst that is allowed.
float as_float(ff_type type, const unsigned char* p) {
  if (type == FF_FLOAT32) {
    float value;
    std::memcpy(&value, p, 4);
    return value;
  }
  uint32_t bits = p[0];
  if (type_bytes(type) == 2) bits |= static_cast<uint32_t>(p[1]) << 8;
  return static_cast<float>(decode(small_format(type), bits));
}

// Nearest value of a narrow format, ties to even, by search among all patterns.
uint32_t nearest(const SmallFormat& format, double value) {
  uint32_t best = 0;
  double best_distance = INFINITY;
  for (uint32_t bits = 0; bits < 1u << format.total_bits(); bits++) {
    const double distance = std::fabs(decode(format, bits) - value);
    if (distance < best_distance || (distance == best_distance && (bits & 1) == 0)) {
      best = bits;
      best_distance = distance;
    }
  }
  return best;
}

std::vector<float> reduce_floats(const Reduction& reduction, size_t count = kCount) {
  std::vector<float> sum(count);
  const size_t width = type_bytes(reduction.type);
  for (int rank = 0; rank < reduction.ranks; rank++) {
    const Buffer data = input(reduction, rank, count);
    for (size_t i = 0; i < count; i++) {
      const float next = as_float(reduction.type, &data[i * width]);
      if (rank == 0) {
        sum[i] = next;
      } else if (reduction.op == FF_PROD) {
        sum[i] *= next;
      } else if (reduction.op == FF_MAX) {
        sum[i] = std::max(sum[i], next);
      } else if (reduction.op == FF_MIN) {
        sum[i] = std::min(sum[i], next);
      } else {
        sum[i] += next;
      }
    }
  }
  if (reduction.op == FF_AVG) {
    for (float& value : sum) value /= static_cast<float>(reduction.ranks);
  }
  return sum;
}

std::vector<int32_t> reduce_integers(const Reduction& reduction) {
  std::vector<int32_t> sum(kCount);
  for (int rank = 0; rank < reduction.ranks; rank++) {
    const Buffer data = input(reduction, rank);
    for (size_t i = 0; i < kCount; i++) {
      int32_t next;
      std::memcpy(&next, &data[4 * i], 4);
      sum[i] =
          rank == 0
              ? next
              : static_cast<int32_t>(static_cast<uint32_t>(sum[i]) + static_cast<uint32_t>(next));
    }
  }
  return sum;
}

TEST(Check, PassesRightSumsOfFloats) {
  for (const ff_reduce_op op : {FF_SUM, FF_PROD, FF_MAX, FF_MIN, FF_AVG}) {
    for (const int ranks : {1, 2, 3, 8, 64}) {
      const Reduction reduction{FF_FLOAT32, op, ranks, 3};
      const auto sum = reduce_floats(reduction);
      EXPECT_EQ(count_wrong(reduction, sum.data(), kCount).count, 0u)
          << op_name(op) << " of " << ranks;
    }
  }
}

TEST(Check, PassesNarrowSumsRoundedOnce) {
  for (const ff_type type : {FF_FLOAT16, FF_BFLOAT16, FF_FLOAT8_E4M3, FF_FLOAT8_E5M2}) {
    const bool byte = type_bytes(type) == 1;
    const size_t count = byte ? kCount : 20;  // the search for the nearest half is slow
    for (const ff_reduce_op op : {FF_SUM, FF_PROD, FF_MAX, FF_AVG}) {
      const Reduction reduction{type, op, 8, 1, 1};
      const auto sum = reduce_floats(reduction, count);
      Buffer stored(count * type_bytes(type));
      for (size_t i = 0; i < count; i++) {
        const uint32_t bits = nearest(small_format(type), sum[i]);
        std::memcpy(&stored[i * type_bytes(type)], &bits, type_bytes(type));  // little-endian
      }
      const Wrong wrong = count_wrong(reduction, stored.data(), count);
      EXPECT_EQ(wrong.count, 0u) << column_name(type) << " " << op_name(op) << ": expected "
                                 << wrong.expected << ", found " << wrong.found;
    }
  }
}

TEST(Check, IntegersMustAgreeExactly) {
  const Reduction reduction{FF_INT32, FF_SUM, 5, 0};
  auto sum = reduce_integers(reduction);
  EXPECT_EQ(count_wrong(reduction, sum.data(), kCount).count, 0u);
  sum[17] ^= 1;
  const Wrong wrong = count_wrong(reduction, sum.data(), kCount);
  EXPECT_EQ(wrong.count, 1u);
  EXPECT_EQ(wrong.first, 17u);
  EXPECT_NE(wrong.expected, wrong.found);
}

TEST(Check, TruthValuesAreNormalised) {
  const Reduction reduction{FF_BOOL, FF_BXOR, 3, 0};
  Buffer sum(kCount, 0);
  bool saw_other_true = false;
  for (int rank = 0; rank < 3; rank++) {
    const Buffer data = input(reduction, rank);
    for (size_t i = 0; i < kCount; i++) {
      sum[i] = static_cast<unsigned char>(sum[i] ^ (data[i] != 0));
      saw_other_true = saw_other_true || data[i] > 1;
    }
  }
  EXPECT_TRUE(saw_other_true);  // else a kernel that adds bytes would pass
  EXPECT_EQ(count_wrong(reduction, sum.data(), kCount).count, 0u);
  for (auto& value : sum) value = static_cast<unsigned char>(value * 2);
  EXPECT_GT(count_wrong(reduction, sum.data(), kCount).count, kCount / 3);
}

// ---- each fault the data are made to show

TEST(Check, FindsOneFlippedBitOfAFloat) {
  const Reduction reduction{FF_FLOAT32, FF_SUM, 4, 9};
  const auto right = reduce_floats(reduction);
  for (const int bit : {31, 30, 24, 22, 16}) {
    auto sum = right;
    sum[123] = std::bit_cast<float>(std::bit_cast<uint32_t>(sum[123]) ^ (1u << bit));
    const Wrong wrong = count_wrong(reduction, sum.data(), kCount);
    EXPECT_EQ(wrong.count, 1u) << "bit " << bit;
    EXPECT_EQ(wrong.first, 123u);
  }
}

TEST(Check, FindsAnErrorJustBeyondTheRoundings) {
  const Reduction reduction{FF_FLOAT32, FF_SUM, 2, 9};
  auto sum = reduce_floats(reduction);
  // One addition of two numbers below 1: half a unit in the last place of a sum below 2.
  for (float& value : sum) value += std::copysign(2 * 0x1p-23f, value);
  EXPECT_EQ(count_wrong(reduction, sum.data(), kCount).count, kCount);
}

TEST(Check, FindsNaN) {
  for (const ff_reduce_op op : {FF_SUM, FF_MAX}) {
    const Reduction reduction{FF_FLOAT32, op, 2, 9};
    auto sum = reduce_floats(reduction);
    sum[0] = NAN;
    EXPECT_EQ(count_wrong(reduction, sum.data(), kCount).count, 1u);
  }
}

TEST(Check, FindsARankLeftOutOrCountedTwice) {
  for (const ff_type type : {FF_FLOAT32, FF_BFLOAT16, FF_FLOAT8_E4M3}) {
    const Reduction whole{type, FF_SUM, 8, 2, 1}, part{type, FF_SUM, 7, 2, 1};
    const bool byte = type_bytes(type) == 1;
    const auto sum = reduce_floats(part);
    Buffer stored(kCount * type_bytes(type));
    for (size_t i = 0; i < kCount; i++) {
      if (type == FF_FLOAT32) {
        std::memcpy(&stored[4 * i], &sum[i], 4);
      } else {
        // Exact enough here: the missing rank is worth at least a half.
        const uint32_t bits =
            byte ? nearest(small_format(type), sum[i]) : std::bit_cast<uint32_t>(sum[i]) >> 16;
        std::memcpy(&stored[i * type_bytes(type)], &bits, type_bytes(type));
      }
    }
    EXPECT_EQ(count_wrong(whole, stored.data(), kCount).count, kCount) << column_name(type);
  }
}

TEST(Check, FindsABlockInTheWrongPlace) {
  const Reduction reduction{FF_FLOAT32, FF_SUM, 4, 2};
  const auto sum = reduce_floats(reduction);
  const std::vector<float> moved(sum.begin() + 1, sum.end());
  EXPECT_GT(count_wrong(reduction, moved.data(), moved.size()).count, moved.size() * 9 / 10);
}

TEST(Check, FindsTheLastCallsResult) {
  const Reduction last{FF_INT8, FF_SUM, 4, 2}, now{FF_INT8, FF_SUM, 4, 3};
  std::vector<int8_t> sum(kCount, 0);
  for (int rank = 0; rank < 4; rank++) {
    const Buffer data = input(last, rank);
    for (size_t i = 0; i < kCount; i++) {
      sum[i] = static_cast<int8_t>(sum[i] + static_cast<int8_t>(data[i]));
    }
  }
  EXPECT_EQ(count_wrong(last, sum.data(), kCount).count, 0u);
  EXPECT_GT(count_wrong(now, sum.data(), kCount).count, kCount * 9 / 10);
}

TEST(Check, RanksAndPositionsHaveDifferentData) {
  const Reduction reduction{FF_UINT64, FF_SUM, 2, 0};
  EXPECT_NE(input(reduction, 0), input(reduction, 1));
  const Buffer data = input(reduction, 0);
  EXPECT_NE(std::memcmp(&data[0], &data[8], 8), 0);
}

TEST(SmallFloat, RoundTripsEveryNumber) {
  for (const ff_type type : {FF_FLOAT16, FF_BFLOAT16, FF_FLOAT8_E4M3, FF_FLOAT8_E5M2}) {
    const SmallFormat format = small_format(type);
    for (uint32_t bits = 0; bits < 1u << format.total_bits(); bits++) {
      const double value = decode(format, bits);
      const double smallest_normal = std::ldexp(1, 1 - format.bias());
      if (!std::isfinite(value) || std::fabs(value) < smallest_normal) continue;
      ASSERT_EQ(encode(format, value), bits) << column_name(type);
    }
  }
  EXPECT_EQ(decode(small_format(FF_FLOAT8_E4M3), 0x7e), 448);    // the greatest of OCP's e4m3
  EXPECT_EQ(decode(small_format(FF_FLOAT8_E5M2), 0x7b), 57344);  // and of its e5m2
  EXPECT_EQ(decode(small_format(FF_BFLOAT16), 0x4049), std::bit_cast<float>(0x40490000u));
}

TEST(FillNeutral, ProductsOfFloatsStayOne) {
  std::vector<float> ones(4);
  fill_neutral(FF_FLOAT32, FF_PROD, ones.data(), ones.size());
  EXPECT_EQ(ones, std::vector<float>(4, 1));
  std::vector<uint16_t> halves(4);
  fill_neutral(FF_FLOAT16, FF_PROD, halves.data(), halves.size());
  EXPECT_EQ(halves, std::vector<uint16_t>(4, 0x3c00));
}

}  // namespace
}  // namespace ff::tools::perf
