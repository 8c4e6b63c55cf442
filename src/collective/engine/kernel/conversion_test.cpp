// Conversions between float32 and the 16- and 8-bit floats: the reference against first principles,
// then every level against the reference, for all values that there are.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "collective/engine/kernel/kernel.hpp"
#include "collective/engine/kernel/reference.hpp"
#include "collective/engine/kernel/testing.hpp"

namespace ff {
namespace {

struct NarrowFloat {
  ff_type type;
  uint32_t one, least_normal, largest, infinity, nan;  // infinity: what overflow becomes
  float least_value, least_normal_value, largest_value;
};
const NarrowFloat kNarrow[] = {
    {FF_FLOAT16, 0x3c00, 0x0400, 0x7bff, 0x7c00, 0x7e00, 0x1p-24f, 0x1p-14f, 65504.0f},
    {FF_BFLOAT16, 0x3f80, 0x0080, 0x7f7f, 0x7f80, 0x7fc0, 0x1p-133f, 0x1p-126f, 0x1.fep127f},
    {FF_FLOAT8_E4M3, 0x38, 0x08, 0x7e, 0x7f, 0x7f, 0x1p-9f, 0x1p-6f, 448.0f},
    {FF_FLOAT8_E5M2, 0x3c, 0x04, 0x7b, 0x7c, 0x7e, 0x1p-16f, 0x1p-14f, 57344.0f},
};

class Conversion : public ::testing::TestWithParam<NarrowFloat> {
 protected:
  ff_type type() const { return GetParam().type; }
  uint32_t values() const { return 1u << (8 * type_size(type())); }
  uint32_t sign() const { return values() / 2; }
  uint32_t negated_overflow() const {
    return GetParam().infinity == GetParam().nan ? GetParam().nan : sign() | GetParam().infinity;
  }

