#include "topology/graph/tree.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <functional>
#include <set>
#include <vector>

namespace ff {
namespace {

constexpr uint32_t kLargest = 600;

// The same tree, built by its definition: the root splits a range of vertices in order.
std::vector<std::optional<uint32_t>> parents_by_recursion(uint32_t n) {
  std::vector<std::optional<uint32_t>> parent(n);
  const std::function<uint32_t(uint32_t, uint32_t)> build = [&](uint32_t first, uint32_t count) {
    const uint32_t below = std::bit_floor(count) - 1;
    const uint32_t root = first + below;
    if (below > 0) parent[build(first, below)] = root;
    if (count > below + 1) parent[build(root + 1, count - below - 1)] = root;
    return root;
  };
  build(0, n);
  return parent;
}

std::vector<uint32_t> left_self_right(const Tree& tree) {
  std::vector<uint32_t> order;
  const std::function<void(uint32_t)> visit = [&](uint32_t v) {
    if (order.size() > tree.vertices()) return;  // a cycle: stop, the caller compares
    if (tree.left(v)) visit(*tree.left(v));
    order.push_back(v);
    if (tree.right(v)) visit(*tree.right(v));
  };
  visit(tree.root());
  return order;
}

uint32_t depth(const Tree& tree) {
  uint32_t deepest = 0;
  for (uint32_t v = 0; v < tree.vertices(); v++) {
    uint32_t edges = 0;
    for (auto at = tree.parent(v); at && edges <= tree.vertices(); at = tree.parent(*at)) edges++;
    deepest = std::max(deepest, edges);
  }
  return deepest;
}

TEST(Tree, ClosedFormIsTheDefinition) {
  for (uint32_t n = 1; n <= kLargest; n++) {
    const auto parents = parents_by_recursion(n);
    for (uint32_t v = 0; v < n; v++)
      EXPECT_EQ(Tree::first(n).parent(v), parents[v]) << v << " of " << n;
  }
}

TEST(Tree, BothSpanAndParentsAgreeWithChildren) {
  for (uint32_t n = 1; n <= kLargest; n++) {
    for (const Tree& tree : {Tree::first(n), Tree::second(n)}) {
      EXPECT_FALSE(tree.parent(tree.root()));
      uint32_t edges = 0;
      for (uint32_t v = 0; v < n; v++) {
        for (const auto child : {tree.left(v), tree.right(v)}) {
          if (!child) continue;
          ASSERT_LT(*child, n);
          EXPECT_EQ(tree.parent(*child), v);
          edges++;
        }
      }
      EXPECT_EQ(edges, n - 1);
      EXPECT_EQ(depth(tree), static_cast<uint32_t>(std::bit_width(n) - 1)) << n;
    }
  }
}

TEST(Tree, VisitsVerticesInOrder) {
  for (uint32_t n = 1; n <= kLargest; n++) {
    const auto first = left_self_right(Tree::first(n));
    const auto second = left_self_right(Tree::second(n));
    ASSERT_EQ(first.size(), n);
    ASSERT_EQ(second.size(), n);
    for (uint32_t i = 0; i < n; i++) {
      EXPECT_EQ(first[i], i);
      EXPECT_EQ(second[i], n % 2 == 0 ? i : (i + 1) % n);
    }
  }
}

TEST(Tree, ThePairSharesTheLoad) {
  for (uint32_t n = 2; n <= kLargest; n++) {
    const Tree trees[] = {Tree::first(n), Tree::second(n)};
    EXPECT_NE(trees[0].root(), trees[1].root()) << n;
    for (uint32_t v = 0; v < n; v++) {
      std::set<uint32_t> peers;
      int interior = 0;
      for (const Tree& tree : trees) {
        if (tree.left(v) || tree.right(v)) interior++;
        for (const auto peer : {tree.parent(v), tree.left(v), tree.right(v)}) {
          if (peer) peers.insert(*peer);
        }
      }
      EXPECT_LE(interior, 1) << v << " of " << n;
      EXPECT_LE(peers.size(), 4u) << v << " of " << n;
    }
  }
}

}  // namespace
}  // namespace ff
