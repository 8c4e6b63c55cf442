// Two binary trees over the same n vertices, for collectives that pass half of the data along each.
//
// The first numbers a nearly complete binary tree in order: left subtree, root, right subtree are
// consecutive. Even vertices are leaves, and the vertex 2^h (2 i + 1) - 1 has height h. Its depth
// is floor(log2 n). The second is the first with vertices renamed, mirrored (n - 1 - v) for an even
// n, shifted (v + 1 mod n) for an odd one. So in the pair
//  - no vertex is interior in both: each vertex sends and receives as much as any other;
//  - the roots differ (n > 1), and no vertex has more than four neighbours.
// Visiting left, self, right gives 0, 1, .. n-1 in the first tree and in the mirrored second; in
// the shifted second, 1, 2, .. n-1, 0.
//
// Everything is in closed form; a Tree is two numbers.
#pragma once
#include <cstdint>
#include <optional>

namespace ff {

class Tree {
 public:
  using Vertex = uint32_t;

  static Tree first(uint32_t vertices) { return {vertices, Renaming::kSame}; }
  static Tree second(uint32_t vertices) {
    return {vertices, vertices % 2 == 0 ? Renaming::kMirror : Renaming::kShift};
  }

  uint32_t vertices() const { return vertices_; }
  Vertex root() const;
  std::optional<Vertex> parent(Vertex vertex) const;  // none: it is the root
  std::optional<Vertex> left(Vertex vertex) const;
  std::optional<Vertex> right(Vertex vertex) const;

 private:
  enum class Renaming : uint8_t { kSame, kMirror, kShift };
  Tree(uint32_t vertices, Renaming renaming) : vertices_(vertices), renaming_(renaming) {}

  uint32_t role(Vertex vertex) const;  // its number in the in-order tree
  Vertex vertex(uint32_t role) const;
  std::optional<uint32_t> lower_child(uint32_t role) const;
  std::optional<uint32_t> upper_child(uint32_t role) const;
  std::optional<Vertex> vertex(std::optional<uint32_t> role) const;

  uint32_t vertices_;
  Renaming renaming_;
};

}  // namespace ff
