// Which rank lives on which node. Any mapping is allowed: uneven, interleaved, one rank alone.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "base/ids.hpp"

namespace ff {

class Placement {
 public:
  // node_of[r] may be any labels; nodes are renumbered in the order of their first rank.
  explicit Placement(std::span<const uint32_t> node_of);
  static Placement one_node(uint32_t ranks);
  static Placement even(uint32_t ranks,
                        uint32_t nodes);  // consecutive ranks, sizes differ by at most 1

  uint32_t ranks() const { return static_cast<uint32_t>(node_of_.size()); }
  uint32_t nodes() const { return static_cast<uint32_t>(ranks_of_.size()); }
  NodeId node_of(Rank rank) const { return node_of_[rank.index()]; }
  LocalRank local_rank(Rank rank) const { return local_rank_[rank.index()]; }
  std::span<const Rank> ranks_of(NodeId node) const {
    return ranks_of_[node.index()];
  }  // ascending

  bool operator==(const Placement& other) const { return node_of_ == other.node_of_; }

 private:
  std::vector<NodeId> node_of_;
  std::vector<LocalRank> local_rank_;
  std::vector<std::vector<Rank>> ranks_of_;
};

}  // namespace ff
