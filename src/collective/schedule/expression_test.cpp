#include "collective/schedule/expression.hpp"

#include <gtest/gtest.h>

namespace ff {
namespace {

std::vector<Expressions::Id> leaves(Expressions& expressions, uint32_t first, uint32_t count) {
  std::vector<Expressions::Id> ids;
  for (uint32_t r = 0; r < count; r++) ids.push_back(expressions.leaf(Rank(first + r)));
  return ids;
}

TEST(Expression, SameArithmeticIsTheSameId) {
  Expressions e;
  const auto a = e.leaf(Rank(0)), b = e.leaf(Rank(1));
  EXPECT_EQ(e.leaf(Rank(0)), a);
  EXPECT_EQ(e.combine(a, b), e.combine(a, b));
  EXPECT_NE(e.combine(a, b), e.combine(b, a));
}

TEST(Expression, HashesDoNotDependOnWhatElseIsThere) {
  Expressions one, two;
  two.tree(leaves(two, 5, 9));  // shifts all ids
  const auto a = one.round(one.tree(leaves(one, 0, 7)));
  const auto b = two.round(two.tree(leaves(two, 0, 7)));
  EXPECT_NE(a, b);
  EXPECT_EQ(one.hash(a), two.hash(b));
}

// In every process and build: a schedule loaded from a file must meet the hash it was stored with.
TEST(Expression, HashesAreFixed) {
  Expressions e;
  EXPECT_EQ(e.hash(e.leaf(Rank(0))), 0x910a2dec89025cc1u);  // splitmix64 of 1
  const auto sum = e.combine(e.leaf(Rank(0)), e.leaf(Rank(1)));
  const auto swapped = e.combine(e.leaf(Rank(1)), e.leaf(Rank(0)));
  EXPECT_NE(e.hash(sum), e.hash(swapped));
  EXPECT_NE(e.hash(sum), e.hash(e.round(sum)));
}

TEST(Expression, AlignedPowersOfTwoNestForTypesThatDoNotRound) {
  for (uint32_t width : {1u, 2u, 4u, 8u}) {
    for (uint32_t n = 1; n <= 40; n++) {
      Expressions e;
      std::vector<Expressions::Id> groups, rounded;
      for (uint32_t first = 0; first < n; first += width) {
        groups.push_back(e.tree(leaves(e, first, std::min(width, n - first))));
        rounded.push_back(e.round(groups.back()));
      }
      const auto flat = e.tree(leaves(e, 0, n));
      EXPECT_EQ(e.tree(groups), flat) << n << " in groups of " << width;
      // Rounding a group first gives other bits, unless there was nothing to round before the end.
      const bool same = width == 1 || groups.size() == 1;
      EXPECT_EQ(e.round(e.tree(rounded)) == e.round(flat), same) << n << " in groups of " << width;
    }
  }
}

TEST(Expression, OddGroupsDoNotNest) {
  Expressions e;
  const auto left = e.tree(leaves(e, 0, 3)), right = e.tree(leaves(e, 3, 3));
  EXPECT_NE(e.combine(left, right), e.tree(leaves(e, 0, 6)));
}

TEST(Expression, CountsLeavesAndOrder) {
  Expressions e;
  const auto all = e.tree(leaves(e, 0, 5));
  EXPECT_EQ(e.leaves(all), 5u);
  EXPECT_TRUE(e.ascending(all));
  const auto twice = e.combine(all, e.leaf(Rank(2)));
  EXPECT_FALSE(e.ascending(twice));
  EXPECT_EQ(e.occurrences(twice, 6), (std::vector<uint64_t>{1, 1, 2, 1, 1, 0}));
  auto huge = twice;
  for (int i = 0; i < 100; i++) huge = e.combine(huge, huge);
  EXPECT_EQ(e.leaves(huge), UINT64_MAX);
  EXPECT_EQ(e.occurrences(huge, 6)[2], UINT64_MAX);
}

TEST(Expression, RoundingIsExactOnInputsAndRoundedValues) {
  Expressions e;
  const auto leaf = e.leaf(Rank(3));
  EXPECT_EQ(e.round(leaf), leaf);
  const auto sum = e.round(e.combine(leaf, e.leaf(Rank(4))));
  EXPECT_EQ(e.round(sum), sum);
  EXPECT_EQ(e.roundings(sum), 1u);
  EXPECT_EQ(e.roundings(e.round(e.combine(sum, leaf))), 2u);
}

}  // namespace
}  // namespace ff