  // Elements of the type from bits.
  std::vector<char> packed(const std::vector<uint32_t>& bits) const {
    const size_t size = type_size(type());
    std::vector<char> elements(bits.size() * size);
    for (size_t i = 0; i < bits.size(); i++) {
      std::memcpy(elements.data() + i * size, &bits[i], size);
    }
    return elements;
  }
  void expect_same(ff_reduce_op op, const std::vector<std::vector<uint32_t>>& inputs) const {
    const size_t count = inputs[0].size();
    std::vector<std::vector<char>> in;
    std::vector<const void*> pointers;
    for (const auto& input : inputs) in.push_back(packed(input));
    for (const auto& input : in) pointers.push_back(input.data());
    std::vector<char> expected(in[0].size()), result(in[0].size());
    void* out = expected.data();
    reference::reduce(type(), op, &out, 1, pointers.data(), in.size(), count, 1);
    out = result.data();
    for (const Isa isa : testing::levels_here()) {
      reduce_kernel(isa, type(), op)(&out, 1, 0, pointers.data(), in.size(), count, 1);
      const size_t size = type_size(type());
      for (size_t i = 0; i < count; i++) {
        ASSERT_EQ(std::memcmp(&result[i * size], &expected[i * size], size), 0)
            << isa_name(isa) << ' ' << op_name(op) << " of 0x" << std::hex << inputs[0][i]
            << (inputs.size() > 1 ? " and others" : "");
      }
    }
  }
  std::vector<uint32_t> all() const {
    std::vector<uint32_t> bits(values());
    for (uint32_t i = 0; i < values(); i++) bits[i] = i;
    return bits;
  }
};

TEST_P(Conversion, ReferenceKnowsTheLandmarks) {
  const NarrowFloat& f = GetParam();
  const auto value = [&](uint32_t bits) { return reference::to_float(f.type, bits); };
  EXPECT_EQ(value(0), 0.0f);
  EXPECT_FALSE(std::signbit(value(0)));
  EXPECT_TRUE(std::signbit(value(sign())));
  EXPECT_EQ(value(1), f.least_value);
  EXPECT_EQ(value(f.least_normal), f.least_normal_value);
  EXPECT_EQ(value(f.one), 1.0f);
  EXPECT_EQ(value(f.largest), f.largest_value);
  EXPECT_EQ(value(sign() | f.largest), -f.largest_value);
  EXPECT_TRUE(std::isnan(value(f.nan)));
  if (f.infinity != f.nan) {
    EXPECT_EQ(value(f.infinity), std::numeric_limits<float>::infinity());
  }
  EXPECT_EQ(reference::from_float(f.type, std::numeric_limits<float>::infinity()), f.infinity);
  EXPECT_EQ(reference::from_float(f.type, -std::numeric_limits<float>::infinity()),
            negated_overflow());
  EXPECT_EQ(reference::from_float(f.type, std::numeric_limits<float>::quiet_NaN()), f.nan);
  EXPECT_EQ(reference::from_float(f.type, std::numeric_limits<float>::denorm_min()), 0u);
}

TEST_P(Conversion, ReferenceKeepsEveryValue) {
  for (uint32_t bits = 0; bits < values(); bits++) {
    const float value = reference::to_float(type(), bits);
    const uint32_t back = reference::from_float(type(), value);
    ASSERT_EQ(back, std::isnan(value) ? GetParam().nan : bits) << std::hex << bits;
  }
}

// Between each two neighbours: the midpoint goes to the even one, one step of float32 to either
// side decides it.
TEST_P(Conversion, ReferenceRoundsToNearestEven) {
  const NarrowFloat& f = GetParam();
  const float infinity = std::numeric_limits<float>::infinity();
  for (uint32_t low = 0; low <= f.largest; low++) {
    const double below = reference::to_float(f.type, low);
    const double above = low == f.largest
                             ? below + (below - reference::to_float(f.type, low - 1))
                             : static_cast<double>(reference::to_float(f.type, low + 1));
    const float middle = static_cast<float>((below + above) / 2);
    ASSERT_EQ(static_cast<double>(middle), (below + above) / 2);
    const uint32_t high = low == f.largest ? f.infinity : low + 1;
    const uint32_t even = low % 2 == 0 ? low : high;
    ASSERT_EQ(reference::from_float(f.type, middle), even) << std::hex << low;
    ASSERT_EQ(reference::from_float(f.type, std::nextafter(middle, 0.0f)), low);
    ASSERT_EQ(reference::from_float(f.type, std::nextafter(middle, infinity)), high);
    const uint32_t minus_high = high == f.infinity ? negated_overflow() : sign() | high;
    ASSERT_EQ(reference::from_float(f.type, -middle), even == low ? sign() | low : minus_high);
    ASSERT_EQ(reference::from_float(f.type, std::nextafter(-middle, 0.0f)), sign() | low);
    ASSERT_EQ(reference::from_float(f.type, std::nextafter(-middle, -infinity)), minus_high);
  }
}

TEST_P(Conversion, KernelsKeepEveryValue) {
  for (const ff_reduce_op op : {FF_SUM, FF_PROD, FF_MAX, FF_MIN, FF_AVG}) expect_same(op, {all()});
}

// All values times some that bring ties (three quarters, one and a half), subnormal results, and
// results around the largest; for 8 bits, all times all.
TEST_P(Conversion, KernelsRoundEveryProduct) {
  std::vector<float> factors = {0.5f,     0.75f,      1.5f,      -0.625f, 1.0f,       3.0f,
                                0x1p-4f,  0x1.8p-5f,  0x1p-7f,   1.25f,   1.9375f,    0x1.cp-8f,
                                0x1p-11f, 0x1.4p-12f, 0x1p-14f,  2.0f,    -0x1.ep3f,  0x1p10f,
                                0x1p-15f, 448.0f,     -57344.0f, 0.0f,    0x1.ap-10f, 0x1p-24f};
  std::vector<uint32_t> bits;
  for (const float factor : factors) bits.push_back(reference::from_float(type(), factor));
  if (values() == 256) bits = all();
  for (const uint32_t factor : bits) {
    expect_same(FF_PROD, {all(), std::vector<uint32_t>(values(), factor)});
  }
}

// All values plus half a unit in the last place, plus the least nudge to either side.
TEST_P(Conversion, KernelsRoundEverySumAtItsMidpoint) {
  std::vector<uint32_t> half, nudge, minus_nudge;
  for (uint32_t bits = 0; bits < values(); bits++) {
    const float value = reference::to_float(type(), bits);
    const float next = reference::to_float(type(), bits + 1 < values() ? bits + 1 : bits);
    const float step = std::isfinite(value) && std::isfinite(next) ? (next - value) / 2 : 0.0f;
    half.push_back(reference::from_float(type(), step));
    const float small = std::abs(value) * 0x1p-20f;
    nudge.push_back(reference::from_float(type(), small));
    minus_nudge.push_back(reference::from_float(type(), -small));
  }
  expect_same(FF_SUM, {all(), half});
  expect_same(FF_SUM, {all(), half, nudge});
  expect_same(FF_SUM, {all(), half, minus_nudge});
  if (values() == 256) {
    for (uint32_t other = 0; other < 256; other++) {
      expect_same(FF_SUM, {all(), std::vector<uint32_t>(256, other)});
    }
  }
}

// A quotient can lie anywhere between two neighbours.
TEST_P(Conversion, KernelsRoundQuotients) {
  const std::vector<char> in = packed(all());
  const void* const pointer = in.data();
  std::vector<char> expected(in.size()), result(in.size());
  for (const double divisor : {3.0, 7.0, 10.0, 1000.0, 65537.0, 1.0 / 3, 16777217.0}) {
    void* out = expected.data();
    reference::reduce(type(), FF_AVG, &out, 1, &pointer, 1, values(), divisor);
    out = result.data();
    for (const Isa isa : testing::levels_here()) {
      reduce_kernel(isa, type(), FF_AVG)(&out, 1, 0, &pointer, 1, values(), divisor);
      ASSERT_EQ(result, expected) << isa_name(isa) << " divided by " << divisor;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kernel, Conversion, ::testing::ValuesIn(kNarrow),
                         [](const auto& f) { return std::string(type_name(f.param.type)); });

}  // namespace
}  // namespace ff
