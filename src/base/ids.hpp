// Numbers that must not be mixed up: a rank of the job, a rank within its node, a node.
#pragma once
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace ff {

template <class Tag>
class Id {
 public:
  constexpr Id() = default;
  template <class Integer>
  constexpr explicit Id(Integer value) : value_(static_cast<uint32_t>(value)) {}

  constexpr uint32_t value() const { return value_; }
  constexpr size_t index() const { return value_; }  // into a vector that has one entry per id
  constexpr auto operator<=>(const Id&) const = default;

 private:
  uint32_t value_ = 0;
};

using Rank = Id<struct RankTag>;            // 0 .. ranks-1 in a communicator
using LocalRank = Id<struct LocalRankTag>;  // 0 .. ranks of the node-1, ascending with Rank
using NodeId = Id<struct NodeIdTag>;        // 0 .. nodes-1, in order of each node's first rank

}  // namespace ff

template <class Tag>
struct std::hash<ff::Id<Tag>> {
  size_t operator()(ff::Id<Tag> id) const noexcept { return id.index(); }
};
