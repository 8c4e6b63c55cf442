// Every algorithm is proved for many groups, placements and slot counts, and keeps its promises
// about the order of additions.
#include "collective/algorithm/algorithm.hpp"

#include <gtest/gtest.h>

#include <string>

#include "collective/schedule/completion.hpp"
#include "collective/schedule/verify.hpp"

namespace ff {
namespace {

constexpr uint16_t kSlots[] = {1, 2, 3, 8};

std::string describe(const Algorithm& algorithm, const Placement& placement, const Shape& shape) {
  std::string text = std::string(algorithm.name) + ", nodes";
  for (uint32_t r = 0; r < placement.ranks() && r < 40; r++) {
    text += " " + std::to_string(placement.node_of(Rank(r)).value());
  }
  return text + ", ranks " + std::to_string(placement.ranks()) + ", slots " +
         std::to_string(shape.slots) + ", channels " + std::to_string(shape.channels);
}

Proof prove(const Algorithm& algorithm, const Placement& placement, const Shape& shape) {
  const Schedule schedule = algorithm.all_reduce(placement, shape);
  Proof proof = verify(schedule, placement);
  EXPECT_TRUE(proof.status.ok()) << describe(algorithm, placement, shape) << ": "
                                 << proof.status.message();
  return proof;
}

TEST(Algorithm, OneNodeIsProvedForAllGroups) {
  for (const Algorithm* algorithm : algorithms()) {
    for (uint32_t n = 1; n <= 129; n++) {
      const Placement placement = Placement::one_node(n);
      if (!algorithm->applies(placement)) continue;
      for (const uint16_t slots : kSlots) {
        if (n > 33 && slots != 2) continue;
        prove(*algorithm, placement, {slots, 2});
      }
    }
  }
}

TEST(Algorithm, PrunedSchedulesAreProvedToo) {
  for (const Algorithm* algorithm : algorithms()) {
    for (uint32_t n = 1; n <= 17; n++) {
      const Placement placement = Placement::one_node(n);
      if (!algorithm->applies(placement)) continue;
      Schedule schedule = algorithm->all_reduce(placement, {2, 2});
      const Proof before = verify(schedule, placement);
      schedule.prune();
      const Proof after = verify(schedule, placement);
      EXPECT_TRUE(after.status.ok()) << after.status.message();
      EXPECT_EQ(before.narrow, after.narrow);
      EXPECT_LE(after.waits, before.waits);
    }
  }
}

// Which algorithm runs on one node may follow the size: the bits do not.
TEST(Algorithm, OnOneNodeBalancedAlgorithmsGiveTheSameBits) {
  for (uint32_t n = 1; n <= 65; n++) {
    const Placement placement = Placement::one_node(n);
    const Proof one_shot = prove(kOneShot, placement, {2, 2});
    const Proof direct = prove(kDirect, placement, {3, 2});
    EXPECT_EQ(one_shot.wide, direct.wide);
    EXPECT_EQ(one_shot.narrow, direct.narrow);
    EXPECT_TRUE(direct.wide.balanced && direct.narrow.balanced && direct.narrow.uniform);
    EXPECT_TRUE(direct.rank_order);
    EXPECT_EQ(direct.roundings, n == 1 ? 0u : 1u);
    if (n == 2) {
      EXPECT_EQ(prove(kSwap, placement, {2, 2}).narrow, direct.narrow);
    }
  }
}

TEST(Algorithm, NamesAreFoundAndUnknownOnesListed) {
  for (const Algorithm* algorithm : algorithms()) {
    const auto found = find_algorithm(algorithm->name);
    ASSERT_TRUE(found.ok());
    EXPECT_EQ(*found, algorithm);
  }
  const auto unknown = find_algorithm("rign");
  ASSERT_FALSE(unknown.ok());
  EXPECT_NE(unknown.status().message().find("one_shot"), std::string::npos);
}

}  // namespace
}  // namespace ff
