#include "topology/graph/tree.hpp"

#include <bit>

namespace ff {
namespace {

// The root of an in-order tree of `n` vertices: so many vertices lie below and left of it that the
// left subtree is complete.
uint32_t in_order_root(uint32_t n) { return std::bit_floor(n) - 1; }

}  // namespace

uint32_t Tree::role(Vertex v) const {
  switch (renaming_) {
    case Renaming::kSame:
      break;
    case Renaming::kMirror:
      return vertices_ - 1 - v;
    case Renaming::kShift:
      return v == 0 ? vertices_ - 1 : v - 1;
  }
  return v;
}

Tree::Vertex Tree::vertex(uint32_t r) const {
  switch (renaming_) {
    case Renaming::kSame:
      break;
    case Renaming::kMirror:
      return vertices_ - 1 - r;
    case Renaming::kShift:
      return r + 1 == vertices_ ? 0 : r + 1;
  }
  return r;
}

std::optional<Tree::Vertex> Tree::vertex(std::optional<uint32_t> r) const {
  if (!r) return std::nullopt;
  return vertex(*r);
}

Tree::Vertex Tree::root() const { return vertex(in_order_root(vertices_)); }

std::optional<Tree::Vertex> Tree::parent(Vertex v) const {
  const uint32_t r = role(v);
  if (r == in_order_root(vertices_)) return std::nullopt;
  // Counted from 1, vertices of height h are the odd multiples of 2^h. The parent is the neighbour
  // of height h + 1, on the side where that is one; on the right edge it may not exist, and what
  // is left of it hangs below the vertex on the other side.
  const uint32_t from_1 = r + 1;
  const int height = std::countr_zero(from_1);
  const uint32_t reach = 1u << height;
  const bool below = (from_1 >> (height + 1) & 1) != 0 || uint64_t{from_1} + reach > vertices_;
  return vertex(below ? r - reach : r + reach);
}

std::optional<uint32_t> Tree::lower_child(uint32_t r) const {
  const int height = std::countr_zero(r + 1);
  if (height == 0) return std::nullopt;
  return r - (1u << (height - 1));
}

std::optional<uint32_t> Tree::upper_child(uint32_t r) const {
  const int height = std::countr_zero(r + 1);
  if (height == 0 || r + 1 == vertices_) return std::nullopt;
  const uint64_t child = r + (uint64_t{1} << (height - 1));
  if (child < vertices_) return static_cast<uint32_t>(child);
  return r + 1 + in_order_root(vertices_ - r - 1);
}

std::optional<Tree::Vertex> Tree::left(Vertex v) const {
  const uint32_t r = role(v);
  return vertex(renaming_ == Renaming::kMirror ? upper_child(r) : lower_child(r));
}

std::optional<Tree::Vertex> Tree::right(Vertex v) const {
  const uint32_t r = role(v);
  return vertex(renaming_ == Renaming::kMirror ? lower_child(r) : upper_child(r));
}

}  // namespace ff
