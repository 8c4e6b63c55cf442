// Every algorithm is proved for many groups, placements and slot counts, and keeps its promises
// about the order of additions. (What the proof is worth: mutation_test.cpp.)
#include "collective/algorithm/algorithm.hpp"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "collective/schedule/completion.hpp"
#include "collective/schedule/order.hpp"
#include "collective/schedule/verify.hpp"

namespace ff {
namespace {

constexpr uint16_t kSlots[] = {1, 2, 3, 8};

Placement place(std::vector<uint32_t> node_of) { return Placement(node_of); }

// One list entry a node: how many consecutive ranks it has.
Placement sizes(const std::vector<uint32_t>& ranks_of) {
  std::vector<uint32_t> node_of;
  for (uint32_t node = 0; node < ranks_of.size(); node++) {
    node_of.insert(node_of.end(), ranks_of[node], node);
  }
  return Placement(node_of);
}

Placement round_robin(uint32_t ranks, uint32_t nodes) {
  std::vector<uint32_t> node_of(ranks);
  for (uint32_t r = 0; r < ranks; r++) node_of[r] = r % nodes;
  return Placement(node_of);
}

Placement alone(uint32_t ranks) { return round_robin(ranks, ranks); }

Placement shuffled(const Placement& placement, std::mt19937& random) {
  std::vector<uint32_t> node_of;
  for (uint32_t r = 0; r < placement.ranks(); r++) {
    node_of.push_back(placement.node_of(Rank(r)).value());
  }
  std::shuffle(node_of.begin(), node_of.end(), random);
  return Placement(node_of);
}

// Uneven and interleaved layouts as they occur in the field.
std::vector<Placement> field_layouts() {
  return {
      sizes({1, 2}),
      sizes({2, 1}),
      sizes({7, 8}),
      sizes({1, 1, 3}),
      sizes({3, 1, 1}),
      round_robin(12, 3),
      round_robin(13, 4),
      place({1, 1, 1, 1, 0, 0, 0, 0}),
      place({2, 1, 0, 0, 1, 2}),
      sizes({4, 1, 4}),
      sizes({1, 1, 1, 1, 6}),
      place({0, 1, 0, 0, 0, 2, 0}),
      sizes({9}),
      sizes({1}),
  };
}

std::string describe(const Algorithm& algorithm, const Placement& placement, const Shape& shape) {
  std::string nodes;
  for (uint32_t r = 0; r < placement.ranks() && r < 40; r++) {
    nodes += fmt::format(" {}", placement.node_of(Rank(r)).value());
  }
  return fmt::format("{}, {} ranks on nodes{}, {} slots, {} channels", algorithm.name,
                     placement.ranks(), nodes, shape.slots, shape.channels);
}

Proof prove(const Algorithm& algorithm, const Placement& placement, const Shape& shape) {
  const Schedule schedule = algorithm.all_reduce(placement, shape);
  Proof proof = verify(schedule, placement);
  EXPECT_TRUE(proof.status.ok()) << describe(algorithm, placement, shape) << ": "
                                 << proof.status.message();
  return proof;
}

// Proves all that apply; the ring, whose graph has 2 n^2 steps, only up to `largest_ring`.
void prove_all(const Placement& placement, const Shape& shape, uint32_t largest_ring) {
  for (const Algorithm* algorithm : algorithms()) {
    if (algorithm == &kRing && placement.ranks() > largest_ring) continue;
    if (algorithm->applies(placement)) prove(*algorithm, placement, shape);
  }
}

TEST(Algorithm, IsProvedForGroupsOnOneNode) {
  for (uint32_t n = 1; n <= 129; n++) {
    for (const uint16_t slots : kSlots) {
      if (n <= 33 || slots == 2) prove_all(Placement::one_node(n), {slots, 2}, 33);
    }
  }
  prove(kRing, Placement::one_node(64), {2, 2});
  prove(kRing, Placement::one_node(129), {3, 2});
}

TEST(Algorithm, IsProvedForRanksAloneOnTheirNodes) {
  for (uint32_t n = 2; n <= 129; n++) {
    for (const uint16_t slots : kSlots) {
      if (n <= 33 || slots == 2) prove_all(alone(n), {slots, 2}, 24);
    }
  }
  prove(kRing, alone(129), {2, 2});
}

TEST(Algorithm, TreesAreProvedForHundredsOfNodes) {
  for (uint32_t n = 1; n <= 600; n++) {
    if (n % 7 == 0 || n < 100 || n > 590) prove(kDoubleTree, alone(n), {3, 2});
  }
  prove(kDoubleTree, alone(1024), {4, 8});
  prove(kHierarchicalTree, Placement::even(1440, 180), {3, 8});
  prove(kHierarchicalTree, Placement::even(1441, 180), {3, 8});
  prove(kRecursiveDoubling, alone(600), {2, 2});
}

TEST(Algorithm, IsProvedForFieldLayouts) {
  for (const Placement& placement : field_layouts()) {
    for (const uint16_t slots : kSlots) {
      for (uint16_t channels = 1; channels <= 9; channels++) {
        prove_all(placement, {slots, channels}, 15);
      }
    }
  }
}

TEST(Algorithm, IsProvedForRandomLayouts) {
  std::mt19937 random(7);
  for (int trial = 0; trial < 150; trial++) {
    const auto ranks = static_cast<uint32_t>(2 + random() % 40);
    const auto nodes = static_cast<uint32_t>(1 + random() % std::min(ranks, 12u));
    const Placement placement = shuffled(Placement::even(ranks, nodes), random);
    const auto slots = static_cast<uint16_t>(1 + random() % 8);
    const auto channels = static_cast<uint16_t>(1 + random() % 10);
    prove_all(placement, {slots, channels}, 20);
  }
}

TEST(Algorithm, PruningKeepsTheProofAndTheBits) {
  std::vector<Placement> placements = field_layouts();
  for (uint32_t n = 1; n <= 17; n++) placements.push_back(Placement::one_node(n));
  for (uint32_t n = 2; n <= 17; n++) placements.push_back(alone(n));
  for (const Placement& placement : placements) {
    for (const Algorithm* algorithm : algorithms()) {
      if (!algorithm->applies(placement)) continue;
      Schedule schedule = algorithm->all_reduce(placement, {2, 4});
      const Proof before = verify(schedule, placement);
      schedule.prune();
      const Proof after = verify(schedule, placement);
      EXPECT_TRUE(after.status.ok())
          << describe(*algorithm, placement, {2, 4}) << ": " << after.status.message();
      EXPECT_EQ(before.narrow, after.narrow);
      EXPECT_LE(after.waits, before.waits);
    }
  }
}

// Which algorithm runs on one node may follow the size: the bits do not (FF_NUMERICS_ANY_SIZE).
TEST(Numerics, OnOneNodeTheBitsDoNotDependOnTheAlgorithm) {
  for (uint32_t n = 1; n <= 65; n++) {
    const Placement placement = Placement::one_node(n);
    const Proof one_shot = prove(kOneShot, placement, {2, 2});
    const Proof direct = prove(kDirect, placement, {3, 2});
    EXPECT_EQ(one_shot.wide, direct.wide);
    EXPECT_EQ(one_shot.narrow, direct.narrow);
    EXPECT_TRUE(direct.wide.balanced && direct.narrow.balanced);
    EXPECT_TRUE(direct.wide.uniform && direct.narrow.uniform);
    EXPECT_TRUE(direct.rank_order && one_shot.rank_order);
    EXPECT_EQ(direct.roundings, n == 1 ? 0u : 1u);
    if (n == 2) {
      EXPECT_EQ(prove(kSwap, placement, {2, 2}).narrow, direct.narrow);
    }
  }
}

// The bits of one node, whatever the layout (FF_NUMERICS_ANY_LAYOUT): free where each node holds an
// aligned power of two of consecutive ranks, for types that do not round between.
TEST(Numerics, AlignedPowersOfTwoOnNodesAreBalanced) {
  for (uint32_t width : {1u, 2u, 4u, 8u}) {
    for (uint32_t nodes = 2; nodes <= 16; nodes++) {
      const Placement placement = Placement::even(width * nodes, nodes);
      const Proof one_node = prove(kDirect, Placement::one_node(width * nodes), {2, 2});
      const Proof proof = prove(kHierarchicalDirect, placement, {2, 4});
      EXPECT_TRUE(proof.wide.balanced) << width << " ranks on " << nodes << " nodes";
      EXPECT_EQ(proof.wide, one_node.wide);
      EXPECT_EQ(proof.narrow.balanced, width == 1) << "a second rounding gives other bits";
      EXPECT_EQ(proof.roundings, width == 1 ? 1u : 2u);
    }
  }
  // The last node may hold fewer.
  EXPECT_TRUE(prove(kHierarchicalDirect, sizes({4, 4, 3}), {2, 4}).wide.balanced);
}

TEST(Numerics, OtherLayoutsAndOrdersAreNotBalanced) {
  EXPECT_FALSE(prove(kHierarchicalDirect, sizes({3, 3}), {2, 2}).wide.balanced);
  EXPECT_FALSE(prove(kHierarchicalDirect, sizes({1, 4, 4}), {2, 2}).wide.balanced);
  const Proof interleaved = prove(kHierarchicalDirect, round_robin(8, 2), {2, 2});
  EXPECT_FALSE(interleaved.wide.balanced || interleaved.rank_order);
  for (uint32_t n = 4; n <= 33; n++) {
    const Proof ring = prove(kRing, Placement::one_node(n), {2, 2});
    EXPECT_FALSE(ring.wide.balanced || ring.wide.uniform || ring.rank_order) << n;
    EXPECT_EQ(ring.roundings, n - 1);
  }
  const Proof trees = prove(kDoubleTree, alone(5), {2, 2});
  EXPECT_FALSE(trees.wide.uniform || trees.wide.balanced);
}

TEST(Numerics, OrderOfRanks) {
  // Recursive doubling keeps it always, also with ranks folded in and on any nodes.
  for (uint32_t n = 1; n <= 40; n++) {
    const Proof proof = prove(kRecursiveDoubling, round_robin(n, 1 + n / 3), {2, 2});
    EXPECT_TRUE(proof.rank_order && proof.wide.uniform) << n;
    if ((n & (n - 1)) == 0) {
      EXPECT_TRUE(proof.wide.balanced) << n;
    }
  }
  // The first tree alone, and both where the second is the mirrored one.
  for (uint32_t n = 1; n <= 40; n++) {
    EXPECT_TRUE(prove(kDoubleTree, alone(n), {2, 1}).rank_order) << n;
    EXPECT_EQ(prove(kDoubleTree, alone(n), {2, 2}).rank_order, n % 2 == 0 || n == 1) << n;
  }
}

// The number of 16-bit roundings grows with the depth of the tree, not with the number of ranks.
TEST(Numerics, RoundingsAreLogarithmic) {
  for (uint32_t n = 2; n <= 200; n++) {
    uint32_t log2 = 0;
    while ((2u << log2) <= n) log2++;
    EXPECT_LE(prove(kDoubleTree, alone(n), {2, 2}).roundings, log2 + 1) << n;
    if (n <= 100) {
      EXPECT_LE(prove(kHierarchicalTree, Placement::even(3 * n, n), {2, 2}).roundings, log2 + 1);
    }
    EXPECT_LE(prove(kRecursiveDoubling, alone(n), {2, 2}).roundings, log2 + 1) << n;
  }
}

// The order of additions is a promise: results stay the same from one version to the next. Whoever
// changes one of these changes the bits that users get, and has to say so.
TEST(Numerics, ExpressionsArePinned) {
  struct Pin {
    const char* algorithm;
    uint32_t ranks, nodes;
    uint64_t wide, narrow;
  };
  constexpr Pin kPins[] = {
      {"one_shot", 12, 1, 0x557c0c46c7558b6bu, 0x4643c7ad59088fe7u},
      {"swap", 2, 1, 0xc023a03794beecabu, 0xfd75ba6a932e09a8u},
      {"direct", 12, 1, 0x557c0c46c7558b6bu, 0x4643c7ad59088fe7u},
      {"recursive_doubling", 12, 4, 0x557c0c46c7558b6bu, 0xee155e87218e41adu},
      {"double_tree", 12, 12, 0xa2be0b04657e29d1u, 0xb09e52436583f6a4u},
      {"hierarchical_tree", 12, 4, 0x09e2a0771de1ba61u, 0x5afe837f5af46341u},
      {"hierarchical_direct", 12, 4, 0xda581eb8937df1e5u, 0xb7663b484807e79au},
      {"ring", 12, 4, 0x1762e596fe5e5433u, 0xb8e1e02176dce4a8u},
  };
  std::vector<std::string> pinned, known;
  for (const Pin& pin : kPins) {
    const auto algorithm = find_algorithm(pin.algorithm);
    ASSERT_TRUE(algorithm.ok()) << pin.algorithm;
    const Proof proof = prove(**algorithm, Placement::even(pin.ranks, pin.nodes), {2, 4});
    EXPECT_EQ(proof.wide.expression, pin.wide) << pin.algorithm;
    EXPECT_EQ(proof.narrow.expression, pin.narrow) << pin.algorithm;
    pinned.push_back(pin.algorithm);
  }
  for (const Algorithm* algorithm : algorithms()) known.push_back(algorithm->name);
  std::sort(pinned.begin(), pinned.end());
  std::sort(known.begin(), known.end());
  EXPECT_EQ(pinned, known) << "every algorithm has a pin";
}

// Slots and pruning are tuned at run time; neither may show in the bits.
TEST(Numerics, SlotsAreNotPartOfTheExpression) {
  for (const Placement& placement : field_layouts()) {
    for (const Algorithm* algorithm : algorithms()) {
      if (!algorithm->applies(placement)) continue;
      const Proof one = prove(*algorithm, placement, {1, 4});
      const Proof many = prove(*algorithm, placement, {7, 4});
      EXPECT_EQ(one.narrow, many.narrow) << algorithm->name;
      EXPECT_EQ(one.wide, many.wide) << algorithm->name;
    }
  }
}

// FF_AVG divides where a sum becomes complete: exactly once on the way to each result.
TEST(Algorithm, EachResultIsCompletedOnce) {
  std::vector<Placement> placements = field_layouts();
  for (uint32_t n = 1; n <= 9; n++) placements.push_back(Placement::one_node(n));
  for (uint32_t n = 2; n <= 9; n++) placements.push_back(alone(n));
  for (const Placement& placement : placements) {
    for (const Algorithm* algorithm : algorithms()) {
      if (!algorithm->applies(placement)) continue;
      const Schedule schedule = algorithm->all_reduce(placement, {2, 4});
      const std::vector<bool> completing = completing_steps(schedule);
      // Follow every value: how many completing steps has it been through?
      std::vector<int> in_ring(schedule.rings.size(), 0);
      std::vector<std::pair<Operand, int>> results;
      const auto times = [&](const Operand& operand) {
        if (operand.place == Place::kRing) return in_ring[operand.ring];
        for (const auto& [place, count] : results) {
          if (operand.place == Place::kRecv && place == operand) return count;
        }
        return 0;
      };
      for (const StepId id : firing_order(schedule)) {
        const Step& step = schedule.steps[id];
        int most = 0;
        for (const Operand& in : step.in) most = std::max(most, times(in));
        if (completing[id]) {
          EXPECT_EQ(step.kind, StepKind::kReduce);
          most++;
        }
        for (size_t i = 0; i < step.out.size(); i++) {
          const int count = step.lanes() ? times(step.in[i]) : most;
          if (step.out[i].place == Place::kRing) {
            in_ring[step.out[i].ring] = count;
          } else {
            results.emplace_back(step.out[i], count);
          }
        }
      }
      ASSERT_EQ(results.size(),
                size_t{placement.ranks()} * schedule.layout.blocks * schedule.layout.parts);
      for (const auto& [place, count] : results) {
        ASSERT_EQ(count, 1) << describe(*algorithm, placement, {2, 4}) << ", rank "
                            << place.rank.value();
      }
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
